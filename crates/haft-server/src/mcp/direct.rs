//! A call of the newer era that is one request and one answer: straight into the one path.
//!
//! The SDK would put a server together for each, with tasks and channels, and read the message a
//! second time. So a message that is plain in every respect does without; whatever is wrong with one,
//! or out of the ordinary, is the SDK's to answer.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use haft_core::call::RawArguments;
use haft_core::trace::Trace;
use haft_runtime::trace;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, ErrorCode, ProtocolVersion, RequestMetaObject};
use serde::Serialize;
use serde_json::{Map, Value};

use super::call::{self, Ended};
use super::coded::coded;
use super::handler::Handler;
use super::noted::Asking;
use super::talk::Line;
use super::{Seat, listed};
use crate::door::Door;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// How a name begins in a header that could not be written there as it is.
const ENCODED: &str = "=?";

/// A plain call.
pub(super) struct Direct {
    id: Value,
    request: CallToolRequestParams,
    arguments: RawArguments,
    meta: RequestMetaObject,
    line: Line,
}

impl Direct {
    /// Reads a message that was read strictly, and that belongs to no session, with the text of its
    /// arguments. None where the SDK has to look at it.
    pub(super) fn read(
        door: &Door,
        seat: &Seat,
        headers: &HeaderMap,
        message: Value,
        text: Option<&str>,
    ) -> Option<Self> {
        let Value::Object(mut message) = message else { return None };
        let version = ProtocolVersion::V_2026_07_28;
        let plain = only(headers, &VERSION)? == version.as_str()
            && only(headers, &METHOD)? == call::METHOD
            && message.get("method")?.as_str()? == call::METHOD
            && takes_both(only(headers, &header::ACCEPT)?)
            && message.len() == 4;
        let (Some(id), Some(Value::Object(params)), true) =
            (message.remove("id"), message.remove("params"), plain)
        else {
            return None;
        };
        let (request, arguments, meta) = split(params)?;
        let named = only(headers, &NAME)? == request.name && !request.name.starts_with(ENCODED);
        let ours = meta.protocol_version()? == version;
        let heard = meta.0.0.contains_key("progressToken") || meta.log_level().is_some();
        if !named || !ours || heard || listed::with_headers(door, seat, &request.name).is_some() {
            return None;
        }
        let line = Line::of_one_answer(&meta.client_capabilities()?);
        let arguments = RawArguments::Value(arguments).from_text(text);
        Some(Self { id, request, arguments, meta, line })
    }

    /// Makes the call. Whoever stops waiting drops this, as at every other door.
    pub(super) async fn answer(self, door: Arc<Door>, seat: Seat, asking: &Asking) -> Response {
        let Self { id, request, arguments, meta, line } = self;
        let handler = Handler::new(door, seat);
        let said = meta.get_traceparent().and_then(Trace::parse);
        let trace = said.or_else(trace::current);
        let made =
            call::take(&handler, handler.seat.caller.clone(), request, arguments, line, &meta);
        match trace::within(trace, made).await {
            Ok(Ended::Told(told)) => Message::answer(id, told.result()).told(StatusCode::OK),
            Ok(Ended::Asks(result)) => Message::answer(id, result).told(StatusCode::OK),
            Err(error) => {
                let error = coded(error);
                let code = error.data.as_ref().and_then(|data| data.get("code")?.as_str());
                asking.refused(code.unwrap_or_default());
                Message::refusal(id, error)
            }
        }
    }
}

/// Whether a request says that it is of the newer era, which has no sessions.
pub(super) fn is_newer(headers: &HeaderMap) -> bool {
    only(headers, &VERSION) == Some(ProtocolVersion::V_2026_07_28.as_str())
}

/// The name, the arguments and `_meta`; none where there is anything else.
fn split(
    mut params: Map<String, Value>,
) -> Option<(CallToolRequestParams, Value, RequestMetaObject)> {
    let (Some(Value::String(name)), Some(Value::Object(meta))) =
        (params.remove("name"), params.remove("_meta"))
    else {
        return None;
    };
    let arguments = match params.remove("arguments") {
        None => Value::Object(Map::new()),
        Some(arguments @ Value::Object(_)) => arguments,
        Some(_) => return None,
    };
    params.is_empty().then(|| (CallToolRequestParams::new(name), arguments, meta.into()))
}

/// The one value of a header.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let (one, more) = (all.next()?, all.next());
    one.to_str().ok().filter(|_| more.is_none())
}

fn takes_both(accept: &str) -> bool {
    accept.contains("application/json") && accept.contains("text/event-stream")
}

/// A message of JSON-RPC that answers another.
#[derive(Serialize)]
struct Message<T> {
    jsonrpc: &'static str,
    id: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorData>,
}

impl<T: Serialize> Message<T> {
    fn answer(id: Value, result: T) -> Self {
        Self { jsonrpc: "2.0", id, result: Some(result), error: None }
    }

    fn told(&self, status: StatusCode) -> Response {
        match serde_json::to_vec(self) {
            Ok(body) => {
                (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
            }
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

impl Message<()> {
    /// As the SDK has it: what the client must mend in its request is a bad request.
    fn refusal(id: Value, error: ErrorData) -> Response {
        let status = match error.code == ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY {
            true => StatusCode::BAD_REQUEST,
            false => StatusCode::OK,
        };
        Self { jsonrpc: "2.0", id, result: None, error: Some(coded(error)) }.told(status)
    }
}
