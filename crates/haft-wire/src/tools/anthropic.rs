//! The shape of Anthropic.

use serde_json::{Value, json};

use super::show::Shown;
use crate::Strictness;

pub(super) fn tool(shown: &Shown<'_>, strictness: Strictness) -> Value {
    let Shown { name, description, parameters, .. } = shown;
    match strictness {
        Strictness::Plain => {
            json!({"name": name, "description": description, "input_schema": parameters})
        }
        Strictness::Strict => json!({
            "name": name, "description": description, "input_schema": parameters, "strict": true,
        }),
    }
}
