//! Messages, read so that no two readers could take them differently.

use std::collections::HashSet;

use axum::http::StatusCode;
use haft_adm::strict;
use rmcp::ErrorData;
use rmcp::model::{ClientRequest, ErrorCode, ProtocolVersion, SubscriptionFilter};
use serde_json::{Map, Value, json};

use super::coded::{code, coded};
use super::handler::WATCHED;
use super::ids::Ids;
use crate::problem::Problem;

const META: &str = "_meta";
/// Where a request of the newer era names its version.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What is wrong with a message.
pub(super) struct Wrong {
    code: ErrorCode,
    id: Value,
    why: String,
    /// What programs are told besides.
    data: Option<Value>,
}

impl Wrong {
    pub(super) fn of_shape(id: Option<&Value>, why: &str) -> Self {
        let id = id.filter(|id| is_id(id)).cloned().unwrap_or_default();
        Self { code: ErrorCode::INVALID_REQUEST, id, why: why.to_owned(), data: None }
    }

    /// What other doors refuse, too.
    pub(super) fn of_problem(id: Value, problem: &Problem) -> Self {
        let mut data = match problem.details() {
            Some(Value::Object(details)) => details.clone(),
            Some(_) | None => Map::new(),
        };
        data.insert("code".to_owned(), problem.code().into());
        data.insert("suggestion".to_owned(), problem.suggestion().into());
        let (why, data) = (problem.detail().to_owned(), Some(Value::Object(data)));
        Self { code: ErrorCode::INVALID_REQUEST, id, why, data }
    }

    /// A message that is longer than one may be.
    pub(super) fn too_long(id: Value, most: usize) -> Self {
        let wrong = Self::of_problem(id, &Problem::too_large(most));
        Self { why: format!("the message has more than {most} bytes"), ..wrong }
    }

    /// The same beside other requests: under the id of one of them it would be taken for its answer.
    pub(super) fn beside(self, others: &Ids) -> Self {
        let id = if others.holds(&self.id) { Value::Null } else { self.id };
        Self { id, ..self }
    }

    /// The HTTP status: a message that can be answered as such is no bad request.
    pub(super) fn status(&self) -> StatusCode {
        match self.code == ErrorCode::INVALID_PARAMS {
            true => StatusCode::OK,
            false => StatusCode::BAD_REQUEST,
        }
    }

    /// Our word for it.
    pub(super) fn code(&self) -> &'static str {
        code(self.code)
    }

    /// The answer to it.
    pub(super) fn to_line(&self) -> String {
        let error = coded(ErrorData::new(self.code, self.why.clone(), self.data.clone()));
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string()
    }
}

pub(super) fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64()
}

/// Where a call has its arguments.
const ARGUMENTS: [&str; 2] = ["params", "arguments"];

/// Reads one message: strict JSON, and the outer shape of JSON-RPC 2.0. With it comes the text of a
/// call's arguments.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<(Value, Option<&str>), Wrong> {
    let unread =
        |why: String| Wrong { code: ErrorCode::PARSE_ERROR, id: Value::Null, why, data: None };
    let text = std::str::from_utf8(bytes).map_err(|_| unread("not UTF-8".to_owned()))?;
    let limits = strict::Limits::default().with_bytes(most);
    let read = strict::parse_with(text, &ARGUMENTS, limits);
    let (value, arguments) = read.map_err(|error| unread(error.to_string()))?;
    let Some(fields) = value.as_object() else {
        return Err(Wrong::of_shape(None, "a message is one object; there are no batches"));
    };
    let id = fields.get("id");
    let wrong = |why: &str| Err(Wrong::of_shape(id, why));
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return wrong("`jsonrpc` must be \"2.0\"");
    }
    let answers = fields.contains_key("result") || fields.contains_key("error");
    if id.is_some_and(|id| !(is_id(id) || answers && id.is_null())) {
        return wrong("`id` must be a text or a whole number");
    }
    match fields.get("method") {
        Some(Value::String(_)) => {}
        None if answers => {}
        Some(_) | None => return wrong("`method` is missing, or not a text"),
    }
    if fields.get("params").is_some_and(|params| !params.is_object()) {
        return wrong("`params` must be an object");
    }
    if let Some(why) = unfit(&value) {
        let mut wrong = Wrong::of_shape(id, &why);
        wrong.code = ErrorCode::INVALID_PARAMS;
        return Err(wrong);
    }
    Ok((value, arguments))
}

/// What a method cannot do without. The SDK takes a message that does not fit its method for one of
/// a method that it does not know.
fn unfit(message: &Value) -> Option<String> {
    let part = |name: &str| message.get("params").and_then(|params| params.get(name));
    let method = message.get("method")?.as_str()?;
    let name = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        // The newer era knows them no more, whatever they say: the SDK tells it so.
        "resources/subscribe" | "resources/unsubscribe" if part(META).is_none_or(is_older) => "uri",
        "logging/setLevel" if !part(META).is_none_or(is_older) => return None,
        _ => return unlike(method, message),
    };
    if !part(name).is_some_and(Value::is_string) {
        return Some(format!("`params.{name}` is missing, or not a text"));
    }
    let arguments = part("arguments").filter(|_| name == "name");
    let odd = arguments.is_some_and(|said| !(said.is_object() || said.is_null()));
    odd.then(|| "`params.arguments` must be an object".to_owned())
}

/// What the parameters of some methods must be.
const PARAMETERS: [(&str, &str); 3] = [
    (
        "completion/complete",
        "`ref` (`{type: \"ref/prompt\", name}` or `{type: \"ref/resource\", uri}`) and `argument` (`{name, \
         value}`, both texts)",
    ),
    (
        "logging/setLevel",
        "`level`, one of `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`, `emergency`",
    ),
    ("subscriptions/listen", "`notifications`, an object that says what is to be told"),
];

/// What is wrong with the parameters of such a method, where the SDK would not know it by them.
fn unlike(method: &str, message: &Value) -> Option<String> {
    let (_, wanted) = PARAMETERS.iter().find(|(name, _)| *name == method)?;
    let read: Result<ClientRequest, _> = serde_json::from_value(message.clone());
    match read {
        Ok(ClientRequest::CustomRequest(_)) | Err(_) => {
            Some(format!("`params` of `{method}` must have {wanted}"))
        }
        Ok(ClientRequest::SubscriptionsListenRequest(asked)) => {
            overfull(&asked.params.notifications)
        }
        Ok(_) => None,
    }
}

/// What is wrong with so many addresses. All of what is accepted of them is looked up, acknowledged and
/// told in one go, and the SDK takes repeated ones as they come.
fn overfull(wanted: &SubscriptionFilter) -> Option<String> {
    let uris = wanted.resource_subscriptions.as_ref()?;
    let is_fit = uris.len() <= WATCHED && uris.iter().collect::<HashSet<_>>().len() == uris.len();
    let why = "`params.notifications.resourceSubscriptions` must be";
    (!is_fit).then(|| format!("{why} {WATCHED} addresses at most, each of them once"))
}

/// Whether a request with this `_meta` is of the older era, where no request names its version.
fn is_older(meta: &Value) -> bool {
    let said = meta.get(VERSION).and_then(Value::as_str);
    said.is_none_or(|said| said < ProtocolVersion::V_2026_07_28.as_str())
}
