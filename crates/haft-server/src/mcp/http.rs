//! Streamable HTTP at `/mcp`. The SDK speaks it; before it gets to read anything, the request has
//! passed the guard, its body is whole and unambiguous, and its session is its own.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use futures_util::StreamExt as _;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::direct::{self, Direct};
use super::handler::Handler;
use super::{Seat, lines, metadata};
use crate::body;
use crate::door::Door;
use crate::guard::Credential;
use crate::places::Place;
use crate::problem::Problem;
use crate::who::Who;

pub(super) const SESSION: &str = "mcp-session-id";
/// The newer era's request whose answer has no end of its own.
const LISTEN: &str = "subscriptions/listen";

tokio::task_local! {
    /// Whose server is put together: the SDK asks for one without saying for whom.
    static SEAT: Seat;
}

type Service = StreamableHttpService<Handler, LocalSessionManager>;

/// What the routes share.
struct Endpoint {
    door: Arc<Door>,
    service: Service,
    sessions: Arc<LocalSessionManager>,
}

/// The routes.
pub(crate) fn routes(door: &Arc<Door>) -> Router<Arc<Door>> {
    let endpoint = Arc::new(Endpoint::new(door));
    let only = |endpoint: Arc<Endpoint>| {
        any(move |Extension(who): Extension<Who>, request: Request| async move {
            endpoint.serve(&who, None, request).await
        })
    };
    let named = |endpoint: Arc<Endpoint>| {
        any(
            move |Path(agent): Path<String>, Extension(who): Extension<Who>, request: Request| async move {
                endpoint.serve(&who, Some(&agent), request).await
            },
        )
    };
    Router::new()
        .route("/mcp", only(endpoint.clone()))
        .route("/mcp/{agent}", named(endpoint))
        .route(metadata::PLACE, get(metadata::root))
        .route(&format!("{}/{{*path}}", metadata::PLACE), get(metadata::below))
}

impl Endpoint {
    fn new(door: &Arc<Door>) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(door.mcp.idle);
        let sessions = Arc::new(sessions);
        // Names and origins are the guard's affair, for every door alike.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(door.limits.body_bytes);
        // Not when the server is told to stop: calls that have begun are answered first.
        let (closed, end) = (door.closed(), config.cancellation_token.clone());
        tokio::spawn(async move {
            closed.await;
            end.cancel();
        });
        let behind = door.clone();
        let make = move || {
            let seat = SEAT.try_with(Clone::clone).map_err(std::io::Error::other)?;
            Ok(Handler::new(behind.clone(), seat))
        };
        let service = StreamableHttpService::new(make, sessions.clone(), config);
        Self { door: door.clone(), service, sessions }
    }

    async fn serve(&self, who: &Who, agent: Option<&str>, request: Request) -> Response {
        match self.answer(who, agent, request).await {
            Ok(response) => response,
            Err(problem) => problem.into_response(),
        }
    }

    async fn answer(
        &self,
        who: &Who,
        agent: Option<&str>,
        request: Request,
    ) -> Result<Response, Problem> {
        let seat = Seat::of(&self.door, who, agent)?;
        let session = session(request.headers())?;
        if let Some(session) = &session
            && !self.door.owners.is_of(session, &seat)
        {
            return Err(Problem::missing("session"));
        }
        let credential = request.extensions().get::<Credential>().cloned();
        let method = request.method().clone();
        let of_session = !direct::is_newer(request.headers());
        match self.read(&seat, request, session.is_some()).await? {
            Read::Direct(call) => Ok(call.answer(self.door.clone(), seat).await),
            Read::Unsound(response) => Ok(response),
            Read::Sound { request, stays } => {
                let place = stays.then(|| self.door.places.take(who)).transpose()?;
                // Boxed: what the SDK keeps while it answers is large, and plain calls do without.
                let mut answered = Box::pin(self.by_sdk(&seat, request)).await;
                if let Some(session) = session.as_ref().filter(|_| of_session)
                    && answered.status() == StatusCode::INTERNAL_SERVER_ERROR
                {
                    // It ended by itself while this came, and the SDK has not forgotten it yet.
                    self.door.owners.end(session);
                    let _ = self.sessions.close_session(&session.as_str().into()).await;
                    return Err(Problem::missing("session"));
                }
                if let Some(place) = place {
                    let (door, who) = (self.door.clone(), who.clone());
                    let stopped = self.door.stopped();
                    let over = async move {
                        tokio::select! {
                            () = door.shut(credential, who) => {}
                            () = stopped => {}
                        }
                    };
                    answered = held(answered, place, over);
                }
                if let (Method::DELETE, Some(session)) = (method, session) {
                    self.ended(&session, &mut answered);
                }
                Ok(answered)
            }
        }
    }

    /// The SDK's answer. A session that it begins is the seat's from then on.
    async fn by_sdk(&self, seat: &Seat, request: Request) -> Response {
        let answered = SEAT.scope(seat.clone(), self.service.handle(request)).await;
        let answered = answered.map(Body::new);
        if let Some(Ok(begun)) = answered.headers().get(SESSION).map(HeaderValue::to_str)
            && let Some(gone) = self.door.owners.begin(begun, seat)
        {
            // It may have ended by itself.
            let _ = self.sessions.close_session(&gone.into()).await;
        }
        answered
    }

    fn ended(&self, session: &str, answered: &mut Response) {
        self.door.owners.end(session);
        // Done, not only taken: some clients complain about anything else.
        if answered.status() == StatusCode::ACCEPTED {
            *answered.status_mut() = StatusCode::NO_CONTENT;
        }
    }

    /// Reads the body of a message, whole and strictly, and hands the very same bytes on. `kept`
    /// says whether it belongs to a session.
    async fn read(&self, seat: &Seat, request: Request, kept: bool) -> Result<Read, Problem> {
        if request.method() != Method::POST {
            let stays = request.method() == Method::GET;
            return Ok(Read::Sound { request, stays });
        }
        let (parts, body) = request.into_parts();
        let bytes = body::json_bytes(&parts.headers, body, &self.door.limits).await?;
        let message = match lines::message(&bytes, self.door.limits.body_bytes) {
            Ok(message) => message,
            Err(error) => return Ok(Read::Unsound(refused(&error))),
        };
        let called = message.get("method").and_then(Value::as_str);
        if called == Some("initialize")
            && !self.door.owners.has_room(&self.sessions, seat, self.door.mcp.sessions).await
        {
            return Err(Problem::overloaded());
        }
        let stays = called == Some(LISTEN);
        if !kept && let Some(call) = Direct::read(&self.door, seat, &parts.headers, message) {
            return Ok(Read::Direct(Box::new(call)));
        }
        Ok(Read::Sound { request: Request::from_parts(parts, Body::from(bytes)), stays })
    }
}

/// A request that may be handed on, or what is said to one that may not.
enum Read {
    Sound {
        request: Request,
        /// Whether its answer has no end of its own.
        stays: bool,
    },
    /// A call that needs no more than the one path.
    Direct(Box<Direct>),
    Unsound(Response),
}

/// An answer that takes a place for as long as it lasts, and ends when it is over.
fn held(
    answered: Response,
    place: Place,
    over: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let (parts, body) = answered.into_parts();
    let pieces = body.into_data_stream().take_until(Box::pin(over));
    let pieces = pieces.map(move |piece| {
        let _ = &place;
        piece
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

fn refused(wrong: &lines::Wrong) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (wrong.status(), kind, wrong.to_line()).into_response()
}

fn session(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut all = headers.get_all(SESSION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => match one.to_str() {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(Problem::malformed("`Mcp-Session-Id` is not text")),
        },
        (Some(_), Some(_)) => Err(Problem::malformed("`Mcp-Session-Id` is there twice")),
    }
}
