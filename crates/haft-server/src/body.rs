//! Reading what a request carries: parameters, and a body that is whole, in time, within limits
//! and strict JSON.

mod named;

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::named::Named;
use crate::door::Limits;
use crate::problem::Problem;
use crate::seat::Unseated;

/// The parameters behind the question mark.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> Params<T> {
    /// Those of an address.
    pub(crate) fn of(uri: &Uri) -> Result<T, Problem> {
        let read = Query::try_from_uri(uri);
        let Query(read) = read.map_err(|error| Problem::malformed(mistaken(&error.body_text())))?;
        Ok(read)
    }
}

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::of(&parts.uri).map(Self)
    }
}

/// What is wrong with a parameter, by its name, without the words of the libraries that read it.
fn mistaken(said: &str) -> String {
    let said = said.strip_prefix("Failed to deserialize query string: ").unwrap_or(said);
    let Some((name, why)) = said.split_once(": ").filter(|(name, _)| !name.contains(' ')) else {
        return said.to_owned();
    };
    let why = match why {
        "invalid digit found in string" => "it is no whole number, or one below 0",
        "number too large to fit in target type" | "number too small to fit in target type" => {
            "it is a number that there is no room for"
        }
        "cannot parse integer from empty string" => "it is empty",
        "provided string was not `true` or `false`" => "it is neither `true` nor `false`",
        other if other.starts_with("unknown field") => return other.to_owned(),
        other => other,
    };
    format!("`{name}`: {why}")
}

/// The body's bytes.
pub(crate) async fn bytes(mut body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    // What says itself that it is too large need not be awaited.
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(Problem::too_large(limits.body_bytes));
    }
    let mut read = std::pin::pin!(whole(&mut body, limits.body_bytes));
    // Most bodies have come with their heads, and need no timer.
    if let Poll::Ready(read) = poll_fn(|task| Poll::Ready(read.as_mut().poll(task))).await {
        return read;
    }
    tokio::time::timeout(limits.body, read).await.unwrap_or_else(|_| Err(Problem::too_slow()))
}

/// All pieces of a body as one. A body of one piece is that piece.
async fn whole(body: &mut Body, most: usize) -> Result<Bytes, Problem> {
    let (mut first, mut rest) = (Bytes::new(), Vec::new());
    while let Some(frame) = poll_fn(|task| Pin::new(&mut *body).poll_frame(task)).await {
        let frame = frame.map_err(|error| unread(&error))?;
        // Trailers say nothing that anybody here asks for.
        let Ok(piece) = frame.into_data() else { continue };
        if first.len().max(rest.len()) + piece.len() > most {
            return Err(Problem::too_large(most));
        }
        match (first.is_empty(), rest.is_empty()) {
            (true, true) => first = piece,
            (_, false) => rest.extend_from_slice(&piece),
            (false, true) => {
                rest.reserve(first.len() + piece.len());
                rest.extend_from_slice(&first);
                rest.extend_from_slice(&piece);
            }
        }
        if body.is_end_stream() {
            break;
        }
    }
    Ok(if rest.is_empty() { first } else { rest.into() })
}

/// Why a body was not read to its end.
fn unread(error: &axum::Error) -> Problem {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(Unseated(problem)) = one.downcast_ref() {
            return problem.clone();
        }
        cause = one.source();
    }
    Problem::malformed("the body could not be read to its end")
}

/// The bytes of a body that says that it is JSON.
pub(crate) async fn json_bytes(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Bytes, Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let mut parts = kind.unwrap_or_default().split(';').map(str::trim);
    let fix = "send `Content-Type: application/json`";
    if !parts.next().unwrap_or_default().eq_ignore_ascii_case("application/json") {
        return Err(Problem::unsupported("the body must be JSON", fix));
    }
    if !parts.all(is_utf8) {
        return Err(Problem::unsupported("the body must be UTF-8", fix));
    }
    bytes(body, limits).await
}

/// Whether a parameter of `Content-Type` leaves the text what we read it as.
fn is_utf8(parameter: &str) -> bool {
    match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        Some(_) | None => true,
    }
}

/// The body as a JSON object, with nothing that two readers could take differently.
pub(crate) async fn json(
    headers: &HeaderMap,
    body: Body,
    limits: &Limits,
) -> Result<Value, Problem> {
    object(&json_bytes(headers, body, limits).await?, limits)
}

/// A body's bytes as a JSON object.
pub(crate) fn object(bytes: &[u8], limits: &Limits) -> Result<Value, Problem> {
    object_with(bytes, &[], limits).map(|(value, _)| value)
}

/// The same, and the text of one of its members, by the names that lead there.
pub(crate) fn object_with<'b>(
    bytes: &'b [u8],
    member: &[&str],
    limits: &Limits,
) -> Result<(Value, Option<&'b str>), Problem> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| Problem::malformed("the body is not UTF-8"))?;
    let most = haft_adm::strict::Limits::default().with_bytes(limits.body_bytes);
    let (value, found) = haft_adm::strict::parse_with(text, member, most)
        .map_err(|error| Problem::malformed(error.to_string()))?;
    match value.is_object() {
        true => Ok((value, found)),
        false => Err(Problem::malformed(format!("the body must be {}", named::AN_OBJECT))),
    }
}

/// The body as one of our shapes.
pub(crate) fn shape<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    T::deserialize(Named(value)).map_err(|error| Problem::malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        #[serde(default)]
        limit: usize,
        #[serde(default)]
        since: i64,
        #[serde(default)]
        ok: bool,
    }

    async fn check(query: &str, expected: &str) {
        let request = Request::get(format!("/?{query}")).body(()).unwrap();
        let (mut parts, ()) = request.into_parts();
        let read = Params::<Part>::from_request_parts(&mut parts, &()).await;
        let said = match read {
            Ok(Params(part)) => format!("{} {} {}", part.limit, part.since, part.ok),
            Err(problem) => problem.detail().to_owned(),
        };
        assert_eq!(said, expected, "{query}");
    }

    #[tokio::test]
    async fn a_parameter_that_cannot_be_read_is_named_in_our_words() {
        check("limit=3&since=-2&ok=true", "3 -2 true").await;
        check("limit=-1", "`limit`: it is no whole number, or one below 0").await;
        check("limit=x", "`limit`: it is no whole number, or one below 0").await;
        check("limit=", "`limit`: it is empty").await;
        let huge = "limit=99999999999999999999999";
        check(huge, "`limit`: it is a number that there is no room for").await;
        check("ok=perhaps", "`ok`: it is neither `true` nor `false`").await;
        check("colour=red", "unknown field `colour`, expected one of `limit`, `since`, `ok`").await;
    }
}
