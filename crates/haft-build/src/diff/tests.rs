//! Each rule both ways, and the proof that the rules about schemas hold.

mod arguments;
mod bumps;
mod contracts;
mod handlers;
mod nested;
mod proof;
mod reach;
mod report;
mod results;

use std::collections::BTreeMap;

use haft_core::Digest;
use haft_core::names::Namespace;
use haft_core::registry::{Build, Implementation, Registry, Tool};
use serde_json::{Map, Value, json};

use super::{Change, Diff, compare};

/// The changes between two contracts that differ from a plain one by these members.
#[track_caller]
fn check(before: Value, after: Value, expected: &[&str]) {
    let found = changes(&before, &after);
    assert_eq!(found, expected, "\nbefore: {before}\nafter:  {after}");
}

fn changes(before: &Value, after: &Value) -> Vec<String> {
    let diff = compare(&registry(vec![tool(before)]), &registry(vec![tool(after)]));
    diff.changed.iter().flat_map(|tool| &tool.changes).map(said).collect()
}

fn said(change: &Change) -> String {
    let look = if change.review { " [look]" } else { "" };
    format!("{}: {}{look}", change.impact.as_str(), change.what)
}

fn registry(tools: Vec<Tool>) -> Registry {
    Registry {
        version: "1.0.00000000".into(),
        digest: Digest::of_bytes(b"registry"),
        namespace: Namespace::parse("core").unwrap(),
        prompts: BTreeMap::new(),
        tools,
        build: Build { at: "2026-01-01T00:00:00Z".into(), by: "haft".into(), commit: None },
    }
}

fn tool(members: &Value) -> Tool {
    let mut contract = plain();
    patch(&mut contract, members);
    let id = format!("core__{}", contract["toolId"].as_str().unwrap());
    Tool {
        id,
        digest: Digest::of_json(&contract),
        contract: serde_json::from_value(contract).unwrap(),
        parameters: Vec::new(),
        summary: "Finds.".into(),
        doc: "# Summary".into(),
        handler: script("execute()"),
    }
}

fn script(source: &str) -> Implementation {
    Implementation::Js { digest: Digest::of_bytes(source.as_bytes()), source: source.into() }
}

fn plain() -> Value {
    json!({
        "toolId": "kb_search",
        "version": "1.0.0",
        "description": "Finds articles.",
        "category": "retrieval",
        "sideEffects": "read_only",
        "effect": "read_only",
        "sideEffectPolicy": "pure",
        "idempotent": true,
        "requiresConfirmation": false,
        "allowedModes": ["text"],
        "latencyBudgetMs": 800,
        "parameters": {"type": "object", "additionalProperties": false},
        "redaction": {"allow": [], "allowArgs": []},
        "arguments": {"mode": "lenient", "fraction": "refuse"}
    })
}

/// Members replace members; `null` takes them away. Schemas are replaced whole.
fn patch(contract: &mut Value, members: &Value) {
    let contract: &mut Map<String, Value> = contract.as_object_mut().unwrap();
    for (name, value) in members.as_object().unwrap() {
        if value.is_null() {
            contract.shift_remove(name);
        } else {
            contract.insert(name.clone(), value.clone());
        }
    }
}

fn writing() -> Value {
    json!({
        "sideEffects": "writes",
        "effect": "state_change",
        "sideEffectPolicy": "irreversible",
        "idempotent": false
    })
}

/// A closed object with these properties.
fn object(properties: Value) -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

#[test]
fn nothing_changed_is_nothing_told() {
    let registry = registry(vec![tool(&json!({})), tool(&json!({"toolId": "other"}))]);
    let diff: Diff = compare(&registry, &registry);
    assert!(diff.is_empty() && !diff.is_breaking() && !diff.has_unpaid_bumps());
}

#[test]
fn the_json_is_stable() {
    let before = json!({"parameters": object(json!({"top_k": {"maximum": 10}}))});
    let after = json!({"version": "1.0.1", "parameters": object(json!({"top_k": {"maximum": 5}}))});
    let new = registry(vec![tool(&after), tool(&json!({"toolId": "other"}))]);
    let diff = compare(&registry(vec![tool(&before)]), &new);
    assert_eq!(
        serde_json::to_value(&diff).unwrap(),
        json!({
            "old": "1.0.00000000",
            "new": "1.0.00000000",
            "changes": [],
            "added": [{"id": "core__other", "version": "1.0.0", "effect": "read_only"}],
            "removed": [],
            "changed": [{
                "id": "core__kb_search",
                "oldVersion": "1.0.0",
                "newVersion": "1.0.1",
                "owes": "major",
                "made": "patch",
                "paid": false,
                "changes": [{
                    "impact": "breaking",
                    "pointer": "/parameters/properties/top_k/maximum",
                    "what": "parameter `top_k`: maximum lowered from 10 to 5",
                    "review": false,
                    "before": 10,
                    "after": 5
                }]
            }]
        })
    );
}
