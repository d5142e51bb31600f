//! Plain definitions with JSON Schema: nothing is lost.

use haft_core::{Registry, Tool};
use serde_json::{Map, Value, json};

/// Every tool of the registry as a plain definition: an array of objects with `name` (the
/// canonical id), `toolId`, `originalName` where the tool was imported, `version`, `description`,
/// `parameters` and, where the contract has one, `output`.
#[must_use]
pub fn json_schema(registry: &Registry) -> Value {
    registry.tools.iter().map(definition).collect()
}

fn definition(tool: &Tool) -> Value {
    let contract = &tool.contract;
    let mut fields = Map::new();
    fields.insert("name".to_owned(), json!(tool.id));
    fields.insert("toolId".to_owned(), json!(contract.tool_id));
    if let Some(origin) = &contract.origin {
        fields.insert("originalName".to_owned(), json!(origin.name));
    }
    fields.insert("version".to_owned(), json!(contract.version));
    fields.insert("description".to_owned(), json!(contract.description));
    fields.insert("parameters".to_owned(), contract.parameters.clone());
    if let Some(output) = &contract.output {
        fields.insert("output".to_owned(), output.clone());
    }
    Value::Object(fields)
}
