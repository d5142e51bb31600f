//! Telling lowered schemas apart: which of them a value fits, and whether any value fits two.
//!
//! Kinds, listed values, names of members and bounds are looked at; patterns and formats are not.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Value};

/// References that follow one another, and schemas inside one another.
const DEEP: usize = 64;
/// No pair of schemas that anyone writes takes as many.
const STEPS: usize = 20_000;

/// The kind of a value in JSON Schema's words; integers are numbers.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

const KINDS: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

fn resolve<'s>(schema: &'s Value, defs: &'s Map<String, Value>) -> &'s Value {
    (0..DEEP).fold(schema, |schema, _| {
        schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|target| defs.get(target.strip_prefix("#/$defs/")?))
            .unwrap_or(schema)
    })
}

/// The definitions, and how many steps may still be taken: references multiply.
pub(crate) struct Look<'s> {
    defs: &'s Map<String, Value>,
    steps: Cell<usize>,
}

impl<'s> Look<'s> {
    pub(crate) fn new(defs: &'s Map<String, Value>) -> Self {
        Self { defs, steps: Cell::new(STEPS) }
    }

    /// One level deeper; nothing where that is too far.
    fn deeper(&self, left: usize) -> Option<usize> {
        self.steps.set(self.steps.get().checked_sub(1)?);
        left.checked_sub(1)
    }
}

/// Whether a value is what a lowered schema describes.
pub(crate) fn fits(schema: &Value, value: &Value, defs: &Map<String, Value>) -> bool {
    fits_within(schema, value, &Look::new(defs), DEEP)
}

fn fits_within(schema: &Value, value: &Value, look: &Look<'_>, left: usize) -> bool {
    let schema = resolve(schema, look.defs);
    let Some(left) = look.deeper(left) else { return false };
    if !kinds(schema, look, left).contains(&kind(value)) || !listed(schema, value) {
        return false;
    }
    if integers_only(schema) && value.is_f64() && value.as_f64().is_some_and(|n| n.fract() != 0.0) {
        return false;
    }
    if !within_bounds(schema, value) {
        return false;
    }
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array)
        && !branches.iter().any(|branch| fits_within(branch, value, look, left))
    {
        return false;
    }
    match value {
        Value::Object(members) => members_fit(schema, members, look, left),
        Value::Array(list) => {
            let places = schema.get("prefixItems").and_then(Value::as_array);
            let places = places.map_or(&[][..], Vec::as_slice);
            let further = list.iter().skip(places.len());
            places.iter().zip(list).all(|(place, value)| fits_within(place, value, look, left))
                && schema.get("items").is_none_or(|items| {
                    further.into_iter().all(|value| fits_within(items, value, look, left))
                })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn within_bounds(schema: &Value, value: &Value) -> bool {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let between = |size: f64, least: &str, most: &str| {
        bound(least).is_none_or(|least| size >= least)
            && bound(most).is_none_or(|most| size <= most)
    };
    match value {
        Value::Number(number) => number.as_f64().is_none_or(|number| {
            between(number, "minimum", "maximum")
                && bound("exclusiveMinimum").is_none_or(|end| number > end)
                && bound("exclusiveMaximum").is_none_or(|end| number < end)
        }),
        Value::String(text) => between(text.chars().count() as f64, "minLength", "maxLength"),
        Value::Array(list) => between(list.len() as f64, "minItems", "maxItems"),
        Value::Object(members) => between(members.len() as f64, "minProperties", "maxProperties"),
        Value::Null | Value::Bool(_) => true,
    }
}

fn members_fit(schema: &Value, members: &Map<String, Value>, look: &Look<'_>, left: usize) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let has_required = names(schema).all(|name| members.contains_key(name));
    has_required
        && members.iter().all(|(name, value)| match properties.and_then(|p| p.get(name)) {
            Some(property) => fits_within(property, value, look, left),
            None => !is_closed(schema),
        })
}

/// Whether a value is of a kind that a lowered schema describes.
pub(crate) fn same_kind(schema: &Value, value: &Value, defs: &Map<String, Value>) -> bool {
    kinds(schema, &Look::new(defs), DEEP).contains(&kind(value))
}

/// Whether no value fits both of two lowered schemas. `false` where that is not certain.
pub(crate) fn disjoint(one: &Value, other: &Value, look: &Look<'_>) -> bool {
    disjoint_within(one, other, look, DEEP)
}

fn disjoint_within(one: &Value, other: &Value, look: &Look<'_>, left: usize) -> bool {
    let (one, other) = (resolve(one, look.defs), resolve(other, look.defs));
    let Some(left) = look.deeper(left) else { return false };
    for (schema, against) in [(one, other), (other, one)] {
        if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
            return branches.iter().all(|branch| disjoint_within(branch, against, look, left));
        }
    }
    let theirs = kinds(other, look, left);
    let shared: Vec<&str> =
        kinds(one, look, left).into_iter().filter(|kind| theirs.contains(kind)).collect();
    shared.iter().all(|kind| match *kind {
        "object" => objects_disjoint(one, other, look, left),
        "array" => false,
        kind => values_disjoint(one, other, kind),
    })
}

fn objects_disjoint(one: &Value, other: &Value, look: &Look<'_>, left: usize) -> bool {
    let lacks = |closed: &Value, needs: &Value| {
        is_closed(closed) && names(needs).any(|name| property(closed, name).is_none())
    };
    let theirs: HashSet<&str> = names(other).collect();
    let differ = names(one).filter(|name| theirs.contains(name)).any(|name| {
        match (property(one, name), property(other, name)) {
            (Some(one), Some(other)) => disjoint_within(one, other, look, left),
            _ => false,
        }
    });
    lacks(one, other) || lacks(other, one) || differ
}

fn values_disjoint(one: &Value, other: &Value, kind_of: &str) -> bool {
    let of = |schema: &Value| {
        values(schema).map(|values| {
            values.into_iter().filter(|v| kind(v) == kind_of).cloned().collect::<Vec<_>>()
        })
    };
    match (of(one), of(other)) {
        (Some(one), Some(other)) => !one.iter().any(|value| other.contains(value)),
        (Some(none), None) | (None, Some(none)) => none.is_empty(),
        (None, None) => false,
    }
}

fn property<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

fn names(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn is_closed(schema: &Value) -> bool {
    schema.get("additionalProperties") == Some(&Value::Bool(false))
}

fn values(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        (None, _) => None,
    }
}

fn listed(schema: &Value, value: &Value) -> bool {
    values(schema).is_none_or(|values| values.contains(&value))
}

fn integers_only(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "integer")
}

/// The kinds of values that a lowered schema describes.
fn kinds(schema: &Value, look: &Look<'_>, left: usize) -> Vec<&'static str> {
    let schema = resolve(schema, look.defs);
    let Some(left) = look.deeper(left) else { return KINDS.to_vec() };
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        let mut all: Vec<&str> =
            branches.iter().flat_map(|branch| kinds(branch, look, left)).collect();
        all.sort_unstable();
        all.dedup();
        return all;
    }
    let word = |name: &str| {
        let name = if name == "integer" { "number" } else { name };
        KINDS.into_iter().find(|kind| *kind == name)
    };
    match (schema.get("type"), values(schema)) {
        (Some(Value::String(name)), _) => word(name).into_iter().collect(),
        (Some(Value::Array(names)), _) => {
            names.iter().filter_map(Value::as_str).filter_map(word).collect()
        }
        (_, Some(values)) => values.into_iter().map(kind).collect(),
        (_, None) => KINDS.to_vec(),
    }
}
