//! What references cost when a validator follows them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keyword::{self, Holds};

/// References may multiply a schema; this bounds what validating it could cost.
pub(super) const MAX_EXPANDED: u64 = 100_000;

/// A definition that leads back to itself through two or more schemas that are applied to one and
/// the same value, or may be. Each level of the instance then doubles the work.
pub(super) fn forks(root: &Value) -> Option<&str> {
    let definitions = root.get("$defs").and_then(Value::as_object)?;
    let reach: HashMap<&str, HashSet<&str>> =
        definitions.iter().map(|(name, body)| (name.as_str(), reachable(root, body))).collect();
    definitions.iter().map(|(name, body)| (name.as_str(), body)).find_map(|(name, body)| {
        let leads_back = |schema: &Value| {
            names(schema).iter().any(|used| {
                *used == name || reach.get(used).is_some_and(|further| further.contains(name))
            })
        };
        is_forked(body, &leads_back, 0).then_some(name)
    })
}

fn is_forked(schema: &Value, leads_back: &dyn Fn(&Value) -> bool, depth: usize) -> bool {
    let Some(map) = schema.as_object().filter(|_| depth < 256) else { return false };
    let back: Vec<&str> =
        children(map).filter(|(_, child)| leads_back(child)).map(|(keyword, _)| keyword).collect();
    let count = |keywords: &[&str]| back.iter().filter(|one| keywords.contains(one)).count();
    let any = |keywords: &[&str]| usize::from(count(keywords) > 0);
    let own = map.get("$ref").map(|target| serde_json::json!({ "$ref": target }));
    let in_place = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];
    let mut branches = count(&in_place) + usize::from(own.is_some_and(|own| leads_back(&own)));
    // What they have looked at is found out by trying them once more.
    if ["unevaluatedItems", "unevaluatedProperties"].iter().any(|word| map.contains_key(*word)) {
        branches *= 2;
    }
    // Members and elements, as far as two of these keywords can mean the same one.
    let elements = any(&["items", "prefixItems"]) + count(&["contains"]);
    let members = any(&["properties", "additionalProperties"]) + count(&["patternProperties"]);
    branches + elements.max(members) > 1
        || children(map)
            .filter(|(keyword, _)| *keyword != "$defs")
            .any(|(_, child)| is_forked(child, leads_back, depth + 1))
}

/// The definitions that a schema leads to, however far.
fn reachable<'a>(root: &'a Value, schema: &'a Value) -> HashSet<&'a str> {
    let mut found = HashSet::new();
    let mut next = names(schema);
    while let Some(name) = next.pop() {
        if found.insert(name) {
            next.extend(
                root.get("$defs").and_then(|defs| defs.get(name)).map(names).unwrap_or_default(),
            );
        }
    }
    found
}

/// The definitions that a schema refers to by itself.
fn names(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(map) = open.pop().map(Value::as_object) {
        let Some(map) = map else { continue };
        let target = map.get("$ref").and_then(Value::as_str);
        found.extend(target.and_then(|target| target.strip_prefix("#/$defs/")));
        open.extend(children(map).map(|(_, child)| child));
    }
    found
}

/// The schemas right below a schema, with the keyword that each stands under.
fn children(map: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    map.iter().flat_map(|(keyword, value)| {
        let below: Vec<&Value> = match (keyword::holds(keyword), value) {
            (Some(Holds::Schema), schema) => vec![schema],
            (Some(Holds::Schemas), Value::Array(list)) => list.iter().collect(),
            (Some(Holds::SchemaMap), Value::Object(map)) => map.values().collect(),
            _ => Vec::new(),
        };
        below.into_iter().map(move |schema| (keyword.as_str(), schema))
    })
}
