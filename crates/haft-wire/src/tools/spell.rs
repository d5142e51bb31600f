//! The last step: a lowered schema in the letters of Gemini and of ADM.
//!
//! Both spell types in capitals. Gemini's own type is `STRING`, `NUMBER`…; that is what its API
//! documents and its SDK sends, so nothing is converted between the two.

use serde_json::{Map, Value};

/// Gemini's Schema: types in capitals, `nullable` for null, closed objects unsaid.
pub(super) fn gemini(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut spelt = Map::with_capacity(schema.len() + 1);
    let mut nullable = false;
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("type", Value::String(name)) => set(&mut spelt, keyword, capitals(name)),
            ("type", Value::Array(names)) => {
                nullable |= names.iter().any(|name| name == "null");
                let real = names.iter().filter_map(Value::as_str).find(|name| *name != "null");
                set(&mut spelt, keyword, capitals(real.unwrap_or("null")));
            }
            ("enum", Value::Array(values)) => {
                let words = values.iter().filter(|value| !value.is_null()).cloned().collect();
                set(&mut spelt, keyword, Value::Array(words));
            }
            ("anyOf", Value::Array(branches)) => nullable |= either(&mut spelt, branches),
            ("properties", Value::Object(members)) => {
                set(&mut spelt, keyword, each(members, gemini));
            }
            ("items", schema) => set(&mut spelt, keyword, inner(schema, gemini)),
            ("additionalProperties", _) => {}
            (_, value) => set(&mut spelt, keyword, value.clone()),
        }
    }
    if nullable {
        set(&mut spelt, "nullable", Value::Bool(true));
    }
    spelt
}

/// Alternatives; one that is left alone stands in their place. Whether null was one of them.
fn either(spelt: &mut Map<String, Value>, branches: &[Value]) -> bool {
    let is_null = |branch: &&Value| branch.get("type").is_some_and(|name| name == "null");
    let real = branches.iter().filter(|branch| !is_null(branch));
    let mut real: Vec<Value> = real.map(|branch| inner(branch, gemini)).collect();
    match real.as_mut_slice() {
        [Value::Object(one)] => {
            for (keyword, value) in std::mem::take(one) {
                spelt.entry(keyword).or_insert(value);
            }
        }
        _ => set(spelt, "anyOf", Value::Array(real)),
    }
    branches.iter().any(|branch| is_null(&branch))
}

/// ADM: Gemini's letters, and nothing beyond its six fields.
pub(super) fn adm(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut spelt = Map::with_capacity(schema.len());
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("type", Value::String(name)) => set(&mut spelt, keyword, capitals(name)),
            ("description" | "enum", value) => set(&mut spelt, keyword, value.clone()),
            ("required", Value::Array(names)) if !names.is_empty() => {
                set(&mut spelt, keyword, value.clone());
            }
            ("properties", Value::Object(members)) => {
                set(&mut spelt, keyword, each(members, adm));
            }
            ("items", schema) => set(&mut spelt, keyword, inner(schema, adm)),
            _ => {}
        }
    }
    spelt
}

type Spell = fn(&Map<String, Value>) -> Map<String, Value>;

fn each(members: &Map<String, Value>, spell: Spell) -> Value {
    let mut all = Map::with_capacity(members.len());
    for (name, schema) in members {
        all.insert(name.clone(), inner(schema, spell));
    }
    Value::Object(all)
}

fn inner(schema: &Value, spell: Spell) -> Value {
    schema.as_object().map_or_else(|| schema.clone(), |map| Value::Object(spell(map)))
}

fn capitals(name: &str) -> Value {
    Value::String(name.to_ascii_uppercase())
}

fn set(spelt: &mut Map<String, Value>, keyword: &str, value: Value) {
    spelt.insert(keyword.to_owned(), value);
}
