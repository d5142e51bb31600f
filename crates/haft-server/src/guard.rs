//! What every request must pass before anything reads it: our own name, no foreign page, one of
//! each header that decides, room to work, and a key.

mod host;

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use haft_core::hop;
use haft_core::trace::Trace;
use haft_runtime::trace;

use self::host::Host;
use crate::door::Door;
use crate::problem::Problem;
use crate::seat::{Seat, Seated};
use crate::whole::Whole;

/// Headers that decide something. Two of one kind could be read two ways.
const ONCE: [HeaderName; 6] = [
    header::HOST,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::ORIGIN,
    HeaderName::from_static("idempotency-key"),
];

const TRACE: HeaderName = HeaderName::from_static("traceparent");

/// For every route.
pub(crate) async fn outer(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    let bare = request.body().is_end_stream();
    let admitted = check(&door, &request).and_then(|()| place(&door, request.uri().path()));
    let (mut response, was_read) = match admitted {
        Err(problem) => (problem.into_response(), bare),
        Ok(seat) => {
            let seated = Seated(seat);
            let (mut request, whole) = Whole::of(request, &seated.0);
            request.extensions_mut().insert(seated.0.clone());
            let trace = text(request.headers(), &TRACE).and_then(Trace::parse);
            let response = trace::within(trace, next.run(request)).await;
            (response, whole.was_read())
        }
    };
    door.metrics.answered(response.status().as_u16());
    // What is left of a body is not read, so the connection ends: the client must not count on it.
    if !was_read {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    dressed(response)
}

/// Turned away at once: a queue would only make everybody late. Whoever is not in yet takes nobody's
/// place; whoever asks how the server does must hear it above all when there is no room.
fn place(door: &Arc<Door>, path: &str) -> Result<Seat, Problem> {
    match path {
        _ if asks_how_it_does(path) => Ok(Seat::new(door.clone(), None, false)),
        crate::console::ENTRANCE => {
            let entrance = door.entrance.clone().try_acquire_owned();
            let place = entrance.map_err(|_| Problem::overloaded())?;
            Ok(Seat::new(door.clone(), Some(place), false))
        }
        _ => Ok(Seat::new(door.clone(), Some(door.room.enter()?), true)),
    }
}

fn asks_how_it_does(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics")
}

/// For every route that is not open to all.
pub(crate) async fn inner(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    let credential = bearer(request.headers()).or_else(|| offered(request.headers()));
    let Some(credential) = credential.map(|text| Credential(text.into())) else {
        return Problem::unauthenticated().into_response();
    };
    match door.identify(&credential.0).await {
        Some(who) => {
            let seat = request.extensions().get::<Seat>();
            let seat = seat.filter(|_| !asks_how_it_does(request.uri().path()));
            if let Some(Err(problem)) = seat.map(|seat| seat.is_of(&who.tenant)) {
                return problem.into_response();
            }
            request.extensions_mut().insert(who);
            request.extensions_mut().insert(credential);
            next.run(request).await
        }
        None => Problem::unauthenticated().into_response(),
    }
}

/// What a request was let in with, for answers that last: it is looked at again while they do.
#[derive(Clone)]
pub(crate) struct Credential(pub(crate) Arc<str>);

fn check(door: &Door, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    if !is_text(request.uri().path()) {
        return Err(Problem::malformed("the path is not UTF-8 once its `%` are resolved"));
    }
    for name in &ONCE {
        if headers.get_all(name).iter().nth(1).is_some() {
            return Err(Problem::malformed(format!("`{name}` is there twice")));
        }
    }
    let marks = headers.get_all(hop::HEADER).iter().filter_map(|mark| mark.to_str().ok());
    if hop::is_own(marks) {
        return Err(Problem::looped());
    }
    let named = request.uri().authority().map(|authority| authority.as_str());
    let host = named.or_else(|| text(headers, &header::HOST));
    let host = host.ok_or_else(|| Problem::malformed("the request names no host"))?;
    let host = Host::read(host).filter(|host| host.is_of(door));
    let host = host.ok_or_else(|| Problem::foreign("the request is for another host"))?;
    if let Some(origin) = headers.get(header::ORIGIN)
        && !host.is_origin(door, origin.to_str().unwrap_or_default())
    {
        return Err(Problem::foreign("the request comes from a page of another origin"));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        let fix = "send the body as it is, without `Content-Encoding`";
        return Err(Problem::unsupported("compressed bodies are not read", fix));
    }
    Ok(())
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
    let protocols = text(headers, &header::SEC_WEBSOCKET_PROTOCOL)?;
    protocols.split(',').find_map(|one| one.trim().strip_prefix("haft.key."))
}

/// What no answer goes without.
fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let mut set = |name, value| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CACHE_CONTROL, "no-store");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
    response
}

#[cfg(test)]
mod tests {
    use super::is_text;

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
