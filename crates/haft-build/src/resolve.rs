//! From the contract as written to the contract with every question answered.

use haft_core::Contract;
use haft_core::contract::{Effect, SideEffectPolicy, SideEffects};
use serde_json::{Map, Value, json};

use crate::lint::contract::OWN_CRATE;

/// Fills in what the toolset gives a default for.
pub(crate) fn with_defaults(contract: &mut Map<String, Value>, defaults: &Map<String, Value>) {
    for (field, value) in defaults {
        if !contract.contains_key(field) {
            contract.insert(field.clone(), value.clone());
        }
    }
}

/// Fills in what follows from the rest. The contract has passed every check, so an error here is
/// a check that is missing.
pub(crate) fn contract(mut raw: Map<String, Value>) -> Result<Contract, String> {
    raw.shift_remove("$schema");
    let writes = raw.get("sideEffects").and_then(Value::as_str) == Some("writes");
    let side_effects: SideEffects =
        serde_json::from_value(raw.get("sideEffects").cloned().unwrap_or_default())
            .map_err(|error| error.to_string())?;
    let idempotent = raw.get("idempotent").and_then(Value::as_bool).unwrap_or_default();
    let compensated = raw.contains_key("compensation");
    if !raw.contains_key("effect") {
        let effect = Effect::derive(side_effects, reaches_out(&raw));
        raw.insert("effect".into(), json!(effect));
    }
    if !raw.contains_key("sideEffectPolicy") {
        let policy = SideEffectPolicy::derive(side_effects, idempotent, compensated);
        raw.insert("sideEffectPolicy".into(), json!(policy));
    }
    arguments(&mut raw, writes);
    if let Some(Value::Object(handler)) = raw.get_mut("handler")
        && handler.get("crate").and_then(Value::as_str) == Some(OWN_CRATE)
    {
        handler.insert("crateVersion".into(), json!(env!("CARGO_PKG_VERSION")));
    }
    serde_json::from_value(Value::Object(raw)).map_err(|error| error.to_string())
}

fn reaches_out(raw: &Map<String, Value>) -> bool {
    let capabilities = raw.get("capabilities").and_then(Value::as_array);
    raw.contains_key("gateway")
        || raw.contains_key("connection")
        || capabilities
            .is_some_and(|list| list.iter().any(|name| name == "http" || name == "messaging"))
}

/// Lenient for tools that only read, strict for tools that write, unless the author says.
fn arguments(raw: &mut Map<String, Value>, writes: bool) {
    let usual = if writes { "strict" } else { "lenient" };
    let (mode, fraction) = match raw.get("arguments") {
        Some(Value::String(mode)) => (mode.clone(), "refuse".to_owned()),
        Some(Value::Object(said)) => {
            let word = |field: &str, usual: &str| {
                said.get(field).and_then(Value::as_str).unwrap_or(usual).to_owned()
            };
            (word("mode", usual), word("fraction", "refuse"))
        }
        _ => (usual.to_owned(), "refuse".to_owned()),
    };
    raw.insert("arguments".into(), json!({ "mode": mode, "fraction": fraction }));
}
