//! Whether a value fits a schema.
//!
//! Nearly every schema of a definition is made of types, members and lists of values. Those are
//! decided here; compiling each of them for one look at one value would take most of the time of
//! an import. Whatever else a schema says is left to the validator.

use haft_core::digest::canonical;
use serde_json::{Map, Value};

use super::super::references::mentions_reference;
use super::super::table::types_of;
use haft_core::validator;

pub(super) fn fits(value: &Value, schema: &Value, defs: Option<&Value>) -> bool {
    simple(value, schema).unwrap_or_else(|| validates(value, schema, defs))
}

/// Keywords that are decided here, and those that say nothing about values.
const SIMPLE: &[&str] = &[
    "type",
    "enum",
    "const",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "description",
    "title",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
];

/// Nothing when the schema says more than this can decide.
fn simple(value: &Value, schema: &Value) -> Option<bool> {
    let members = match schema {
        Value::Bool(any) => return Some(*any),
        Value::Object(members) => members,
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => return None,
    };
    if members.keys().any(|keyword| !SIMPLE.contains(&keyword.as_str())) {
        return None;
    }
    let types = types_of(members);
    let right_type = types.is_empty() || types.iter().any(|name| is_type(value, name));
    let listed = members.get("enum").and_then(Value::as_array);
    let in_list = listed.is_none_or(|values| values.iter().any(|listed| same(listed, value)));
    let is_const = members.get("const").is_none_or(|constant| same(constant, value));
    if !(right_type && in_list && is_const) {
        return Some(false);
    }
    match value {
        Value::Array(elements) => members
            .get("items")
            .map_or(Some(true), |items| all(elements.iter().map(|element| simple(element, items)))),
        Value::Object(map) => object(map, members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(true),
    }
}

fn object(map: &Map<String, Value>, members: &Map<String, Value>) -> Option<bool> {
    let required = members.get("required").and_then(Value::as_array).into_iter().flatten();
    if !required.filter_map(Value::as_str).all(|name| map.contains_key(name)) {
        return Some(false);
    }
    let properties = members.get("properties");
    let others = members.get("additionalProperties").unwrap_or(&Value::Bool(true));
    all(map.iter().map(|(name, value)| {
        simple(value, properties.and_then(|known| known.get(name)).unwrap_or(others))
    }))
}

/// Whether all hold; nothing when one is undecided.
fn all(mut answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    answers.try_fold(true, |so_far, answer| answer.map(|answer| so_far && answer))
}

fn is_type(value: &Value, name: &str) -> bool {
    match (name, value) {
        ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null)
        | ("array", Value::Array(_))
        | ("object", Value::Object(_))
        | ("number", Value::Number(_)) => true,
        // 1.0 is an integer to JSON Schema.
        ("integer", Value::Number(number)) => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}

/// Equal as JSON values: 1 and 1.0 are.
fn same(one: &Value, other: &Value) -> bool {
    one == other || (!one.is_string() && canonical(one) == canonical(other))
}

/// Asks the validator, which fetches nothing and matches patterns in linear time.
fn validates(value: &Value, schema: &Value, defs: Option<&Value>) -> bool {
    let mut whole = schema.clone();
    // Compiling definitions that nothing refers to would take most of the time of an import.
    if mentions_reference(schema)
        && let (Value::Object(members), Some(defs)) = (&mut whole, defs)
    {
        members.insert("$defs".to_owned(), defs.clone());
    }
    validator::compile(&whole).is_ok_and(|compiled| compiled.is_valid(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop::sample::select(vec![
            json!(null),
            json!(true),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!("a"),
            json!("b"),
        ]);
        leaf.prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map("[ab]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn schema() -> impl Strategy<Value = Value> {
        let name = prop::sample::select(vec![
            "string", "integer", "number", "boolean", "null", "array", "object",
        ]);
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            name.prop_map(|name| json!({"type": name})),
            prop::collection::vec(value(), 1..3).prop_map(|values| json!({"enum": values})),
            value().prop_map(|value| json!({"const": value})),
        ];
        leaf.prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|items| json!({"type": ["array", "null"], "items": items})),
                (inner.clone(), inner).prop_map(|(a, others)| json!({
                    "properties": {"a": a}, "required": ["a"], "additionalProperties": others
                })),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_decided_here_is_what_the_validator_says(value in value(), schema in schema()) {
            prop_assert_eq!(simple(&value, &schema), Some(validates(&value, &schema, None)));
        }
    }
}
