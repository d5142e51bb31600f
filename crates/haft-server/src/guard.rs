//! What every request must pass before anything reads it: our own name, no foreign page, one of
//! each header that decides, room to work, and a key.

mod host;

use std::sync::Arc;

use axum::body::{Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{self, HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{BoxError, Router};
use tower_service::Service as _;

use haft_core::hop::{self, Chain};
use haft_core::trace::Trace;
use haft_runtime::trace;

use self::host::Host;
use crate::api::consents::CALLBACK;
use crate::api::{calls, completions};
use crate::console::{ASSETS, ENTRANCE, HOME};
use crate::door::Door;
use crate::heard::TwoLengths;
use crate::mcp::{self, metadata};
use crate::problem::Problem;
use crate::seat::{Seat, Seated};
use crate::whole::Whole;

/// Headers that decide something. Two of one kind could be read two ways.
const ONCE: [HeaderName; 7] = [
    header::HOST,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::ORIGIN,
    HeaderName::from_static("idempotency-key"),
];

const TRACE: HeaderName = HeaderName::from_static("traceparent");

/// The routes, and before them what every request must pass. (No layers of the router's: each would
/// copy the request and what is behind it once more.)
#[derive(Clone)]
pub(crate) struct Guarded {
    door: Arc<Door>,
    mcp: Arc<mcp::Endpoint>,
    routes: Router,
}

impl Guarded {
    pub(crate) fn new(door: Arc<Door>, mcp: Arc<mcp::Endpoint>, routes: Router) -> Self {
        Self { door, mcp, routes }
    }

    pub(crate) async fn answer<B>(self, request: http::Request<B>) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    {
        // Behind what is not believed nothing is, so the connection ends with it.
        let bare = request.body().is_end_stream() && !is_doubtful(&request);
        let is_chat = completions::is_at(request.uri().path());
        let admitted = check(&self.door, &request)
            .and_then(|via| Ok((via, place(&self.door, request.uri().path())?)));
        let (mut response, was_read) = match admitted {
            // What could be read in two ways is not followed by anything either.
            Err(problem) => {
                let is_sound = problem.status() != StatusCode::BAD_REQUEST;
                (problem.into_response(), bare && is_sound)
            }
            Ok((via, seat)) => {
                let seated = Seated(seat);
                let (request, whole) = Whole::of(request, &seated.0);
                let trace = text(request.headers(), &TRACE).and_then(Trace::parse);
                let response = trace::within(trace, self.admit(&seated.0, via, request)).await;
                (response, whole.was_read())
            }
        };
        if is_chat {
            response = completions::Failure::instead(response);
        }
        self.door.metrics.answered(response.status().as_u16());
        // What is left of a body is not read, so the connection ends: the client must not count on it.
        if !was_read {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        dressed(response)
    }

    /// Lets a request through to its route, once it is known whose it is.
    async fn admit(&self, seat: &Seat, via: Chain, mut request: Request) -> Response {
        let path = request.uri().path();
        if !is_open(path) {
            let credential = bearer(request.headers()).or_else(|| offered(request.headers()));
            let Some(credential) = credential else { return self.refused(&request) };
            let Some(who) = self.door.identify(credential).await else {
                return self.refused(&request);
            };
            let who = who.through(via);
            if !asks_how_it_does(request.uri().path())
                && let Err(problem) = seat.is_of(&who)
            {
                return problem.into_response();
            }
            if let Some(agent) = calls::plainly(&request).map(Box::<str>::from) {
                let made = calls::asked(&self.door, &who, &agent, request).await;
                return made.unwrap_or_else(IntoResponse::into_response);
            }
            let kept = Credential(credential.into());
            if let Some(agent) = mcp::plainly(&request).map(|agent| agent.map(Box::<str>::from)) {
                // Boxed, as below.
                let mcp = self.mcp.clone();
                return Box::pin(mcp.serve(&who, agent.as_deref(), kept, request)).await;
            }
            request.extensions_mut().insert(who);
            request.extensions_mut().insert(kept);
        } else {
            // The console knows later whose it is.
            request.extensions_mut().insert(seat.clone());
        }
        // Boxed: what most requests do not need must not make every one larger.
        let answered = Box::pin(self.routes.clone().call(request));
        match answered.await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// Tells whoever has no valid key so, where to get one, and that the one they sent is what is
    /// wrong (RFC 6750).
    fn refused(&self, request: &Request) -> Response {
        let mut response = Problem::unauthenticated().into_response();
        let headers = response.headers_mut();
        if let Some(told) = metadata::challenge(&self.door, request) {
            headers.insert(header::WWW_AUTHENTICATE, told);
        }
        if bearer(request.headers()).is_some()
            && let Some(told) = headers.get_mut(header::WWW_AUTHENTICATE)
        {
            let why = [told.as_bytes(), b", error=\"invalid_token\""].concat();
            *told = HeaderValue::from_bytes(&why).unwrap_or_else(|_| told.clone());
        }
        response
    }
}

/// What takes no key: how the server does, what it speaks, and the console, which has a way in of its
/// own. Everything else does, whether it exists or not.
fn is_open(path: &str) -> bool {
    let below = |place: &str| path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
    matches!(path, "/" | "/healthz" | "/readyz" | "/v1/openapi.json" | HOME | metadata::PLACE)
        || ["/errors", HOME, metadata::PLACE].into_iter().any(below)
}

/// Turned away at once: a queue would only make everybody late. Whoever is not in yet takes nobody's
/// place; whoever asks how the server does must hear it above all when there is no room. What pages are
/// made of is constant, and waits for nothing.
fn place(door: &Arc<Door>, path: &str) -> Result<Seat, Problem> {
    match path {
        _ if asks_how_it_does(path) || is_asset(path) => Ok(Seat::apart(door.clone())),
        _ if enters(path) => Seat::at_entrance(door.clone()),
        _ => Seat::enter(door.clone(), decides(path)),
    }
}

/// Whether a path is of the way in, where nobody is known. Other paths below it are pages of those who
/// are in, whether they exist or not.
fn enters(path: &str) -> bool {
    path == ENTRANCE || is_one_of(path, ENTRANCE)
}

/// Whether a path is one of the files that pages are made of.
fn is_asset(path: &str) -> bool {
    is_one_of(path, ASSETS)
}

/// Whether a path is that of a place and one name below it.
fn is_one_of(path: &str, place: &str) -> bool {
    let name = path.strip_prefix(place).and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

/// Whether a path is of what people decide: what is configured, keys, connections, questions, effects, and
/// the console but for its calls of tools and for where anybody comes back to from a provider.
fn decides(path: &str) -> bool {
    let calls = path.strip_prefix(HOME).and_then(|rest| rest.strip_prefix("/tools/"));
    let switches = |rest: &str| rest.ends_with("/switch") || rest.ends_with("/take");
    DECIDES.into_iter().any(|place| is_at(path, place))
        && calls.is_none_or(switches)
        && path != CALLBACK
}

/// Whether a path is that of a place, or below it.
fn is_at(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

const DECIDES: [&str; 6] =
    ["/v1/admin", "/v1/connections", "/v1/consents", "/v1/confirmations", "/v1/effects", HOME];

fn asks_how_it_does(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// What a request was let in with, for answers that last: it is looked at again while they do.
#[derive(Clone)]
pub(crate) struct Credential(pub(crate) Arc<str>);

/// Checks the head of a request, and says which servers it came through.
fn check<B>(door: &Door, request: &http::Request<B>) -> Result<Chain, Problem> {
    let headers = request.headers();
    if !is_text(request.uri().path()) {
        return Err(Problem::malformed("the path is not UTF-8 once its `%` are resolved"));
    }
    // Most requests have nothing twice, and are not searched.
    if headers.len() > headers.keys_len()
        && let Some(name) = ONCE.iter().find(|name| headers.get_all(*name).iter().nth(1).is_some())
    {
        return Err(Problem::malformed(format!("`{name}` is there twice")));
    }
    if holds_two_keys(headers) {
        let detail = "there are two different keys, in `Authorization` and as `haft.key.…`";
        return Err(Problem::malformed(detail).advise("send the one that is meant"));
    }
    if is_doubtful(request) {
        let detail = "`Content-Length` and `Transfer-Encoding` are both there, or chunks before this \
                      request could be read in two ways";
        return Err(Problem::malformed(detail)
            .advise("send one of the two, and chunks as RFC 9112 has them"));
    }
    let via = came_via(headers)?;
    // Where the address names one, too, both must be ours: what is made from either leads here.
    let named = request.uri().authority().map(|authority| authority.as_str());
    let mut host = None;
    for said in [text(headers, &header::HOST), named].into_iter().flatten() {
        match Host::read(said).filter(|host| host.is_of(door)) {
            Some(ours) => host = Some(ours),
            None => return Err(Problem::foreign("the request is for another host")),
        }
    }
    let host = host.ok_or_else(|| Problem::malformed("the request names no host"))?;
    if let Some(origin) = headers.get(header::ORIGIN)
        && !host.is_origin(door, origin.to_str().unwrap_or_default())
    {
        return Err(Problem::foreign("the request comes from a page of another origin"));
    }
    let packed = text(headers, &header::TRANSFER_ENCODING)
        .is_some_and(|how| !how.trim().eq_ignore_ascii_case("chunked"));
    if packed || headers.contains_key(header::CONTENT_ENCODING) {
        let fix = "send the body as it is, without `Content-Encoding`, and in no other way than `chunked`";
        return Err(Problem::unsupported("compressed bodies are not read", fix));
    }
    Ok(via)
}

/// Whether where a request begins or ends could be read in two ways.
fn is_doubtful<B>(request: &http::Request<B>) -> bool {
    request.extensions().get::<TwoLengths>().is_some()
}

/// The servers that a request came through.
fn came_via(headers: &HeaderMap) -> Result<Chain, Problem> {
    let values = headers.get_all(hop::HEADER).iter().filter_map(|value| value.to_str().ok());
    Chain::read(values).map_err(Problem::looped)
}

/// Whether a path is text when its `%` are resolved; most have none.
fn is_text(path: &str) -> bool {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (mut bytes, mut resolved) = (path.as_bytes(), Vec::new());
    if !bytes.contains(&b'%') {
        return true;
    }
    while let Some((first, rest)) = bytes.split_first() {
        let pair = digit(rest.first()).zip(digit(rest.get(1))).filter(|_| *first == b'%');
        let byte = pair.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        resolved.push(byte.unwrap_or(*first));
        bytes = rest.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    std::str::from_utf8(&resolved).is_ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, key) = text(headers, &header::AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// The key of a WebSocket's client that cannot set headers: a browser, in which scripts of other
/// origins were turned away before.
fn offered(headers: &HeaderMap) -> Option<&str> {
    all_offered(headers).next()
}

fn all_offered(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let all = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let all = all.filter(|_| headers.contains_key(header::UPGRADE));
    let protocols = all.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    protocols.filter_map(|one| one.trim().strip_prefix("haft.key."))
}

/// Whether it could be read in two ways who asks. Nearly no request offers anything.
fn holds_two_keys(headers: &HeaderMap) -> bool {
    let Some(first) = offered(headers) else { return false };
    all_offered(headers).chain(bearer(headers)).any(|other| other != first)
}

/// What no answer goes without.
fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in DRESS {
        headers.entry(name).or_insert(value);
    }
    response
}

/// (A constant, so that nobody looks again whether they may stand in a header.)
const DRESS: [(HeaderName, HeaderValue); 4] = [
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    ),
];

#[cfg(test)]
mod tests {
    use super::{decides, enters, is_asset, is_text};

    #[test]
    fn what_people_decide_is_known_by_its_path() {
        for path in [
            "/v1/admin/keys/k1",
            "/v1/connections",
            "/v1/confirmations/cnf_1",
            "/v1/effects/undo",
            "/console",
            "/console/keys/k1/revoke",
            "/console/tools",
            "/console/tools/helper/shop__echo/switch",
        ] {
            assert!(decides(path), "{path}");
        }
        for path in [
            "/v1/agents/helper/calls",
            "/v1/calls",
            "/v1/administration",
            "/mcp",
            "/console/tools/helper/shop__echo",
            "/console/consent",
        ] {
            assert!(!decides(path), "{path}");
        }
    }

    #[test]
    fn the_way_in_is_known_by_its_path() {
        for path in ["/console/sign-in", "/console/sign-in/abc"] {
            assert!(enters(path), "{path}");
        }
        for path in [
            "/console",
            "/console/sign-out",
            "/console/sign-ins",
            "/console/sign-in/",
            "/console/sign-in/abc/d",
            "/console/consent",
            "/console/assets/console.css",
        ] {
            assert!(!enters(path), "{path}");
        }
    }

    #[test]
    fn what_pages_are_made_of_is_known_by_its_path() {
        assert!(is_asset("/console/assets/console.css"));
        for path in ["/console/assets", "/console/assets/", "/console/assets/a/b", "/console"] {
            assert!(!is_asset(path), "{path}");
        }
    }

    #[track_caller]
    fn check(path: &str, expected: bool) {
        assert_eq!(is_text(path), expected, "{path}");
    }

    #[test]
    fn a_path_is_text_however_it_is_written() {
        check("/v1/tools", true);
        check("/v1/tools/%C3%A4", true);
        check("/v1/tools/%41%", true);
        check("/v1/tools/%4", true);
        check("/v1/tools/%zz", true);
        check("/v1/tools/%ff", false);
        check("/v1/tools/%C3", false);
        check("/v1/tools/a%fFb", false);
    }
}
