//! Registries to export, made without the compiler.

use std::collections::BTreeMap;

use haft_core::contract::{Contract, Effect, SideEffectPolicy};
use haft_core::names::{Namespace, canonical_id};
use haft_core::registry::{Build, Implementation};
use haft_core::{Digest, Registry, Tool};
use serde_json::{Value, json};

/// A registry of contracts as an import writes them, each resolved as the compiler would.
pub(crate) fn registry(contracts: impl IntoIterator<Item = Value>) -> Registry {
    let namespace = Namespace::parse("imported").unwrap();
    let digest = Digest::of_bytes(b"");
    let tools = contracts.into_iter().map(|contract| tool(&namespace, contract)).collect();
    Registry {
        version: "1.0.00000000".into(),
        digest,
        namespace,
        prompts: BTreeMap::new(),
        tools,
        build: Build { at: "2026-01-01T00:00:00Z".into(), by: "test".into(), commit: None },
    }
}

fn tool(namespace: &Namespace, mut contract: Value) -> Tool {
    contract["effect"] = json!(Effect::StateChange);
    contract["sideEffectPolicy"] = json!(SideEffectPolicy::Irreversible);
    contract["arguments"] = json!({"mode": "strict", "fraction": "refuse"});
    let contract: Contract = serde_json::from_value(contract).expect("an imported contract");
    Tool {
        id: canonical_id(namespace, &contract.tool_id).expect("an id within the limits"),
        digest: Digest::of_bytes(b""),
        parameters: haft_core::parameters::view(&contract.parameters),
        summary: String::new(),
        doc: String::new(),
        handler: Implementation::Unbound,
        contract,
    }
}

fn contract(id: &str, parameters: &Value) -> Value {
    json!({
        "toolId": id, "version": "0.1.0", "description": "d", "category": "action",
        "sideEffects": "writes", "idempotent": false, "requiresConfirmation": true,
        "allowedModes": ["text"], "latencyBudgetMs": 5000, "parameters": parameters,
        "redaction": {"allow": []},
    })
}

/// One property comes out like this, with these keywords lost.
#[track_caller]
fn check(property: Value, expected: Value, lost: &[&str]) {
    let parameters =
        json!({"type": "object", "properties": {"p": property}, "additionalProperties": false});
    let (tool, losses) = super::adm(&registry([contract("t", &parameters)]));
    let tool = serde_json::to_value(tool.unwrap()).unwrap();
    assert_eq!(tool["function_declarations"][0]["parameters"]["properties"]["p"], expected);
    let found: Vec<&str> = losses.iter().map(|loss| loss.keyword.as_str()).collect();
    assert_eq!(found, lost, "{property}");
}

#[test]
fn the_data_model_says_what_it_can() {
    for (property, expected, lost) in [
        (
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": "STRING", "enum": ["a"]}),
            &[][..],
        ),
        (json!({"const": "a", "type": "string"}), json!({"type": "STRING", "enum": ["a"]}), &[]),
        (
            json!({"type": "integer", "minimum": 1, "default": 2}),
            json!({"type": "INTEGER"}),
            &["minimum", "default"],
        ),
        (json!({"type": "integer", "enum": [1]}), json!({"type": "INTEGER"}), &["enum"]),
        (json!({"type": ["string", "null"]}), json!({"type": "STRING"}), &["type"]),
        (
            json!({"anyOf": [{"type": "number"}, {"type": "null"}]}),
            json!({"type": "NUMBER"}),
            &["anyOf"],
        ),
        (
            json!({"anyOf": [{"type": "number"}, {"type": "string"}]}),
            json!({"type": "STRING"}),
            &["type", "anyOf"],
        ),
        (json!({}), json!({"type": "STRING"}), &["type"]),
        (
            json!({"type": "array"}),
            json!({"type": "ARRAY", "items": {"type": "STRING"}}),
            &["items"],
        ),
        (
            json!({"type": "string", "format": "date", "pattern": "x"}),
            json!({"type": "STRING"}),
            &["format", "pattern"],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"], "additionalProperties": false}),
            json!({"type": "OBJECT", "properties": {"a": {"type": "BOOLEAN"}}, "required": ["a"]}),
            &[],
        ),
    ] {
        check(property, expected, lost);
    }
}

#[test]
fn a_tool_that_the_data_model_cannot_express_does_not_stop_the_rest() {
    let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}});
    let tree = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node},
    });
    let flat = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"a": {"$ref": "#/$defs/word", "description": "first"}, "b": {"$ref": "#/$defs/word"}},
        "$defs": {"word": {"type": "string", "description": "a word"}},
    });
    let (tool, losses) = super::adm(&registry([contract("tree", &tree), contract("flat", &flat)]));
    let tool = tool.unwrap();
    assert!(tool.function("imported__tree").is_none());
    let flat = serde_json::to_value(tool.function("imported__flat").unwrap().parameters()).unwrap();
    assert_eq!(flat["properties"]["a"], json!({"type": "STRING", "description": "first"}));
    assert_eq!(flat["properties"]["b"], json!({"type": "STRING", "description": "a word"}));
    assert_eq!(losses.len(), 1);
    assert_eq!(losses[0].what, super::Lost::LeftOut);
    assert_eq!(super::adm(&registry([contract("tree", &tree)])).0, None);
}
