//! Values inside of a schema against the schema around them: `default`, `examples`, `enum`.

use serde_json::{Map, Value};

use super::keyword::types_of;
use crate::code;
use crate::diagnostic::{Findings, escape};
use crate::lint::paths;
use haft_core::validator;

/// Checks every sample, at any depth. The schema has no other errors.
pub(super) fn check(schema: &Value, at: &str, out: &mut Findings) {
    if !is_plain(schema)
        && let Err(why) = validator::compile(schema)
    {
        out.contract(&code::INVALID_SCHEMA, at.to_owned(), format!("not a valid schema: {why}"));
        return;
    }
    walk(schema, schema, at.to_owned(), out);
}

/// Whether the walk over the keywords has seen all that could be wrong. References, patterns and
/// combinations are held against the validator as well, so that nothing reaches it for the first
/// time at run time.
fn is_plain(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().all(|(keyword, value)| match keyword.as_str() {
            "type" | "description" | "title" | "required" | "enum" | "default" | "examples"
            | "minimum" | "maximum" | "minLength" | "maxLength" | "minItems" | "maxItems"
            | "uniqueItems" => true,
            "properties" => value.as_object().is_some_and(|map| map.values().all(is_plain)),
            "items" | "additionalProperties" => is_plain(value),
            _ => false,
        }),
        Value::Bool(_) => true,
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn walk(root: &Value, schema: &Value, at: String, out: &mut Findings) {
    let Some(map) = schema.as_object() else { return };
    values(root, map, &at, out);
    listed(map, &at, out);
    for (keyword, value) in map {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "dependentSchemas",
                Value::Object(inner),
            ) => {
                for (name, schema) in inner {
                    walk(root, schema, format!("{at}/{keyword}/{}", escape(name)), out);
                }
            }
            ("prefixItems" | "allOf" | "anyOf" | "oneOf", Value::Array(inner)) => {
                for (index, schema) in inner.iter().enumerate() {
                    walk(root, schema, format!("{at}/{keyword}/{index}"), out);
                }
            }
            // These hold data, whatever it looks like.
            ("default" | "examples" | "enum" | "const", _) => {}
            (_, Value::Object(_)) => walk(root, value, format!("{at}/{keyword}"), out),
            _ => {}
        }
    }
}

fn values(root: &Value, schema: &Map<String, Value>, at: &str, out: &mut Findings) {
    let mut samples: Vec<(String, &Value)> = Vec::new();
    if let Some(default) = schema.get("default") {
        samples.push((format!("{at}/default"), default));
    }
    for (index, example) in
        schema.get("examples").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        samples.push((format!("{at}/examples/{index}"), example));
    }
    if samples.is_empty() || trivially_fits(schema, &samples) {
        return;
    }
    // The subschema is judged where it stands, so that its references still lead to `$defs`.
    let alone = paths::standing(root, &Value::Object(schema.clone()));
    let Ok(validator) = validator::compile(&alone) else { return };
    for (place, sample) in samples {
        for (path, why) in validator::errors(&validator, sample) {
            let keyword = if place.ends_with("/default") { "default" } else { "example" };
            let whose = if path.is_empty() { String::new() } else { format!(" at `{path}`") };
            let message = format!("the {keyword} does not fit its own schema{whose}: {why}");
            out.contract(&code::SAMPLE_MISMATCH, place.clone(), message);
        }
    }
}

/// Most samples are plain values of plain types; they need no compiled schema to be judged.
fn trivially_fits(schema: &Map<String, Value>, samples: &[(String, &Value)]) -> bool {
    let plain = schema.keys().all(|keyword| {
        matches!(
            keyword.as_str(),
            "type" | "description" | "title" | "default" | "examples" | "enum"
        )
    });
    let Some(types) = types_of(schema).filter(|_| plain) else { return false };
    let listed = schema.get("enum").and_then(Value::as_array);
    samples.iter().all(|(_, value)| {
        types.iter().any(|name| is(value, name)) && listed.is_none_or(|list| list.contains(value))
    })
}

fn listed(schema: &Map<String, Value>, at: &str, out: &mut Findings) {
    let Some(types) = types_of(schema) else { return };
    for (index, value) in
        schema.get("enum").and_then(Value::as_array).into_iter().flatten().enumerate()
    {
        if !types.iter().any(|name| is(value, name)) {
            let message = format!("{value} can never be sent: the type is {}", types.join(" or "));
            out.contract(&code::SAMPLE_MISMATCH, format!("{at}/enum/{index}"), message);
        }
    }
}

fn is(value: &Value, type_name: &str) -> bool {
    match type_name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}
