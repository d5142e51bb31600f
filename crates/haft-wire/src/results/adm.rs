//! ADM: a `ToolResult` for a call, with content or an error. It has no place for remarks.

use serde_json::{Value, json};

use super::Answer;

pub(super) fn result(answer: &Answer<'_>) -> Value {
    match &answer.envelope.result {
        Ok(data) => json!({ "name": answer.name, "status": "SUCCESS", "content": data }),
        Err(error) => json!({
            "name": answer.name,
            "status": "ERROR",
            "error": {
                "message": format!("{}; {}", error.message, super::told::advice(error)),
                "type": error.kind.in_adm_words().to_string(),
            },
        }),
    }
}
