//! Samples that fit: every `enum` value, `const`, `default` and example is one that its own schema
//! accepts.

mod fit;

use std::collections::HashSet;

use haft_core::digest::canonical;
use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::super::text;
use super::keywords::holds_inexact;
use super::table::types_of;
use super::{Place, for_each_child, step};

/// Puts the samples of a schema right: from the inside out, since an outer sample is tried against
/// inner schemas, and definitions first, since anything may refer to them.
pub(super) fn fix(schema: &mut Value, log: &mut Log) {
    let mut defs = schema.get_mut("$defs").map(Value::take);
    if let Some(Value::Object(map)) = &mut defs {
        // Definitions refer to one another; each is tried against the others as they came.
        let before = Value::Object(map.clone());
        for (name, definition) in map {
            visit(definition, &step("/$defs", name), Some(&before), log);
        }
    }
    visit(schema, "", defs.as_ref(), log);
    if let (Value::Object(members), Some(defs)) = (schema, defs) {
        members.insert("$defs".to_owned(), defs);
    }
}

fn visit(schema: &mut Value, at: &str, defs: Option<&Value>, log: &mut Log) {
    let Value::Object(members) = schema else { return };
    let mut down = |child: &mut Value, at: &str, _: Place| {
        visit(child, at, defs, log);
        Ok::<(), std::convert::Infallible>(())
    };
    let Ok(()) = for_each_child(members, at, &mut down);
    move_enum(members, at, log);
    let tries = Tries { defs };
    tries.list(members, at, "enum", log);
    for name in ["const", "default"] {
        tries.one(members, at, name, log);
    }
    tries.list(members, at, "examples", log);
}

/// An `enum` beside `array` that lists what the elements may be belongs to the elements.
fn move_enum(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    let (["array"], Some(Value::Array(values))) =
        (types_of(members).as_slice(), members.get("enum"))
    else {
        return;
    };
    let items = members.get("items").cloned().unwrap_or_else(|| json!({}));
    let Value::Object(item) = &items else { return };
    let fits = |value: &Value| !value.is_array() && fit::fits(value, &items, None);
    if item.contains_key("enum") || item.contains_key("$ref") || !values.iter().all(fits) {
        return;
    }
    let what = "these are values of the elements, not of the list";
    let Some(values) = log.take(members, at, "enum", what) else { return };
    if !members.contains_key("items") {
        log.set(members, at, ("items", json!({})), what);
    }
    if let Some(Value::Object(items)) = members.get_mut("items") {
        log.set(items, &step(at, "items"), ("enum", values), what);
    }
}

struct Tries<'a> {
    defs: Option<&'a Value>,
}

impl Tries<'_> {
    /// Takes out a sample that does not fit.
    fn one(&self, members: &mut Map<String, Value>, at: &str, name: &str, log: &mut Log) {
        let Some(value) = members.get(name) else { return };
        if !self.fits(value, members, name) {
            let what = format!("`{name}` does not fit its own schema");
            log.remove(members, at, name, what);
        }
    }

    /// Takes the samples that do not fit, and repetitions, out of a list.
    fn list(&self, members: &mut Map<String, Value>, at: &str, name: &str, log: &mut Log) {
        let Some(Value::Array(values)) = members.get(name) else { return };
        let mut seen = HashSet::new();
        let fits =
            |value: &&Value| self.fits(value, members, name) && seen.insert(canonical(value));
        let kept: Vec<Value> = values.iter().filter(fits).cloned().collect();
        if kept.len() == values.len() {
            return;
        }
        if kept.is_empty() {
            let what = format!("nothing under `{name}` fits the schema");
            log.remove(members, at, name, what);
            return;
        }
        let what = format!("only what fits the schema stands under `{name}`, each once");
        let after = json!(kept);
        let before = members.insert(name.to_owned(), after.clone());
        log.record(Severity::Dropped, &step(at, name), what, (before, Some(after)));
    }

    fn fits(&self, value: &Value, members: &Map<String, Value>, name: &str) -> bool {
        if hides(value) || holds_inexact(value) {
            return false;
        }
        let mut schema = members.clone();
        // A list of values is tried against everything but itself; samples are not rules.
        for sample in ["default", "examples", name] {
            schema.shift_remove(sample);
        }
        fit::fits(value, &Value::Object(schema), self.defs)
    }
}

fn hides(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(text::is_hidden),
        Value::Array(list) => list.iter().any(hides),
        Value::Object(map) => {
            map.iter().any(|(name, value)| name.contains(text::is_hidden) || hides(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
