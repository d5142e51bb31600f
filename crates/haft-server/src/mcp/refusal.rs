//! What is said at `/mcp` to a request that is not carried out: an error of JSON-RPC to one whose
//! message was read, a problem to any other. What the SDK says in plain text is said in our words.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::{ErrorKind, ToolError};
use rmcp::model::{ErrorCode, ProtocolVersion};
use serde_json::{Map, Value, json};

use super::coded::{JSON, recoded};
use super::noted::Asking;
use crate::problem::Problem;

/// More than the SDK says in plain text about anything.
const MOST: usize = 4 << 10;

/// A problem, to whoever sent a message of this id, where one was read. The status and the headers
/// are a problem's either way.
pub(super) fn told(problem: &Problem, heard: Option<Value>) -> Response {
    let mut response = problem.clone().into_response();
    if let Some(id) = heard {
        *response.body_mut() = Body::from(error(problem, &id).to_string());
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    response
}

/// A problem as an error of JSON-RPC.
fn error(problem: &Problem, id: &Value) -> Value {
    let mut data = match problem.details() {
        Some(Value::Object(details)) => details.clone(),
        Some(_) | None => Map::new(),
    };
    data.insert("code".to_owned(), problem.code().into());
    data.insert("suggestion".to_owned(), problem.suggestion().into());
    if let Some(seconds) = problem.retry_after() {
        data.insert("retryAfterMs".to_owned(), seconds.saturating_mul(1_000).into());
    }
    let code = match problem.status() {
        _ if data.contains_key(SUPPORTED) => ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
        status if status.is_server_error() => ErrorCode::INTERNAL_ERROR,
        StatusCode::TOO_MANY_REQUESTS => ErrorCode::INTERNAL_ERROR,
        _ => ErrorCode::INVALID_REQUEST,
    };
    let error = json!({ "code": code.0, "message": problem.detail(), "data": data });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// The SDK's answer, its errors with our codes; or, where it is an error in plain text, the problem that
/// this is.
pub(super) async fn retold(answered: Response, asking: &Asking) -> Result<Response, Problem> {
    let (status, headers) = (answered.status(), answered.headers());
    let is_error = status.is_client_error() || status.is_server_error();
    if !is_error || headers.contains_key(header::CONTENT_TYPE) {
        return Ok(recoded(answered, asking).await);
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        // With `Allow`, which the SDK knows.
        let problem = Problem::wrong_method();
        asking.refused(problem.code());
        let mut response = told(&problem, None);
        let allow = headers.get(header::ALLOW).cloned();
        allow.and_then(|allow| response.headers_mut().insert(header::ALLOW, allow));
        return Ok(response);
    }
    let said = axum::body::to_bytes(answered.into_body(), MOST).await.unwrap_or_default();
    Err(problem(status, &String::from_utf8_lossy(&said)))
}

/// What the SDK's plain text is about.
fn problem(status: StatusCode, said: &str) -> Problem {
    match status {
        StatusCode::NOT_FOUND => Problem::missing("session"),
        StatusCode::NOT_ACCEPTABLE => Problem::not_acceptable(
            "the request does not say that it takes the kinds of answer that there are",
            "send `Accept: application/json, text/event-stream`",
        ),
        // Strict JSON of the outer shape of a message was read: it is not the kind that is wrong.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::malformed(
            "the message is none of the protocol's",
        )
        .advise("send a request, a notification or an answer as the Model Context Protocol has it"),
        StatusCode::BAD_REQUEST if said.contains("Session ID") => Problem::malformed(
            "the request belongs to no session",
        )
        .advise(
            "begin one with `initialize`, and send the `Mcp-Session-Id` of its answer; or send the \
                 headers and the `_meta` of version 2026-07-28, which needs none",
        ),
        StatusCode::BAD_REQUEST => unsupported_version(said),
        _ => failed(),
    }
}

/// Where an error names the versions that are spoken.
const SUPPORTED: &str = "supported";

/// What the SDK says in plain text of a bad request is about a session or about a version.
fn unsupported_version(said: &str) -> Problem {
    let supported: Vec<_> =
        ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str).collect();
    let requested = said.rsplit_once("MCP-Protocol-Version: ").map(|(_, version)| version);
    let fix = format!("send one of `{}`, or leave it out", supported.join("`, `"));
    Problem::malformed("`MCP-Protocol-Version` names no version that is spoken here")
        .advise(&fix)
        .with_details(json!({ SUPPORTED: supported, "requested": requested }))
}

/// Something that should not have happened. The SDK has logged what.
pub(super) fn failed() -> Problem {
    ToolError::new(ErrorKind::Internal, "the request could not be carried out").into()
}
