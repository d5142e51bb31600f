//! The shape of Anthropic.

use serde_json::{Value, json};

use crate::Strictness;

pub(super) fn tool(name: &str, description: &str, schema: &Value, strictness: Strictness) -> Value {
    match strictness {
        Strictness::Plain => {
            json!({"name": name, "description": description, "input_schema": schema})
        }
        Strictness::Strict => {
            json!({"name": name, "description": description, "input_schema": schema, "strict": true})
        }
    }
}
