//! Reading what a request carries: parameters, and a body that is whole, in time, within limits
//! and strict JSON.

mod named;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::named::Named;
use crate::door::Limits;
use crate::problem::Problem;
use crate::seat::Unseated;

/// The parameters behind the question mark.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Query(read) = Query::try_from_uri(&parts.uri)
            .map_err(|error| Problem::malformed(error.body_text()))?;
        Ok(Self(read))
    }
}

/// The body's bytes.
pub(crate) async fn bytes(body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    // What says itself that it is too large need not be awaited.
    if body.size_hint().lower() > limits.body_bytes as u64 {
        return Err(Problem::too_large(limits.body_bytes));
    }
    let read = axum::body::to_bytes(body, limits.body_bytes);
    match tokio::time::timeout(limits.body, read).await {
        Err(_) => Err(Problem::too_slow()),
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(unread(&error, limits)),
    }
}

/// Why a body was not read to its end.
fn unread(error: &axum::Error, limits: &Limits) -> Problem {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(one) = cause {
        if let Some(Unseated(problem)) = one.downcast_ref() {
            return problem.clone();
        }
        if one.to_string().contains("length limit") {
            return Problem::too_large(limits.body_bytes);
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
    let text =
        std::str::from_utf8(bytes).map_err(|_| Problem::malformed("the body is not UTF-8"))?;
    let most = haft_adm::strict::Limits::default().with_bytes(limits.body_bytes);
    let value = haft_adm::strict::parse(text, most)
        .map_err(|error| Problem::malformed(error.to_string()))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(Problem::malformed(format!("the body must be {}", named::AN_OBJECT))),
    }
}

/// The body as one of our shapes.
pub(crate) fn shape<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    T::deserialize(Named(value)).map_err(|error| Problem::malformed(error.to_string()))
}
