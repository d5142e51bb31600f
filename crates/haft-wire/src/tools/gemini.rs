//! The shapes of Gemini, `generateContent` and Live.

use serde_json::{Map, Value, json};

use super::show::Shown;
use super::target::Schemas;

pub(super) fn declaration(shown: &Shown<'_>, schemas: Schemas) -> Value {
    let (parameters, response) = match schemas {
        Schemas::Own => ("parameters", "response"),
        Schemas::JsonSchema => ("parametersJsonSchema", "responseJsonSchema"),
    };
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(shown.name));
    fields.insert("description".to_owned(), json!(shown.description));
    // A function without parameters leaves them out: an object without members is refused.
    if has_members(&shown.parameters) {
        fields.insert(parameters.to_owned(), json!(shown.parameters));
    }
    if let Some(output) = &shown.output {
        fields.insert(response.to_owned(), output.clone());
    }
    Value::Object(fields)
}

/// Whether parameters are said at all.
pub(super) fn has_members(parameters: &Map<String, Value>) -> bool {
    let members = parameters.get("properties").and_then(Value::as_object);
    members.is_some_and(|members| !members.is_empty())
}

/// All functions are of one tool; a tool without functions is refused.
pub(super) fn list(declarations: Vec<Value>) -> Value {
    match declarations.is_empty() {
        true => json!([]),
        false => json!([{"functionDeclarations": declarations}]),
    }
}
