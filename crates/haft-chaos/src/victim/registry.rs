//! The registry: a tool of each class, what undoes one of them, and what finds out.

use anyhow::Context as _;
use haft_core::names::Namespace;
use haft_core::registry::{Build, Entry, Implementation, Registry, Tool, version_of};
use haft_core::{Digest, parameters};
use serde_json::{Value, json};

pub(super) fn registry(deadline_ms: u64) -> anyhow::Result<Registry> {
    let asks = |tool: &str| {
        json!({ "tool": "done", "happened": "/result/done", "settledAfterMs": 0, "arguments": {
            "tool": { "value": tool }, "item": { "from": "/arguments/item" },
        }})
    };
    let undoes =
        json!({ "tool": "unbook", "arguments": { "item": { "from": "/arguments/item" } } });
    let tools = [
        ("look", json!({})),
        ("done", json!({ "parameters": takes(&["tool", "item"]) })),
        ("put", writes("idempotent", json!({ "probe": asks("put") }))),
        ("unbook", writes("idempotent", json!({ "probe": asks("unbook") }))),
        ("book", writes("compensatable", json!({ "probe": asks("book"), "compensation": undoes }))),
        ("order", writes("irreversible", json!({ "probe": asks("order") }))),
        (
            "gift",
            writes("irreversible", json!({ "probe": asks("gift"), "requiresConfirmation": true })),
        ),
    ];
    let mut tools: Vec<Tool> =
        tools.iter().map(|(name, more)| tool(name, more, deadline_ms)).collect::<Result<_, _>>()?;
    tools.sort_by(|one, other| one.id.cmp(&other.id));
    let ids: Vec<_> = tools.iter().map(|tool| json!([tool.id, tool.digest])).collect();
    let digest = Digest::of_json(&json!(ids));
    Ok(Registry {
        version: version_of(&digest),
        digest,
        namespace: Namespace::parse("chaos").map_err(|why| anyhow::anyhow!("{why}"))?,
        prompts: Default::default(),
        tools,
        build: Build { at: "2026-01-01T00:00:00Z".into(), by: "haft-chaos".into(), commit: None },
    })
}

fn takes(names: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
    json!({ "type": "object", "additionalProperties": false, "required": names,
            "properties": properties })
}

fn writes(class: &str, more: Value) -> Value {
    let base = json!({
        "category": "action", "sideEffects": "writes", "effect": "external_side_effect",
        "sideEffectPolicy": class, "idempotent": class == "idempotent",
        "arguments": { "mode": "strict", "fraction": "refuse" },
    });
    with(base, &more)
}

fn with(mut base: Value, more: &Value) -> Value {
    if let (Some(base), Some(more)) = (base.as_object_mut(), more.as_object()) {
        base.extend(more.clone());
    }
    base
}

fn tool(name: &str, more: &Value, deadline_ms: u64) -> anyhow::Result<Tool> {
    let base = json!({
        "toolId": name, "version": "1.0.0", "description": "Acts through the sink.",
        "category": "retrieval", "sideEffects": "read_only", "effect": "read_only",
        "sideEffectPolicy": "pure", "idempotent": true, "requiresConfirmation": false,
        "allowedModes": ["text", "voice"], "latencyBudgetMs": 800,
        "limits": { "maxRuntimeMs": deadline_ms }, "parameters": takes(&["item"]),
        "redaction": { "allow": ["receipt"], "allowArgs": ["item"] },
        "arguments": { "mode": "lenient", "fraction": "refuse" },
    });
    let contract = serde_json::from_value(with(base, more));
    let contract: haft_core::Contract =
        contract.with_context(|| format!("the contract of `{name}`"))?;
    let mut tool = Tool {
        id: format!("chaos__{name}"),
        digest: Digest::of_bytes(b""),
        parameters: parameters::view(&contract.parameters),
        contract,
        summary: "Acts through the sink.".into(),
        doc: "Acts through the sink.".into(),
        handler: Implementation::Native,
    };
    tool.digest = Entry::seal(&tool).digest;
    Ok(tool)
}
