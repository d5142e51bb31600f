//! `reg_describe`: everything that is known about one tool.

use haft_core::contract::{Confirmation, SideEffectPolicy};
use haft_core::error::Fault;
use haft_core::{Call, ErrorKind, ToolError};
use serde_json::{Value, json};

use super::Seen;
use crate::path;
use crate::runtime::Inner;
use crate::toolbox::EffectiveTool;

pub(super) fn run(inner: &Inner, seen: &Seen<'_>, arguments: &Value) -> Result<Value, ToolError> {
    let name = arguments.get("tool").and_then(Value::as_str).unwrap_or_default();
    let mut call = Call::new(seen.scope.caller.clone(), name, Value::Null);
    call.only.clone_from(&seen.scope.only);
    // The question that a call would be asked first, so that the answer reveals no more.
    match path::available(inner, &seen.catalog, &call) {
        Ok(tool) => Ok(described(&tool)),
        Err(error) => {
            let Fault { message, suggestion, .. } = error.into_fault();
            Err(ToolError::new(ErrorKind::NotFound, message).suggest(suggestion))
        }
    }
}

fn described(tool: &EffectiveTool) -> Value {
    let contract = &tool.tool.contract;
    let mut said = json!({
        "tool": tool.tool.id,
        "version": contract.version.to_string(),
        "description": contract.description,
        "category": contract.category,
        "changes": changes(contract.side_effect_policy),
        "asksFirst": asks_first(&tool.requires_confirmation),
        "parameters": contract.parameters,
        "documentation": tool.tool.doc,
    });
    if let (Some(deprecated), Some(said)) = (&contract.deprecated, said.as_object_mut()) {
        said.insert("deprecated".into(), json!(deprecated.reason));
    }
    said
}

fn changes(class: SideEffectPolicy) -> &'static str {
    match class {
        SideEffectPolicy::Pure => "nothing",
        SideEffectPolicy::Idempotent => "what can be repeated safely",
        SideEffectPolicy::Compensatable => "what can be undone",
        SideEffectPolicy::Irreversible => "what cannot be undone",
    }
}

fn asks_first(rule: &Confirmation) -> &'static str {
    match rule {
        Confirmation::Always(false) => "never",
        Confirmation::Always(true) => "always",
        Confirmation::When { .. } => "sometimes",
    }
}
