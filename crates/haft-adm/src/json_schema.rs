//! The same rules once more, as JSON Schema 2020-12, for readers in other languages.
//!
//! Whatever this crate accepts, its JSON Schema accepts. Whatever the JSON Schema accepts, this
//! crate accepts too, save for what JSON Schema has no words for:
//!
//! | rule | why JSON Schema cannot say it |
//! |---|---|
//! | names are unique within a tool | `uniqueItems` compares whole elements, not one field |
//! | what is `required` is in `properties` | no keyword compares one value with another |
//! | nesting ends somewhere | a `$ref` that recurses does not count |
//!
//! Rules on the text (double keys, limits, numbers) are no rules on values and so are not in
//! here either; see [`strict`](crate::strict).
//!
//! ```
//! let tool = haft_adm::json_schema::tool();
//! assert_eq!(tool["$schema"], "https://json-schema.org/draft/2020-12/schema");
//! assert_eq!(tool["$ref"], "#/$defs/Tool");
//! ```

use serde_json::{Value, json};

use crate::error_object::is_blank;
use crate::name::PATTERN;
use crate::{DESCRIPTION_CHARACTERS, SchemaType};

/// The names of the structures and the JSON Schema of each.
pub fn all() -> [(&'static str, Value); 6] {
    [
        ("Tool", tool()),
        ("FunctionDeclaration", function_declaration()),
        ("Schema", schema()),
        ("FunctionCall", function_call()),
        ("ToolResult", tool_result()),
        ("ErrorObject", error_object()),
    ]
}

/// The JSON Schema of a [`Tool`](crate::Tool).
pub fn tool() -> Value {
    let definitions = json!({
        "Tool": tool_definition(),
        "FunctionDeclaration": function_declaration_definition(),
        "Schema": schema_definition(),
    });
    document("Tool", definitions)
}

/// The JSON Schema of a [`FunctionDeclaration`](crate::FunctionDeclaration).
pub fn function_declaration() -> Value {
    let definitions = json!({
        "FunctionDeclaration": function_declaration_definition(),
        "Schema": schema_definition(),
    });
    document("FunctionDeclaration", definitions)
}

/// The JSON Schema of a [`Schema`](crate::Schema).
pub fn schema() -> Value {
    document("Schema", json!({ "Schema": schema_definition() }))
}

/// The JSON Schema of a [`FunctionCall`](crate::FunctionCall).
pub fn function_call() -> Value {
    document("FunctionCall", json!({ "FunctionCall": function_call_definition() }))
}

/// The JSON Schema of a [`ToolResult`](crate::ToolResult).
pub fn tool_result() -> Value {
    let definitions = json!({
        "ToolResult": tool_result_definition(),
        "ErrorObject": error_object_definition(),
    });
    document("ToolResult", definitions)
}

/// The JSON Schema of an [`ErrorObject`](crate::ErrorObject).
pub fn error_object() -> Value {
    document("ErrorObject", json!({ "ErrorObject": error_object_definition() }))
}

fn document(structure: &str, definitions: Value) -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": structure,
        "$ref": format!("#/$defs/{structure}"),
        "$defs": definitions,
    })
}

fn structure(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn tool_definition() -> Value {
    let functions = json!({ "type": "array", "items": { "$ref": "#/$defs/FunctionDeclaration" }, "minItems": 1 });
    structure(json!({ "function_declarations": functions }), &["function_declarations"])
}

fn function_declaration_definition() -> Value {
    let properties = json!({
        "name": name(),
        "description": {
            "type": "string",
            "minLength": 1,
            "maxLength": DESCRIPTION_CHARACTERS,
        },
        "parameters": {
            "$ref": "#/$defs/Schema",
            "properties": { "type": { "const": "OBJECT" } },
        },
    });
    structure(properties, &["name", "description", "parameters"])
}

fn schema_definition() -> Value {
    let schema = json!({ "$ref": "#/$defs/Schema" });
    let words = json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true });
    let only_on = |word: &str| json!({ "properties": { "type": { "const": word } } });
    let mut definition = structure(
        json!({
            "type": { "enum": SchemaType::ALL },
            "description": { "type": "string" },
            "properties": { "type": "object", "additionalProperties": schema },
            "required": words,
            "items": schema,
            "enum": { "$ref": "#/$defs/Schema/properties/required", "minItems": 1 },
        }),
        &["type"],
    );
    if let Some(definition) = definition.as_object_mut() {
        let belongings = json!({
            "properties": only_on("OBJECT"),
            "required": only_on("OBJECT"),
            "items": only_on("ARRAY"),
            "enum": only_on("STRING"),
        });
        definition.insert("dependentSchemas".to_owned(), belongings);
        definition.insert("if".to_owned(), only_on("ARRAY"));
        definition.insert("then".to_owned(), json!({ "required": ["items"] }));
    }
    definition
}

fn function_call_definition() -> Value {
    structure(json!({ "name": name(), "args": { "type": "object" } }), &["name", "args"])
}

fn tool_result_definition() -> Value {
    let properties = json!({
        "name": name(),
        "status": { "enum": ["SUCCESS", "ERROR"] },
        "content": true,
        "error": { "$ref": "#/$defs/ErrorObject" },
    });
    let mut definition = structure(properties, &["name", "status"]);
    let side = |status: &str, with: &str, without: &str| {
        json!({
            "properties": { "status": { "const": status }, without: false },
            "required": [with],
        })
    };
    if let Some(definition) = definition.as_object_mut() {
        let sides = json!([side("SUCCESS", "content", "error"), side("ERROR", "error", "content")]);
        definition.insert("oneOf".to_owned(), sides);
    }
    definition
}

fn error_object_definition() -> Value {
    let properties = json!({
        "message": { "type": "string", "pattern": some_not_blank() },
        "type": { "type": "string" },
    });
    structure(properties, &["message"])
}

fn name() -> Value {
    json!({ "type": "string", "pattern": PATTERN })
}

/// Matches a text with something other than white space in it.
///
/// The characters are spelt out because `\S` means different ones in different languages.
fn some_not_blank() -> String {
    let blank: String = (char::MIN..=char::MAX).filter(|found| is_blank(*found)).collect();
    format!("[^{blank}]")
}
