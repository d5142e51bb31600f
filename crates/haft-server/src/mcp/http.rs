//! Streamable HTTP at `/mcp`. The SDK speaks it; before it gets to read anything, the request has
//! passed the guard, its body is whole and unambiguous, and its session is its own. What the SDK refuses
//! is said in the words of `refusal`.

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

use super::answered::until_answered;
use super::call::{ArgumentsText, CameWith};
use super::direct::{self, Direct};
use super::handler::Handler;
use super::ids::Taken;
use super::message::Wrong;
use super::noted::Asking;
use super::sessions::{self, InUse};
use super::{Seat, message, metadata, refusal};
use crate::body;
use crate::door::Door;
use crate::guard::Credential;
use crate::problem::Problem;
use crate::who::Who;

const PLACE: &str = "/mcp";
pub(super) const SESSION: &str = "mcp-session-id";
/// The kind of an answer that comes bit by bit.
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
/// The newer era's request whose answer has no end of its own.
const LISTEN: &str = "subscriptions/listen";

tokio::task_local! {
    /// Whose server is put together: the SDK asks for one without saying for whom.
    static SEAT: Seat;
}

type Service = StreamableHttpService<Handler, LocalSessionManager>;

/// Where requests at `/mcp` are answered.
pub(crate) struct Endpoint {
    door: Arc<Door>,
    service: Service,
    sessions: Arc<LocalSessionManager>,
}

/// The routes. Most requests need none of them: see [`plainly`].
pub(crate) fn routes(endpoint: &Arc<Endpoint>) -> Router<Arc<Door>> {
    let only = |endpoint: Arc<Endpoint>| {
        any(move |who, credential, request: Request| async move {
            let (Extension(who), Extension(credential)) = (who, credential);
            endpoint.serve(&who, None, credential, request).await
        })
    };
    let named = |endpoint: Arc<Endpoint>| {
        any(move |Path(agent): Path<String>, who, credential, request: Request| async move {
            let (Extension(who), Extension(credential)) = (who, credential);
            endpoint.serve(&who, Some(&agent), credential, request).await
        })
    };
    Router::new()
        .route(PLACE, only(endpoint.clone()))
        .route(&format!("{PLACE}/{{agent}}"), named(endpoint.clone()))
        .route(metadata::PLACE, get(metadata::root))
        .route(&format!("{}/{{*path}}", metadata::PLACE), get(metadata::below))
}

/// The agent that a request at `/mcp` names, if any, where its path says so plainly: such a request
/// need not be looked for among all routes.
pub(crate) fn plainly(request: &Request) -> Option<Option<&str>> {
    match request.uri().path().strip_prefix(PLACE)? {
        "" => Some(None),
        rest => {
            let agent = rest.strip_prefix('/')?;
            let plain = !agent.is_empty() && !agent.contains(['/', '%']);
            plain.then_some(Some(agent))
        }
    }
}

impl Endpoint {
    pub(crate) fn new(door: &Arc<Door>) -> Self {
        let mut sessions = LocalSessionManager::default();
        // It would end a session whose call takes longer: see `sessions`.
        sessions.session_config.keep_alive = None;
        let sessions = Arc::new(sessions);
        // Names and origins are the guard's affair, for every door alike.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_json_response(true)
            .with_max_request_body_bytes(door.limits.body_bytes);
        // Not when the server is told to stop: calls that have begun are answered first.
        let (closed, end) = (door.closed(), config.cancellation_token.clone());
        let expiring = sessions::expire(door.owners.clone(), sessions.clone(), door.mcp.idle);
        tokio::spawn(async move {
            tokio::select! {
                () = closed => end.cancel(),
                () = expiring => {}
            }
        });
        let behind = door.clone();
        let make = move || {
            let seat = SEAT.try_with(Clone::clone).map_err(std::io::Error::other)?;
            Ok(Handler::new(behind.clone(), seat))
        };
        let service = StreamableHttpService::new(make, sessions.clone(), config);
        Self { door: door.clone(), service, sessions }
    }

    pub(crate) async fn serve(
        self: Arc<Self>,
        who: &Who,
        agent: Option<&str>,
        credential: Credential,
        request: Request,
    ) -> Response {
        let asking = Asking::new(who, request.method().as_str());
        let mut heard = Heard { id: None, asking };
        match self.answer(who, agent, credential, request, &mut heard).await {
            Ok(response) => response,
            Err(problem) => {
                heard.asking.refused(problem.code());
                refusal::told(&problem, heard.id)
            }
        }
    }

    async fn answer(
        self: Arc<Self>,
        who: &Who,
        agent: Option<&str>,
        credential: Credential,
        request: Request,
        heard: &mut Heard,
    ) -> Result<Response, Problem> {
        let seat = Seat::of(&self.door, who, agent)?;
        heard.asking.of_agent(&seat.caller.agent);
        let session = session(request.headers())?;
        let in_use = match &session {
            Some(session) => Some(self.enter(session, &seat)?),
            None => None,
        };
        let method = request.method().clone();
        let of_session = !direct::is_newer(request.headers());
        match self.read(&seat, request, in_use.as_ref(), heard).await? {
            Read::Direct(call) => Ok(call.answer(self.door.clone(), seat, &heard.asking).await),
            Read::Unsound(response) => Ok(response),
            Read::Sound { request, answer } => {
                let place = (answer == Answer::Stays).then(|| self.door.places.take(who));
                let place = place.transpose()?;
                let taken = request.extensions().get::<Taken>().cloned();
                // Boxed: what the SDK keeps while it answers is large, and plain calls do without.
                let mut answered = Box::pin(self.clone().by_sdk(seat, request, answer)).await?;
                if let Some(session) = session.as_ref().filter(|_| of_session)
                    && answered.status() == StatusCode::INTERNAL_SERVER_ERROR
                {
                    // It ended by itself while this came, and the SDK has not forgotten it yet.
                    self.door.owners.end(session);
                    let _ = self.sessions.close_session(&session.as_str().into()).await;
                    return Err(Problem::missing("session"));
                }
                answered = refusal::retold(answered, &heard.asking).await?;
                if let Some(place) = place {
                    let (door, who) = (self.door.clone(), who.clone());
                    let stopped = self.door.stopped();
                    let over = async move {
                        tokio::select! {
                            () = door.shut(Some(credential), who) => {}
                            () = stopped => {}
                        }
                    };
                    answered = held(answered, place, over);
                } else if let Some(in_use) = in_use
                    && answered.headers().get(header::CONTENT_TYPE) == Some(&EVENTS)
                {
                    answered = held(answered, in_use, std::future::pending());
                    answered = until_answered(answered, taken);
                }
                if let (Method::DELETE, Some(session)) = (method, session) {
                    self.ended(&session, &mut answered);
                }
                Ok(answered)
            }
        }
    }

    fn enter(&self, session: &str, seat: &Seat) -> Result<InUse, Problem> {
        self.door.owners.enter(session, seat).ok_or_else(|| Problem::missing("session"))
    }

    /// The SDK's answer.
    async fn by_sdk(
        self: Arc<Self>,
        seat: Seat,
        request: Request,
        answer: Answer,
    ) -> Result<Response, Problem> {
        if answer != Answer::Begins {
            let answered = SEAT.scope(seat, self.service.handle(request)).await;
            return Ok(answered.map(Body::new));
        }
        // On a task of its own: whoever hangs up half-way would leave a session that nobody counts.
        let beginning = tokio::spawn(async move { self.begin(seat, request).await });
        beginning.await.map_err(|_| refusal::failed())
    }

    /// A session that the SDK begins is the seat's from then on.
    async fn begin(&self, seat: Seat, request: Request) -> Response {
        let answered = SEAT.scope(seat.clone(), self.service.handle(request)).await;
        let answered = answered.map(Body::new);
        if let Some(Ok(begun)) = answered.headers().get(SESSION).map(HeaderValue::to_str)
            && let Some(gone) = self.door.owners.begin(begun, &seat)
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

    /// Reads the body of a message, whole and strictly, and hands the very same bytes on. One of a
    /// session has its id to itself.
    async fn read(
        &self,
        seat: &Seat,
        request: Request,
        of: Option<&InUse>,
        heard: &mut Heard,
    ) -> Result<Read, Problem> {
        if request.method() != Method::POST {
            let stays = request.method() == Method::GET;
            let answer = if stays { Answer::Stays } else { Answer::Ends };
            return Ok(Read::Sound { request, answer });
        }
        let (mut parts, body) = request.into_parts();
        let bytes = body::json_bytes(&parts.headers, body, &self.door.limits).await?;
        let (message, arguments) = match message::read(&bytes, self.door.limits.body_bytes) {
            Ok(read) => read,
            Err(error) => {
                heard.asking.refused(error.code());
                return Ok(Read::Unsound(refused(&error)));
            }
        };
        heard.id = Some(message.get("id").cloned().unwrap_or_default());
        let method = message.get("method").and_then(Value::as_str);
        heard.asking.read(method.unwrap_or("answer"));
        let answer = match method {
            Some("initialize") => Answer::Begins,
            Some(LISTEN) => Answer::Stays,
            Some(_) | None => Answer::Ends,
        };
        if answer == Answer::Begins {
            self.door.owners.room(&self.sessions, seat, &self.door.mcp).await?;
        }
        // An answer to a question of ours has the id of that.
        if let (Some(in_use), Some(id), Some(_)) = (of, message.get("id"), method) {
            parts.extensions.insert(in_use.ids.take(id)?);
        }
        if of.is_none()
            && let Some(call) = Direct::read(&self.door, seat, &parts.headers, message, arguments)
        {
            return Ok(Read::Direct(Box::new(call)));
        }
        // The SDK hands the head on to whoever makes the call.
        parts.extensions.insert(CameWith::of(seat));
        if let Some(text) = ArgumentsText::of(arguments) {
            parts.extensions.insert(text);
        }
        Ok(Read::Sound { request: Request::from_parts(parts, Body::from(bytes)), answer })
    }
}

/// What is known of a request so far.
struct Heard {
    /// The id of its message, from when that was read on.
    id: Option<Value>,
    asking: Asking,
}

/// A request that may be handed on, or what is said to one that may not.
enum Read {
    Sound {
        request: Request,
        answer: Answer,
    },
    /// A call that needs no more than the one path.
    Direct(Box<Direct>),
    Unsound(Response),
}

/// What the answer to a request is like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// It begins a session.
    Begins,
    /// It has no end of its own.
    Stays,
    Ends,
}

/// An answer that holds something for as long as it lasts, and ends when it is over.
fn held(
    answered: Response,
    what: impl Send + 'static,
    over: impl Future<Output = ()> + Send + 'static,
) -> Response {
    let (parts, body) = answered.into_parts();
    let pieces = body.into_data_stream().take_until(Box::pin(over));
    let pieces = pieces.map(move |piece| {
        let _ = &what;
        piece
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

fn refused(wrong: &Wrong) -> Response {
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
