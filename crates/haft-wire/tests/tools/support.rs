//! Tools made of nothing but a schema, the public corpus, and the SDKs' own schemas.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use haft_core::contract::Contract;
use haft_core::registry::Implementation;
use haft_core::{Digest, Tool};
use haft_wire::{Dialect, Target};
use serde_json::{Value, json};

/// A tool with these parameters.
pub(crate) fn tool(id: &str, parameters: &Value) -> Tool {
    of_contract(
        &format!("test__{id}"),
        json!({
            "toolId": id, "version": "1.0.0", "description": "Does something.", "category": "action",
            "sideEffects": "writes", "idempotent": false, "requiresConfirmation": true,
            "allowedModes": ["text"], "latencyBudgetMs": 5000, "parameters": parameters,
            "redaction": {"allow": []},
        }),
    )
}

/// A tool of a contract that leaves out what the compiler fills in.
pub(crate) fn of_contract(id: &str, mut contract: Value) -> Tool {
    let defaults = json!({
        "effect": "state_change", "sideEffectPolicy": "irreversible",
        "arguments": {"mode": "strict", "fraction": "refuse"},
    });
    for (field, value) in defaults.as_object().unwrap() {
        if contract.get(field).is_none_or(|value| !value.is_object()) {
            contract[field] = value.clone();
        }
    }
    let contract: Contract = serde_json::from_value(contract).unwrap();
    Tool {
        id: id.to_owned(),
        digest: Digest::of_bytes(b""),
        parameters: haft_core::parameters::view(&contract.parameters),
        summary: String::new(),
        doc: String::new(),
        handler: Implementation::Unbound,
        contract,
    }
}

fn shared(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path)
}

/// A file that lies beside the workspace; not everyone has it, but CI does.
pub(crate) fn file(path: &str) -> Option<String> {
    let path = shared(path);
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if std::env::var_os("CI").is_some() => panic!("{}: {error}", path.display()),
        Err(error) => {
            eprintln!("skipped: {} is not there ({error})", path.display());
            None
        }
    }
}

/// The corpus as `haft import` reads it: each definition's id, and its tool.
pub(crate) fn corpus() -> Option<Vec<(String, Tool)>> {
    let text = file("corpora/bfcl_functions.json")?;
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let import = haft_build::import::functions(&text).unwrap();
    assert_eq!(import.tools.len(), all.len());
    let tools = import.tools.iter().zip(&all).map(|(imported, definition)| {
        let contract: Value = serde_json::from_str(imported.file("schema.json").unwrap()).unwrap();
        let id = format!("bfcl__{}", contract["toolId"].as_str().unwrap());
        (definition["id"].as_str().unwrap().to_owned(), of_contract(&id, contract))
    });
    Some(tools.collect())
}

/// The SDK type that a request's `tools` must be of.
pub(crate) fn kind(target: Target) -> Option<&'static str> {
    match target.dialect {
        Dialect::OpenAiChat => Some("openai.chat.tools"),
        Dialect::OpenAiResponses => Some("openai.responses.tools"),
        Dialect::OpenAiRealtime => Some("openai.realtime.tools"),
        Dialect::Anthropic => Some("anthropic.custom_tools"),
        Dialect::Gemini | Dialect::GeminiLive => Some("gemini.tools"),
        Dialect::Mcp => Some("mcp.2025-11-25.Tool"),
        Dialect::Adm => None,
    }
}

/// The SDKs' types as JSON Schemas, compiled once.
#[derive(Default)]
pub(crate) struct Types(HashMap<String, Option<jsonschema::Validator>>);

impl Types {
    /// What the SDK says about a value; nothing where its schemas are not there.
    pub(crate) fn errors(&mut self, kind: &str, value: &Value) -> Vec<String> {
        let validator = self.0.entry(kind.to_owned()).or_insert_with(|| {
            let text = file(&format!("wire/schemas/{kind}.schema.json"))?;
            Some(jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap())
        });
        let Some(validator) = validator else { return Vec::new() };
        validator
            .iter_errors(value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    /// What the SDK says about rendered tools.
    pub(crate) fn of_tools(&mut self, target: Target, tools: &Value) -> Vec<String> {
        let kind = kind(target);
        match (target.dialect, kind) {
            (Dialect::Mcp, Some(kind)) => tools
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|tool| {
                    let newer = self.errors("mcp.2026-07-28.Tool", tool);
                    [self.errors(kind, tool), newer].concat()
                })
                .collect(),
            (_, Some(kind)) => self.errors(kind, tools),
            (_, None) => match haft_adm::Tool::from_value(tools.clone()) {
                Ok(_) => Vec::new(),
                Err(errors) => vec![errors.to_string()],
            },
        }
    }
}
