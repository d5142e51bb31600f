//! The shapes of OpenAI: Chat Completions, Responses and Realtime.

use serde_json::{Value, json};

use crate::Strictness;

pub(super) fn chat(
    name: &str,
    description: &str,
    parameters: &Value,
    strictness: Strictness,
) -> Value {
    match strictness {
        Strictness::Plain => json!({
            "type": "function",
            "function": {"name": name, "description": description, "parameters": parameters},
        }),
        Strictness::Strict => json!({
            "type": "function",
            "function": {
                "name": name, "description": description, "parameters": parameters, "strict": true,
            },
        }),
    }
}

/// `strict` is always said: left out, Responses takes it for `true`.
pub(super) fn responses(
    name: &str,
    description: &str,
    parameters: &Value,
    strictness: Strictness,
) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": description,
        "parameters": parameters,
        "strict": strictness == Strictness::Strict,
    })
}

pub(super) fn realtime(name: &str, description: &str, parameters: &Value) -> Value {
    json!({
        "type": "function", "name": name, "description": description, "parameters": parameters,
    })
}
