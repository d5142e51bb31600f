//! References that stay inside of the schema: whatever a `$ref` points to is copied under `$defs`.
//!
//! OpenAPI keeps schemas under `#/components/schemas`, draft 7 under `#/definitions`, generators
//! point at `#/properties/…`, and a tree points at `#`. A contract knows `$defs` only.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::pointer::{escape, fragment, unescape};
use super::{Refused, for_each_child, refuse, step};

const DEFS: &str = "#/$defs/";

/// More than this many definitions of one tool are no longer a tool.
const MOST: usize = 500;

/// Makes every reference a local one. Targets are looked up in `document`, or in the schema.
pub(super) fn make_local(
    schema: &mut Value,
    document: Option<&Value>,
    log: &mut Log,
) -> Result<(), Refused> {
    let mut local = Local { names: HashMap::new(), waiting: Vec::new(), taken: taken(schema) };
    let own =
        if document.is_none() && mentions_reference(schema) { Some(schema.clone()) } else { None };
    let Some(document) = document.or(own.as_ref()) else { return Ok(()) };
    local.visit(schema, "", log)?;
    let mut next = 0;
    while let Some((pointer, name)) = local.waiting.get(next).cloned() {
        next += 1;
        if next > MOST {
            return Err(refuse("", format!("it refers to more than {MOST} other schemas")));
        }
        let Some(target) = document.pointer(&pointer) else {
            return Err(refuse(&pointer, format!("`#{pointer}` leads nowhere; define it")));
        };
        let mut copy = without_defs(target);
        let at = step("/$defs", &name);
        add_definition(schema, &name, copy.clone(), log);
        local.visit(&mut copy, &at, log)?;
        if let Some(place) = schema.pointer_mut(&at) {
            *place = copy;
        }
    }
    if let Value::Object(members) = schema
        && local.moved_definitions()
    {
        log.take(members, "", "definitions", "definitions stand under `$defs`");
    }
    Ok(())
}

struct Local {
    /// Where a reference pointed → its name under `$defs`.
    names: HashMap<String, String>,
    waiting: Vec<(String, String)>,
    taken: Vec<String>,
}

impl Local {
    /// Rewrites the references of a schema that stands at `at`.
    fn visit(&mut self, schema: &mut Value, at: &str, log: &mut Log) -> Result<(), Refused> {
        let Value::Object(members) = schema else { return Ok(()) };
        if let Some(dynamic) = members
            .keys()
            .find(|key| key.ends_with("Ref") && key.starts_with('$'))
            .filter(|key| key.as_str() != "$ref")
        {
            return Err(refuse(
                &step(at, dynamic),
                format!("`{dynamic}` depends on who reads it; use `$ref`"),
            ));
        }
        if let Some(target) = members.get("$ref") {
            let target = target.as_str().unwrap_or_default().to_owned();
            self.rewrite(members, at, &target, log)?;
        }
        for_each_child(members, at, &mut |child, at, _| self.visit(child, at, log))
    }

    fn rewrite(
        &mut self,
        members: &mut Map<String, Value>,
        at: &str,
        target: &str,
        log: &mut Log,
    ) -> Result<(), Refused> {
        let Some(pointer) = fragment(target).filter(|p| p.is_empty() || p.starts_with('/')) else {
            let what = format!(
                "`{target}` is outside of the definition; nothing is fetched: bundle it into one file"
            );
            return Err(refuse(&step(at, "$ref"), what));
        };
        if let Some(name) = target.strip_prefix(DEFS)
            && !name.contains('/')
        {
            // It is where it should be, if it is there at all.
            return match self.taken.contains(&unescape(name)) {
                true => Ok(()),
                false => {
                    Err(refuse(&step(at, "$ref"), format!("`{target}` leads nowhere; define it")))
                }
            };
        }
        let name = self.name(&pointer);
        let value = json!(format!("{DEFS}{}", escape(&name)));
        log.set(members, at, ("$ref", value), "references lead to `$defs`");
        Ok(())
    }

    /// The name under `$defs` for what stands at `pointer`: its last step, made different from all
    /// others by a number where it must be.
    fn name(&mut self, pointer: &str) -> String {
        if let Some(name) = self.names.get(pointer) {
            return name.clone();
        }
        let last = pointer.rsplit('/').next().map(unescape).filter(|last| !last.is_empty());
        // What a URL cannot spell, a reference cannot either.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let wanted = last.unwrap_or_else(|| "root".to_owned());
        let wanted = wanted.replace(|c| !plain(c), "_");
        let name = std::iter::once(wanted.clone())
            .chain((2..).map(|n| format!("{wanted}_{n}")))
            .find(|name| !self.taken.contains(name))
            .unwrap_or(wanted);
        self.taken.push(name.clone());
        self.names.insert(pointer.to_owned(), name.clone());
        self.waiting.push((pointer.to_owned(), name.clone()));
        name
    }

    fn moved_definitions(&self) -> bool {
        self.names.keys().any(|pointer| pointer.starts_with("/definitions/"))
    }
}

fn taken(schema: &Value) -> Vec<String> {
    let defs = schema.get("$defs").and_then(Value::as_object);
    defs.into_iter().flat_map(Map::keys).cloned().collect()
}

/// Whether something in a schema refers to something else.
pub(super) fn mentions_reference(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.keys().any(|key| key.ends_with("Ref"))
                || map.keys().any(|key| key == "$ref")
                || map.values().any(mentions_reference)
        }
        Value::Array(list) => list.iter().any(mentions_reference),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A copy of the root would otherwise hold all definitions once more.
fn without_defs(target: &Value) -> Value {
    let mut copy = target.clone();
    if let Value::Object(members) = &mut copy {
        members.shift_remove("$defs");
        members.shift_remove("definitions");
    }
    copy
}

fn add_definition(schema: &mut Value, name: &str, definition: Value, log: &mut Log) {
    let Value::Object(members) = schema else { return };
    if !members.get("$defs").is_some_and(Value::is_object) {
        log.set(members, "", ("$defs", json!({})), "what references lead to stands under `$defs`");
    }
    if let Some(Value::Object(defs)) = members.get_mut("$defs") {
        log.set(defs, "/$defs", (name, definition), "what a reference leads to");
    }
}
