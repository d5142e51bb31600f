//! The shape of Anthropic.

use serde_json::Value;

use super::show::{Shown, object_of, word};
use crate::Strictness;

pub(super) fn tool(shown: Shown<'_>, strictness: Strictness) -> Value {
    let mut tool = object_of([
        ("name", word(shown.name)),
        ("description", Value::String(shown.description)),
        ("input_schema", Value::Object(shown.parameters)),
    ]);
    if strictness == Strictness::Strict {
        tool.insert("strict".to_owned(), Value::Bool(true));
    }
    Value::Object(tool)
}
