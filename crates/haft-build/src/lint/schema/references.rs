//! What references cost when a validator follows them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::keyword::{self, Holds};

/// References may multiply a schema; this bounds what validating it could cost.
pub(super) const MAX_EXPANDED: u64 = 100_000;

/// How many subschemas there are when every reference is followed, up to the limit.
///
/// Each definition is counted once and reused, so the count costs no more than the schema is long,
/// although what it counts may be 2^40.
pub(super) fn expanded(root: &Value) -> u64 {
    Count { root, known: HashMap::new() }.schema(root, 0)
}

struct Count<'a> {
    root: &'a Value,
    known: HashMap<&'a str, Option<u64>>,
}

impl<'a> Count<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> u64 {
        let Some(map) = schema.as_object() else { return 1 };
        if depth > 256 {
            return MAX_EXPANDED + 1;
        }
        // A definition counts where it is used.
        let inner = children(map)
            .filter(|(keyword, _)| *keyword != "$defs")
            .map(|(_, child)| self.schema(child, depth + 1))
            .fold(1, u64::saturating_add);
        inner.saturating_add(self.reference(map, depth))
    }

    fn reference(&mut self, map: &'a Map<String, Value>, depth: usize) -> u64 {
        let Some((target, definition)) = target(self.root, map) else { return 0 };
        match self.known.get(target) {
            Some(Some(done)) => *done,
            // It contains itself: how deep it goes depends on the instance, whose depth is bounded.
            Some(None) => 1,
            None => {
                self.known.insert(target, None);
                let size = self.schema(definition, depth + 1);
                self.known.insert(target, Some(size));
                size
            }
        }
    }
}

/// A definition that leads back to itself through two or more schemas that are applied to one and
/// the same value. Each level of the instance then doubles the work.
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
    let in_place = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];
    let branches = children(map)
        .filter(|(keyword, _)| in_place.contains(keyword))
        .filter(|(_, child)| leads_back(child))
        .count();
    let own = map.get("$ref").map(|target| serde_json::json!({ "$ref": target }));
    let own = own.is_some_and(|own| leads_back(&own));
    branches + usize::from(own) > 1
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

fn target<'a>(root: &'a Value, map: &'a Map<String, Value>) -> Option<(&'a str, &'a Value)> {
    let target = map.get("$ref").and_then(Value::as_str)?;
    Some((target, root.pointer(target.strip_prefix('#')?)?))
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
