//! What `reg_describe` tells a model: the tool as that model was shown it.
//!
//! The runtime answers in the contract's words, which is what is recorded. A model that was shown a
//! list of `key` and `value` in place of a map would send what it reads here, and be refused.

use haft_core::Envelope;
use haft_runtime::guide::DESCRIBE;
use haft_runtime::toolbox::Catalog;
use haft_wire::{Description, Target};
use serde_json::{Map, Value, json};

use crate::prompt::OTHER_FORM;

/// The end of a call, with a description of a tool as this target shows the tool.
#[must_use]
pub fn as_shown(target: Target, catalog: &Catalog, tool: &str, mut envelope: Envelope) -> Envelope {
    if let Ok(Value::Object(said)) = &mut envelope.result
        && tool == DESCRIBE
    {
        reword(said, target, catalog);
    }
    envelope
}

fn reword(said: &mut Map<String, Value>, target: Target, catalog: &Catalog) {
    let id = said.get("tool").and_then(Value::as_str);
    let Some(known) = id.and_then(|id| catalog.get(id)) else { return };
    match target.describe(&known.tool) {
        Ok(Description { parameters, notes, changed }) => {
            said.insert("parameters".to_owned(), parameters);
            if !notes.is_empty() {
                said.insert("notes".to_owned(), json!(notes));
            }
            if let Some(Value::String(text)) = said.get_mut("documentation").filter(|_| changed) {
                text.push_str(OTHER_FORM);
            }
        }
        Err(why) => {
            let note = format!("this tool cannot be called by you: {}", why.reason);
            said.insert("notes".to_owned(), json!([note]));
        }
    }
}
