//! Small changes to a schema, at any depth.

use serde_json::{Value, json};

use super::schemas::{self, EDGES, References, SHELF};
use super::tape::Tape;
use super::values;

pub(super) fn mutate(root: &mut Value, tape: &mut Tape<'_>) {
    for _ in 0..=tape.below(2) {
        let places = places(root);
        let place = tape.pick(&places).clone();
        let references = references(&place);
        if let Some(schema) = root.pointer_mut(&place) {
            change(schema, tape, references);
        }
    }
}

/// Directly on the shelf, a reference could lead back to where it stands.
fn references(place: &str) -> References {
    let smaller = ["/properties/", "/items", "/prefixItems/", "/additionalProperties"];
    if place.starts_with("/$defs/") && !smaller.iter().any(|step| place.contains(step)) {
        References::Forbidden
    } else {
        References::Allowed
    }
}

fn change(schema: &mut Value, tape: &mut Tape<'_>, references: References) {
    let Value::Object(keywords) = schema else {
        *schema = schemas::schema(tape, 2, references);
        return;
    };
    let present: Vec<String> =
        keywords.keys().filter(|keyword| *keyword != "$defs").cloned().collect();
    match (tape.below(5), present.is_empty()) {
        (0 | 1, _) | (_, true) => {
            let (keyword, value) = schemas::keyword(tape, 2, references);
            keywords.insert(keyword.into(), value);
        }
        (2, false) => {
            keywords.shift_remove(tape.pick(&present));
        }
        (_, false) => {
            let keyword = tape.pick(&present).clone();
            if let Some(at) =
                EDGES.iter().position(|edge| *edge == keyword).filter(|_| tape.one_in(2))
            {
                let edge = keywords.shift_remove(&keyword).unwrap_or_default();
                keywords.insert(EDGES[at ^ 1].into(), edge);
                return;
            }
            let changed = nudge(&keyword, &keywords[&keyword], tape, references);
            keywords.insert(keyword, changed);
        }
    }
}

/// The same keyword with a value nearby.
fn nudge(keyword: &str, value: &Value, tape: &mut Tape<'_>, references: References) -> Value {
    match (keyword, value) {
        ("const", _) => values::value(tape, 2),
        ("multipleOf", _) => tape.pick(&[json!(1), json!(2), json!(4), json!(0.5)]).clone(),
        ("minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum", Value::Number(n)) => {
            json!(n.as_f64().unwrap() + tape.pick(&[-1.0, -0.5, 0.5, 1.0]))
        }
        (_, Value::Number(n)) => {
            let n = n.as_u64().unwrap();
            json!(if tape.one_in(2) { n + 1 } else { n.saturating_sub(1) })
        }
        ("type", Value::String(name)) if name == "integer" => json!("number"),
        ("type", Value::String(name)) if name == "number" => json!("integer"),
        ("type", Value::String(name)) if name != "null" => json!([name, "null"]),
        ("type", Value::Array(names)) => names[0].clone(),
        ("enum", Value::Array(list)) => resized(list, values::value(tape, 2), tape),
        ("required", Value::Array(list)) => resized(list, json!(*tape.pick(&schemas::NAMES)), tape),
        ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
            resized(list, schemas::schema(tape, 2, references), tape)
        }
        ("properties", Value::Object(map)) => {
            let mut map = map.clone();
            let name = *tape.pick(&schemas::NAMES);
            if map.shift_remove(name).is_none() {
                map.insert(name.into(), schemas::schema(tape, 2, References::Allowed));
            }
            Value::Object(map)
        }
        ("$ref", _) => json!(format!("#/$defs/{}", tape.pick(&SHELF))),
        (_, Value::Bool(set)) => json!(!set),
        (_, value) => value.clone(),
    }
}

fn resized(list: &[Value], more: Value, tape: &mut Tape<'_>) -> Value {
    let mut list = list.to_vec();
    if list.len() > 1 && tape.one_in(2) {
        list.remove(tape.below(list.len()));
    } else if !list.contains(&more) {
        list.push(more);
    }
    Value::Array(list)
}

/// Where schemas stand, inner ones first.
fn places(root: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(root, String::new(), &mut found);
    found
}

fn collect(schema: &Value, at: String, found: &mut Vec<String>) {
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match (keyword.as_str(), value) {
            (
                "properties" | "$defs" | "patternProperties" | "dependentSchemas",
                Value::Object(map),
            ) => {
                for (name, schema) in map {
                    collect(schema, format!("{at}/{keyword}/{name}"), found);
                }
            }
            ("anyOf" | "allOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                for (index, schema) in list.iter().enumerate() {
                    collect(schema, format!("{at}/{keyword}/{index}"), found);
                }
            }
            (
                "items"
                | "additionalProperties"
                | "contains"
                | "not"
                | "if"
                | "then"
                | "else"
                | "propertyNames",
                schema,
            ) => collect(schema, format!("{at}/{keyword}"), found),
            _ => {}
        }
    }
    found.push(at);
}
