//! A provider's error object, in whichever of the usual shapes.

use serde_json::Value;

use crate::said::Fault;

/// The error that a body or an event reports, if it reports one.
pub(super) fn read(text: &[u8]) -> Option<Fault> {
    let value: Value = serde_json::from_slice(text).ok()?;
    from_body(&value)
}

/// `{"error": {…}}` (OpenAI, Anthropic, Gemini), `{"error": "…"}` (Ollama), `{"object": "error", …}`
/// (vLLM), `{"detail": …}` (servers built with FastAPI), and arrays of one of these (Gemini).
pub(super) fn from_body(body: &Value) -> Option<Fault> {
    if let Value::Array(items) = body {
        return items.first().and_then(from_body);
    }
    match body.get("error") {
        Some(Value::Null) | None => {}
        Some(error) => return Some(from_object(error)),
    }
    if body.get("object").and_then(Value::as_str) == Some("error") {
        return Some(from_object(body));
    }
    let detail = body.get("detail")?;
    Some(Fault { code: None, message: said(detail) })
}

/// What stands behind `error`.
pub(super) fn from_object(error: &Value) -> Fault {
    let word = |key| error.get(key).filter(|value| !value.is_null()).map(said);
    // Gemini's number is an HTTP status and its `status` the word; OpenAI's `code` is the more exact
    // of its two words; Anthropic has only `type`.
    let code = match error.get("status") {
        Some(Value::String(status)) => Some(status.clone()),
        Some(_) | None => word("code").or_else(|| word("type")),
    };
    let message = word("message").unwrap_or_else(|| said(error));
    Fault { code, message }
}

fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}
