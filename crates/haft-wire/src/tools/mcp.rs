//! The shape of the Model Context Protocol.

use haft_core::Tool;
use serde_json::{Value, json};

pub(super) fn tool(name: &str, tool: &Tool, parameters: &Value) -> Value {
    json!({"name": name, "description": tool.contract.description, "inputSchema": parameters})
}
