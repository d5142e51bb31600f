//! What every request to the console must pass: a browser on this very origin, a visit, the form's
//! own token. And what no page goes without.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use haft_core::port::{ConfirmationFilter, StoreError};
use haft_core::record::ConfirmationStatus;
use serde::de::DeserializeOwned;

use super::page::{self, MOST_COUNTED, Unready, Visitor};
use super::posted::Posted;
use super::visits::{Held, Seen, same};
use super::{HOME, encode};
use crate::body;
use crate::door::{Door, Limits};
use crate::guard::Credential;
use crate::problem::Problem;
use crate::seat::Seat;
use crate::who::{Role, Who};

/// Scripts and styles are files of ours, forms go back to us, nobody frames us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// So often is looked for more that wait, where much of what was found can no longer be approved.
const ROUNDS: usize = 5;

/// A page that could not be shown. Whoever shows it knows for whom.
pub(crate) struct Failed(pub(crate) Problem);

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl From<haft_core::ToolError> for Failed {
    fn from(error: haft_core::ToolError) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let mut response = self.0.status().into_response();
        response.extensions_mut().insert(Arc::new(self.0));
        response
    }
}

/// The parameters behind the question mark, of a page: what is wrong with them is told on one.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failed> {
        let body::Params(read) = body::Params::from_request_parts(parts, state).await?;
        Ok(Self(read))
    }
}

/// For every page: headers, and errors as pages.
pub(crate) async fn outer(request: Request, next: Next) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned();
    let response = next.run(request).await;
    let problem = response.extensions().get::<Arc<Problem>>().cloned();
    let visitor = response.extensions().get::<Visitor>().cloned().or(visitor);
    dressed(match problem {
        Some(problem) => page::problem(&problem, visitor.as_ref()),
        None => response,
    })
}

fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let mut set = |name, value| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_FRAME_OPTIONS, "DENY");
    // A browser that is told nothing at all would send its forms with the origin `null`.
    set(header::REFERRER_POLICY, "same-origin");
    set(header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    response
}

/// For every page that is not open to all.
pub(crate) async fn inner(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(known) = known(&door, request.headers()).await else {
        return stranger(&request);
    };
    if let Some(seat) = request.extensions_mut().remove::<Seat>()
        && let Err(problem) = seat.is_of(&known.who)
    {
        return Failed(problem).into_response();
    }
    let visitor = visitor(&door, known).await;
    // Answers that last look at it again.
    if let Some(token) = &visitor.token {
        request.extensions_mut().insert(Credential(token.clone()));
    }
    request.extensions_mut().insert(visitor.who.clone());
    request.extensions_mut().insert(visitor.clone());
    let mut response = match checked(&door, &visitor, request).await {
        Ok(request) => next.run(request).await,
        Err(problem) => Failed(problem).into_response(),
    };
    response.extensions_mut().insert(visitor);
    response
}

/// Reads a form and holds it against its visitor. Whoever handles a form gets it from here.
async fn checked(door: &Door, visitor: &Visitor, request: Request) -> Result<Request, Problem> {
    if is_look(request.method()) {
        return Ok(request);
    }
    let (mut parts, body) = request.into_parts();
    same_origin(&parts.headers)?;
    let posted = posted(&parts.headers, body, &door.limits).await?;
    if !posted.one("csrf").is_some_and(|token| same(token, &visitor.csrf)) {
        let why = Problem::forbidden("the form is not from this visit");
        return Err(why.advise("load the page again, and send its form"));
    }
    parts.extensions.insert(posted);
    Ok(Request::from_parts(parts, axum::body::Body::empty()))
}

/// The fields of a form.
pub(crate) async fn posted(
    headers: &HeaderMap,
    body: axum::body::Body,
    limits: &Limits,
) -> Result<Posted, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_none_or(|kind| !kind.starts_with("application/x-www-form-urlencoded")) {
        return Err(Problem::unsupported("this is not a form", "send the form of the page"));
    }
    Ok(Posted::read(&body::bytes(body, limits).await?))
}

/// Whether a form was sent by a page of this very origin, port included. Browsers say so.
pub(crate) fn same_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let from = text(header::ORIGIN).and_then(|origin| origin.split_once("://"));
    let is_own = from.is_some_and(|(_, host)| text(header::HOST) == Some(host));
    let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    match is_own && site.is_none_or(|site| site == "same-origin") {
        true => Ok(()),
        false => Err(Problem::foreign("the form does not come from a page of this server")),
    }
}

/// Whoever is known by a cookie.
struct Known {
    seen: Seen,
    who: Who,
    token: Option<Arc<str>>,
}

/// Whoever the cookie stands for, as their key or token is now.
async fn known(door: &Door, headers: &HeaderMap) -> Option<Known> {
    let seen = super::cookie::read(headers).find_map(|text| door.visits.find(text))?;
    let (who, token) = match &seen.held {
        Held::Key(name) => (door.holder(name)?, None),
        Held::Token(token) => (door.identify(token).await?, Some(token.clone())),
    };
    who.decides().then_some(Known { seen, who, token })
}

/// The same with what their pages say of what waits.
async fn visitor(door: &Door, known: Known) -> Visitor {
    let Known { seen, who, token } = known;
    let waiting = if who.is(Role::Approver) { waiting(door, &who).await } else { 0 };
    let unready = unready(door, &who.tenant).await;
    Visitor { id: seen.id, csrf: seen.csrf, proven: seen.proven, who, token, waiting, unready }
}

/// What of a tenant's work is not taken now. That another tenant's is says nothing about it.
pub(crate) async fn unready(door: &Door, tenant: &str) -> Option<Unready> {
    match door.runtime.store().trusts(tenant).await {
        Err(StoreError::Tampered(_)) => Some(Unready::Effects),
        Ok(()) | Err(_) => door.ready().await.err().map(Unready::Work),
    }
}

/// How many questions wait, as far as is counted: they are read whole for it. What can no longer be
/// approved waits for nobody.
async fn waiting(door: &Door, who: &Who) -> usize {
    let store = door.runtime.store();
    let mut wanted = ConfirmationFilter {
        tenant: who.tenant.to_string(),
        status: Some(ConfirmationStatus::Pending),
        open_after_ms: Some(store.now_ms()),
        limit: MOST_COUNTED + 1,
        ..ConfirmationFilter::default()
    };
    let mut waiting = 0;
    for _ in 0..ROUNDS {
        let found = store.confirmations(wanted.clone()).await.unwrap_or_default();
        for one in &found {
            waiting += usize::from(door.runtime.void(one).await.is_none());
        }
        if waiting > MOST_COUNTED || found.len() <= MOST_COUNTED {
            break;
        }
        wanted.after = found.last().map(|one| one.id.clone());
    }
    waiting
}

/// Whether something is only looked at.
fn is_look(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn stranger(request: &Request) -> Response {
    if !is_look(request.method()) {
        let said = "you are signed out, and nothing was done; sign in and try again";
        return Failed(Problem::signed_out(said)).into_response();
    }
    let wanted = request.uri().path_and_query().map_or(HOME, |path| path.as_str());
    let place = match wanted {
        HOME => format!("{HOME}/sign-in"),
        wanted => format!("{HOME}/sign-in?next={}", encode(wanted)),
    };
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}
