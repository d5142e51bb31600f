//! The words that programming languages have for JSON's seven types.

use serde_json::{Map, Value, json};

use super::super::log::Log;

/// What a word for a type means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Type(&'static str),
    Anything,
    Unknown,
}

/// Languages differ in case as well (`String`, `STRING`), so the case of a word says nothing.
fn meaning(word: &str) -> Meaning {
    match word.to_ascii_lowercase().as_str() {
        "object" | "dict" | "dictionary" | "hashmap" | "map" | "record" => Meaning::Type("object"),
        "array" | "list" | "arraylist" | "tuple" | "set" | "vector" => Meaning::Type("array"),
        "string" | "str" | "char" | "text" => Meaning::Type("string"),
        "number" | "float" | "double" | "decimal" => Meaning::Type("number"),
        "integer" | "int" | "long" | "short" | "bigint" => Meaning::Type("integer"),
        "boolean" | "bool" => Meaning::Type("boolean"),
        "null" | "none" => Meaning::Type("null"),
        "any" | "" => Meaning::Anything,
        _ => Meaning::Unknown,
    }
}

/// Puts `type` into JSON Schema's words, or takes it out where it has none.
pub(super) fn fix(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    match members.get("type") {
        None => {}
        Some(Value::String(word)) => match meaning(word) {
            Meaning::Type(name) if name == word => {}
            Meaning::Type(name) => {
                let what = format!("the type `{word}` is `{name}` in JSON Schema");
                log.set(members, at, ("type", json!(name)), what);
            }
            Meaning::Anything => {
                let what = format!("the type `{word}` allows anything, so there is none");
                log.take(members, at, "type", what);
            }
            Meaning::Unknown => {
                let what = format!("`{word}` is no type of JSON Schema, so anything is allowed");
                log.remove(members, at, "type", what);
            }
        },
        Some(Value::Array(words)) => match several(words) {
            Some(names) if names == *words => {}
            Some(names) => {
                let value = if let [one] = names.as_slice() { one.clone() } else { json!(names) };
                log.set(
                    members,
                    at,
                    ("type", value),
                    "these types have other names in JSON Schema",
                );
            }
            None => {
                log.remove(members, at, "type", "one of these types allows anything");
            }
        },
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            log.remove(members, at, "type", "a type is a word or a list of words");
        }
    }
}

/// The types of a list, each once; nothing when one of them allows anything or none is known.
fn several(words: &[Value]) -> Option<Vec<Value>> {
    let mut names: Vec<Value> = Vec::new();
    for word in words {
        let Meaning::Type(name) = meaning(word.as_str()?) else { return None };
        if !names.iter().any(|known| known == name) {
            names.push(json!(name));
        }
    }
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::super::super::report::Part;
    use super::*;

    #[test]
    fn words_of_other_languages_are_translated() {
        for (word, expected) in [
            (json!("dict"), json!({"type": "object"})),
            (json!("HashMap"), json!({"type": "object"})),
            (json!("float"), json!({"type": "number"})),
            (json!("long"), json!({"type": "integer"})),
            (json!("tuple"), json!({"type": "array"})),
            (json!("ArrayList"), json!({"type": "array"})),
            (json!("STRING"), json!({"type": "string"})),
            (json!("any"), json!({})),
            (json!(""), json!({})),
            (json!("Quaternion"), json!({})),
            (json!(7), json!({})),
            (json!(["str", "string"]), json!({"type": "string"})),
            (json!(["float", "None"]), json!({"type": ["number", "null"]})),
            (json!(["string", "any"]), json!({})),
            (json!([]), json!({})),
        ] {
            let mut schema = json!({"type": word});
            let mut log = Log::new(Part::Parameters);
            fix(schema.as_object_mut().unwrap(), "", &mut log);
            assert_eq!(schema, expected, "{word}");
            assert_eq!(log.into_changes().len(), 1, "{word}");
        }
    }
}
