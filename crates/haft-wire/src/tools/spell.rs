//! The last step: a lowered schema in the letters of Gemini and of ADM.
//!
//! Both spell types in capitals. Gemini's own type is `STRING`, `NUMBER`…; that is what its API
//! documents and its SDK sends, so nothing is converted between the two.

use serde_json::{Map, Value, json};

/// Gemini's Schema: types in capitals, `nullable` for null, closed objects unsaid.
pub(super) fn gemini(schema: Map<String, Value>) -> Map<String, Value> {
    let mut spelt = Map::with_capacity(schema.len());
    let mut nullable = false;
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("type", Value::String(name)) => {
                spelt.insert(keyword, json!(name.to_uppercase()));
            }
            ("type", Value::Array(names)) => {
                nullable |= names.iter().any(|name| name == "null");
                let real = names.iter().filter_map(Value::as_str).find(|name| *name != "null");
                spelt.insert(keyword, json!(real.unwrap_or("null").to_uppercase()));
            }
            ("enum", Value::Array(values)) => {
                let words: Vec<Value> =
                    values.into_iter().filter(|value| !value.is_null()).collect();
                spelt.insert(keyword, Value::Array(words));
            }
            ("anyOf", Value::Array(branches)) => {
                let is_null =
                    |branch: &Value| branch.get("type").is_some_and(|name| name == "null");
                nullable |= branches.iter().any(is_null);
                let real: Vec<Value> =
                    branches.into_iter().filter(|branch| !is_null(branch)).map(inner).collect();
                match <[Value; 1]>::try_from(real) {
                    Ok([Value::Object(one)]) => {
                        for (keyword, value) in one {
                            spelt.entry(keyword).or_insert(value);
                        }
                    }
                    Ok([other]) => {
                        spelt.insert(keyword, json!([other]));
                    }
                    Err(real) => {
                        spelt.insert(keyword, Value::Array(real));
                    }
                }
            }
            ("properties", Value::Object(members)) => {
                let members = members.into_iter().map(|(name, schema)| (name, inner(schema)));
                spelt.insert(keyword, Value::Object(members.collect()));
            }
            ("items", schema) => {
                spelt.insert(keyword, inner(schema));
            }
            ("additionalProperties", _) => {}
            (_, value) => {
                spelt.insert(keyword, value);
            }
        }
    }
    if nullable {
        spelt.insert("nullable".to_owned(), json!(true));
    }
    spelt
}

fn inner(schema: Value) -> Value {
    let Value::Object(map) = schema else { return schema };
    Value::Object(gemini(map))
}

/// ADM: Gemini's letters, and nothing beyond its six fields.
pub(super) fn adm(schema: Map<String, Value>) -> Map<String, Value> {
    let mut spelt = Map::with_capacity(schema.len());
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("type", Value::String(name)) => {
                spelt.insert(keyword, json!(name.to_uppercase()));
            }
            ("description" | "enum", value) => {
                spelt.insert(keyword, value);
            }
            ("required", value) if value.as_array().is_some_and(|names| !names.is_empty()) => {
                spelt.insert(keyword, value);
            }
            ("properties", Value::Object(members)) => {
                let members = members.into_iter().map(|(name, schema)| (name, adm_inner(schema)));
                spelt.insert(keyword, Value::Object(members.collect()));
            }
            ("items", schema) => {
                spelt.insert(keyword, adm_inner(schema));
            }
            _ => {}
        }
    }
    spelt
}

fn adm_inner(schema: Value) -> Value {
    let Value::Object(map) = schema else { return schema };
    Value::Object(adm(map))
}
