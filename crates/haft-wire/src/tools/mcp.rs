//! The shape of the Model Context Protocol.

use haft_core::Tool;
use haft_core::contract::{Capability, Effect, SideEffectPolicy};
use serde_json::{Value, json};

use super::show::{Shown, object_of, word};

pub(super) fn tool(shown: Shown<'_>) -> Value {
    let mut tool = object_of([
        ("name", word(shown.name)),
        ("title", Value::String(title(shown.tool))),
        ("description", Value::String(shown.description)),
        ("inputSchema", Value::Object(shown.parameters)),
    ]);
    tool.extend(shown.output.map(|output| ("outputSchema".to_owned(), output)));
    tool.insert("annotations".to_owned(), annotations(shown.tool));
    Value::Object(tool)
}

/// The heading of the tool's document, or its id in words.
fn title(tool: &Tool) -> String {
    let heading = tool.doc.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    match heading.filter(|heading| !heading.is_empty()) {
        Some(heading) => heading.to_owned(),
        None => {
            let words = tool.contract.tool_id.replace('_', " ");
            let mut letters = words.chars();
            letters
                .next()
                .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// All four are said: what is left out, a client assumes, and it assumes the worst.
fn annotations(tool: &Tool) -> Value {
    let contract = &tool.contract;
    let reads = match contract.effect {
        Effect::ReadOnly => true,
        Effect::StateChange | Effect::ExternalSideEffect => false,
    };
    // What can be undone destroys nothing; what can be repeated may.
    let destroys = match contract.side_effect_policy {
        SideEffectPolicy::Pure | SideEffectPolicy::Compensatable => false,
        SideEffectPolicy::Idempotent | SideEffectPolicy::Irreversible => true,
    };
    let reaches =
        |capability: &Capability| matches!(capability, Capability::Http | Capability::Messaging);
    let open = contract.effect == Effect::ExternalSideEffect
        || contract.gateway.is_some()
        || contract.connection.is_some()
        || contract.capabilities.iter().any(reaches);
    json!({
        "readOnlyHint": reads,
        "destructiveHint": destroys && !reads,
        "idempotentHint": reads || contract.idempotent,
        "openWorldHint": open,
    })
}
