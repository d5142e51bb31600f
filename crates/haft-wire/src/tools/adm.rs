//! The ALTAR data model, both ways: declarations and results out, calls in.
//!
//! Its letters are Gemini's: types in capitals. What the API takes settles where the documents
//! disagree, so no letter is converted between the two.

use haft_adm::{ErrorObject, FunctionCall, FunctionDeclaration, FunctionName, ToolResult};
use haft_core::Envelope;
use serde_json::Value;

use super::show::{Shown, object_of, word};
use crate::loss::Quarantined;
use crate::said::WireCall;

/// A declaration that the data model takes.
pub(super) fn declaration(shown: Shown<'_>) -> Result<Value, Quarantined> {
    let written = Value::Object(object_of([
        ("name", word(shown.name)),
        ("description", Value::String(shown.description)),
        ("parameters", Value::Object(shown.parameters)),
    ]));
    match FunctionDeclaration::from_value(written.clone()) {
        Ok(_) => Ok(written),
        Err(errors) => Err(Quarantined {
            tool: shown.tool.id.clone(),
            pointer: "/parameters".to_owned(),
            reason: errors.to_string(),
        }),
    }
}

/// One tool with all functions; the model has no tool without.
pub(super) fn list(declarations: Vec<Value>) -> Value {
    match declarations.is_empty() {
        true => Value::Null,
        false => {
            let all = Value::Array(declarations);
            Value::Object(object_of([("function_declarations", all)]))
        }
    }
}

/// A call in our words. ADM has no ids: `position` is the call's place among those of its message.
#[must_use]
pub fn call(call: FunctionCall, position: u32) -> WireCall {
    let (name, args) = call.into_parts();
    WireCall {
        id: None,
        name: name.as_str().to_owned(),
        namespace: None,
        arguments: Value::Object(args).to_string(),
        choice: 0,
        position,
    }
}

/// The answer to a call: content, or the error in the data model's words.
///
/// # Errors
///
/// If the data model does not take the answer: it nests too deep.
pub fn result(name: FunctionName, envelope: &Envelope) -> Result<ToolResult, haft_adm::Errors> {
    match &envelope.result {
        Ok(data) => ToolResult::success(name, data.clone()),
        Err(error) => {
            let message = format!("{}; {}", error.message, error.suggestion);
            let said = ErrorObject::new(message)?.with_type(error.kind.in_adm_words());
            Ok(ToolResult::error(name, said))
        }
    }
}
