//! Errors of JSON-RPC with the code and the advice that everything else that is refused has: those that
//! the SDK makes have a number alone.

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use haft_core::ErrorKind;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::noted::Asking;

/// What an error says beside its number.
#[derive(Clone, Copy)]
struct Words {
    code: &'static str,
    suggestion: &'static str,
}

/// The words for a number. The newer ones of the protocol are about the request, too.
fn words(code: ErrorCode) -> Words {
    match code {
        ErrorCode::METHOD_NOT_FOUND => Words {
            code: "not_found",
            suggestion: "call a method that the protocol has and the server's capabilities name",
        },
        ErrorCode::RESOURCE_NOT_FOUND => Words {
            code: "not_found",
            suggestion: "take an address from `resources/list` or `resources/templates/list`",
        },
        ErrorCode::INTERNAL_ERROR => Words {
            code: ErrorKind::Internal.as_str(),
            suggestion: ErrorKind::Internal.suggestion(),
        },
        ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => Words {
            code: "malformed_request",
            suggestion: "say in the request that the client can do what `requiredCapabilities` names",
        },
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => {
            Words { code: "malformed_request", suggestion: "send a version that `supported` names" }
        }
        ErrorCode::HEADER_MISMATCH => Words {
            code: "malformed_request",
            suggestion: "send headers that say the same as the message",
        },
        _ => Words {
            code: "malformed_request",
            suggestion: "correct the request as the Model Context Protocol has it",
        },
    }
}

/// Our word for a number.
pub(super) fn code(number: ErrorCode) -> &'static str {
    words(number).code
}

/// Adds what is not there yet to what an error says for programs.
fn add(data: &mut Map<String, Value>, words: Words) {
    for (name, word) in [("code", words.code), ("suggestion", words.suggestion)] {
        data.entry(name).or_insert_with(|| word.into());
    }
}

/// The same error with a code of ours; one that has one keeps it.
pub(super) fn coded(error: ErrorData) -> ErrorData {
    let words = words(error.code);
    with(error, words)
}

/// The same error with the code and the advice of a kind of end.
pub(super) fn of_kind(kind: ErrorKind, error: ErrorData) -> ErrorData {
    with(error, Words { code: kind.as_str(), suggestion: kind.suggestion() })
}

fn with(mut error: ErrorData, words: Words) -> ErrorData {
    error.data = Some(told(error.data.take(), words));
    error
}

/// What an error says besides, with our words.
fn told(data: Option<Value>, words: Words) -> Value {
    let mut data = match data {
        Some(Value::Object(data)) => data,
        None | Some(Value::Null) => Map::new(),
        // What it said is not lost.
        Some(other) => Map::from_iter([("said".to_owned(), other)]),
    };
    add(&mut data, words);
    Value::Object(data)
}

/// The same of a message that is written already; nothing where it is no error. Whoever asked is in the
/// log then.
fn coded_message(message: &mut Value, asking: &Asking) -> Option<()> {
    let error = message.get_mut("error")?.as_object_mut()?;
    let number = error.get("code").and_then(Value::as_i64)?;
    let words = words(ErrorCode(i32::try_from(number).ok()?));
    let said = error.shift_remove("data");
    let data = told(said, words);
    asking.refused(data.get("code").and_then(Value::as_str).unwrap_or_default());
    error.insert("data".to_owned(), data);
    Some(())
}

/// An answer of the SDK's, its errors with our codes: whole, or event by event.
pub(super) async fn recoded(answered: Response, asking: &Asking) -> Response {
    let (mut parts, body) = answered.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let body = match kind.map(|kind| kind.split(';').next().unwrap_or(kind).trim_end()) {
        Some(JSON) => {
            // Of our own making, so it is as long as an answer may be, and comes whole.
            let Ok(said) = axum::body::to_bytes(body, usize::MAX).await else {
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            };
            parts.headers.remove(header::CONTENT_LENGTH);
            Body::from(in_json(&said, asking).map_or(said, Bytes::from))
        }
        Some(EVENTS) => {
            let (pieces, asking) = (body.into_data_stream(), asking.clone());
            Body::from_stream(pieces.map(move |piece| piece.map(|piece| in_events(piece, &asking))))
        }
        Some(_) | None => body,
    };
    Response::from_parts(parts, body)
}

pub(super) const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A message that is an error, with our code; nothing where it is none, as most are not.
fn in_json(said: &[u8], asking: &Asking) -> Option<String> {
    let error: Outer<'_> = serde_json::from_slice(said).ok()?;
    error.error?;
    let mut message: Value = serde_json::from_slice(said).ok()?;
    coded_message(&mut message, asking)?;
    Some(message.to_string())
}

/// What has to be read of a message to tell what it is.
#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The same in events: the SDK hands each on whole, and a message stands on one line.
fn in_events(piece: Bytes, asking: &Asking) -> Bytes {
    let Ok(text) = std::str::from_utf8(&piece) else { return piece };
    if !text.contains("\"error\"") {
        return piece;
    }
    let line = |line: &str| {
        let (said, end) = line.strip_suffix('\n').map_or((line, ""), |said| (said, "\n"));
        let data = said.strip_prefix("data:");
        let coded = data.and_then(|data| in_json(data.trim().as_bytes(), asking));
        coded.map_or_else(|| line.to_owned(), |coded| format!("data: {coded}{end}"))
    };
    Bytes::from(text.split_inclusive('\n').map(line).collect::<String>())
}
