//! The shapes of OpenAI: Chat Completions, Responses and Realtime.

use serde_json::{Value, json};

use super::show::Shown;
use crate::Strictness;

pub(super) fn chat(shown: &Shown<'_>, strictness: Strictness) -> Value {
    let Shown { name, description, parameters, .. } = shown;
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
pub(super) fn responses(shown: &Shown<'_>, strictness: Strictness) -> Value {
    let mut tool = json!({
        "type": "function",
        "name": shown.name,
        "description": shown.description,
        "parameters": shown.parameters,
        "strict": strictness == Strictness::Strict,
    });
    if let (Some(output), Some(fields)) = (&shown.output, tool.as_object_mut()) {
        fields.insert("output_schema".to_owned(), output.clone());
    }
    tool
}

/// Realtime has no `strict`.
pub(super) fn realtime(shown: &Shown<'_>) -> Value {
    json!({
        "type": "function",
        "name": shown.name,
        "description": shown.description,
        "parameters": shown.parameters,
    })
}
