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
