//! What checking a value against a schema can cost, counted and never timed.
//!
//! Checking tries every schema that stands in place of another (`anyOf`, `contains`, …) on the same
//! value, and so takes at most as many steps as there are values, times the schemas that may be tried
//! on each. Both are bounded, and their product is not small enough by itself.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// So many steps a check may take: fractions of a second.
pub(super) const MOST_STEPS: u64 = 20_000_000;

/// So many faults may be found, as all of them are kept until the first is told.
pub(super) const MOST_FAULTS: u64 = 100_000;

/// Deeper than any schema that a reader lets through.
const MOST_DEPTH: usize = 256;

/// Keywords whose schemas are tried on a value that other schemas are tried on, too.
const IN_PLACE: [&str; 13] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "contains",
    "propertyNames",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// The schemas right below a schema, with the keyword that each stands under.
fn children(map: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    map.iter().flat_map(|(keyword, value)| {
        let below: Vec<&Value> = match (keyword.as_str(), value) {
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                list.iter().collect()
            }
            ("properties" | "patternProperties" | "dependentSchemas", Value::Object(map)) => {
                map.values().collect()
            }
            ("items" | "additionalProperties", schema) => vec![schema],
            (other, schema) if IN_PLACE.contains(&other) => vec![schema],
            _ => Vec::new(),
        };
        below.into_iter().map(move |schema| (keyword.as_str(), schema))
    })
}

/// What one value can cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// How many schemas may be tried on it.
    pub(super) steps: u64,
    /// How much may be found wrong with it.
    pub(super) faults: u64,
}

impl Cost {
    pub(super) fn of(schema: &Value) -> Self {
        let mut count = Count { root: schema, most: 1, known: HashMap::new() };
        let steps = count.schema(schema, 0).tried.saturating_add(1);
        Self { steps, faults: steps.saturating_mul(count.most) }
    }
}

/// How many schemas there are when every reference is followed; a value that is refused at
/// `u64::MAX` may have any number more.
#[must_use]
pub fn expanded(schema: &Value) -> u64 {
    Count { root: schema, most: 1, known: HashMap::new() }.schema(schema, 0).all
}

/// Of a schema and everything below it.
#[derive(Clone, Copy, Default)]
struct Size {
    all: u64,
    /// Those that stand in place of another, and the members of lists that are searched.
    tried: u64,
}

struct Count<'a> {
    root: &'a Value,
    /// The most that one schema by itself finds wrong with a value.
    most: u64,
    /// Each definition is counted once and reused, so counting costs no more than the schema is long,
    /// although what it counts may be 2^40. None while it is being counted.
    known: HashMap<&'a str, Option<Size>>,
}

impl<'a> Count<'a> {
    fn schema(&mut self, schema: &'a Value, depth: usize) -> Size {
        let Some(map) = schema.as_object() else { return Size { all: 1, tried: 0 } };
        if depth > MOST_DEPTH {
            return Size { all: u64::MAX, tried: u64::MAX };
        }
        let names = map.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        self.most = self.most.max((map.len() + names) as u64);
        let mut size = Size { all: 1, tried: searched(map) };
        for (keyword, child) in children(map) {
            let below = self.schema(child, depth + 1);
            size.all = size.all.saturating_add(below.all);
            let tried = if IN_PLACE.contains(&keyword) { below.all } else { below.tried };
            size.tried = size.tried.saturating_add(tried);
        }
        let target = self.reference(map, depth);
        let (all, tried) =
            (size.all.saturating_add(target.all), size.tried.saturating_add(target.tried));
        Size { all, tried }
    }

    fn reference(&mut self, map: &'a Map<String, Value>, depth: usize) -> Size {
        let found = map
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|target| Some((target, self.root.pointer(target.strip_prefix('#')?)?)));
        let Some((target, definition)) = found else { return Size::default() };
        match self.known.get(target) {
            Some(Some(done)) => *done,
            // It contains itself: how deep it goes depends on the value, whose depth is bounded.
            Some(None) => Size { all: 1, tried: 0 },
            None => {
                self.known.insert(target, None);
                let size = self.schema(definition, depth + 1);
                self.known.insert(target, Some(size));
                size
            }
        }
    }
}

/// How many members of an `enum` are compared one by one: texts alone are looked up.
fn searched(map: &Map<String, Value>) -> u64 {
    let list = map.get("enum").and_then(Value::as_array);
    list.filter(|list| !list.iter().all(Value::is_string)).map_or(0, |list| list.len() as u64)
}

/// How many values there are in one.
pub(super) fn values(value: &Value) -> u64 {
    match value {
        Value::Array(list) => list.iter().map(values).sum::<u64>() + 1,
        Value::Object(map) => map.values().map(values).sum::<u64>() + 1,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}
