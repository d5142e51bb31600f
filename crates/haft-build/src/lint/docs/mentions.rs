//! Parameters that a document speaks of: do they exist?

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::markdown::{Document, Word};
use crate::code;
use crate::diagnostic::{At, File, Findings};
use haft_core::nearest;

/// Checks the code words of a document.
///
/// Documents name many things in backticks: other tools, fields of a result, values. A word counts
/// as a parameter only when the text calls it one, or when it is a parameter's name misspelt.
pub(super) fn check(document: &Document, contract: &Value, out: &mut Findings) {
    let mut parameters = BTreeSet::new();
    let mut others = BTreeSet::new();
    collect(contract.get("parameters"), &mut parameters, &mut others);
    let mut ignored = BTreeSet::new();
    collect(contract.get("output"), &mut others, &mut ignored);
    others.extend(ignored);
    let known: Vec<&str> = parameters.iter().map(String::as_str).collect();
    let mut judged = HashMap::new();
    for word in &document.words {
        let name = head(&word.text);
        if !is_name(name) || parameters.contains(name) || others.contains(name) {
            continue;
        }
        let near = *judged.entry(name).or_insert_with(|| {
            nearest::find(name, known.iter().copied()).filter(|_| name.len() > 3)
        });
        if near.is_some() || is_called_parameter(word) {
            let message = format!("`{name}` is not a parameter of this tool");
            out.add(&code::UNKNOWN_PARAMETER, At::Bytes(File::Doc, word.place.clone()), message)
                .help(nearest::suggest(name, &known));
        }
    }
}

/// `top_k: 3` and `top_k=3` speak of `top_k`; `filters.type` of its last part.
fn head(text: &str) -> &str {
    let text = text.split([':', '=', ' ']).next().unwrap_or(text);
    text.rsplit('.').next().unwrap_or(text).trim_end_matches("[]")
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_called_parameter(word: &Word) -> bool {
    let called = |text: &str| matches!(text, "parameter" | "argument");
    called(&word.before) || called(&word.after)
}

fn collect(schema: Option<&Value>, names: &mut BTreeSet<String>, values: &mut BTreeSet<String>) {
    let Some(Value::Object(schema)) = schema else { return };
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(inner)) => {
                for (name, schema) in inner {
                    if keyword == "properties" {
                        names.insert(name.clone());
                    }
                    collect(Some(schema), names, values);
                }
            }
            ("enum" | "examples", Value::Array(list)) => {
                values.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                list.iter().for_each(|schema| collect(Some(schema), names, values));
            }
            (_, Value::Object(_)) => collect(Some(value), names, values),
            _ => {}
        }
    }
}
