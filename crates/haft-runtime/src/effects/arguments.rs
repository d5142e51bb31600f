//! The arguments of a compensation or a probe, from the call that they are about.

use std::collections::BTreeMap;

use haft_core::contract::Argument;
use haft_core::ledger::EffectRecord;
use serde_json::{Map, Value};

/// Fills the mapping of the contract in.
///
/// # Errors
///
/// The place that a required value should come from is empty.
pub(super) fn fill(
    mapping: &BTreeMap<String, Argument>,
    record: &EffectRecord,
) -> Result<Value, String> {
    let mut filled = Map::new();
    for (name, argument) in mapping {
        match argument {
            Argument::Value { value } => {
                filled.insert(name.clone(), value.clone());
            }
            // An optional part of the call that was not there is left out again; the tool's own
            // contract says whether it can do without.
            Argument::From { from } => {
                if let Some(value) = find(from, record)? {
                    filled.insert(name.clone(), value.clone());
                }
            }
        }
    }
    Ok(Value::Object(filled))
}

fn find<'r>(pointer: &str, record: &'r EffectRecord) -> Result<Option<&'r Value>, String> {
    if let Some(rest) = pointer.strip_prefix("/arguments") {
        return Ok(record.effect.arguments.pointer(rest));
    }
    match (pointer.strip_prefix("/result"), &record.result) {
        (Some(rest), Some(result)) => Ok(result.pointer(rest)),
        (Some(_), None) => {
            Err("what it answered is not known, and its compensation needs that".into())
        }
        (None, _) => {
            Err(format!("`{pointer}` points neither into the arguments nor into the result"))
        }
    }
}
