//! The shapes of Gemini.

use serde_json::{Value, json};

pub(super) fn declaration(name: &str, description: &str, parameters: &Value) -> Value {
    json!({"name": name, "description": description, "parametersJsonSchema": parameters})
}

/// All functions are of one tool; a tool without functions is refused.
pub(super) fn list(declarations: Vec<Value>) -> Value {
    match declarations.is_empty() {
        true => json!([]),
        false => json!([{"functionDeclarations": declarations}]),
    }
}
