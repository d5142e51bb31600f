//! The shapes of Gemini, `generateContent` and Live.

use serde_json::{Map, Value};

use super::show::{Shown, object_of, word};
use super::target::Schemas;

pub(super) fn declaration(shown: Shown<'_>, schemas: Schemas) -> Value {
    let (parameters, response) = match schemas {
        Schemas::Own => ("parameters", "response"),
        Schemas::JsonSchema => ("parametersJsonSchema", "responseJsonSchema"),
    };
    let description = Value::String(shown.description);
    let mut fields = object_of([("name", word(shown.name)), ("description", description)]);
    // A function without parameters leaves them out: an object without members is refused.
    if has_members(&shown.parameters) {
        fields.insert(parameters.to_owned(), Value::Object(shown.parameters));
    }
    fields.extend(shown.output.map(|output| (response.to_owned(), output)));
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
        true => Value::Array(Vec::new()),
        false => {
            let all = Value::Array(declarations);
            Value::Array(vec![Value::Object(object_of([("functionDeclarations", all)]))])
        }
    }
}
