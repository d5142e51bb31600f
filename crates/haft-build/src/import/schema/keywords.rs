//! Keywords that mean something, with values that they can have, on types that they are about.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::super::text;
use super::table::{self, Holds, Takes};
use super::{Place, step};
use crate::lint::schema::keyword::without_room;
use haft_core::validator::FORMATS;

/// Beyond this a double cannot tell one integer from the next.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// A pattern that compiles to more than this is a trap, not a format.
const PATTERN_SIZE: usize = 1 << 20;

pub(super) fn fix(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    let names: Vec<String> = members.keys().cloned().collect();
    for name in &names {
        if let Some(why) = fault(members, name) {
            log.remove(members, at, name, why);
        }
    }
    show_texts(members, at, log);
    drop_bad_patterns(members, at, log);
    let stuck: Vec<_> = without_room(members).collect();
    for (low, high) in stuck {
        let what = format!("`{low}` and `{high}` leave no room, so no value could fit");
        for name in [low, high] {
            if members.contains_key(name) {
                log.remove(members, at, name, what.clone());
            }
        }
    }
}

/// Why a keyword cannot stay.
fn fault(members: &Map<String, Value>, name: &str) -> Option<String> {
    let value = members.get(name)?;
    let Some((takes, about)) = table::find(name) else {
        return Some(match name {
            "optional" => "what is optional is not listed in `required`".to_owned(),
            _ => format!("`{name}` is no keyword of a contract's schema"),
        });
    };
    let types = table::types_of(members);
    let idle =
        !about.is_empty() && !types.is_empty() && !types.iter().any(|name| about.contains(name));
    if idle {
        return Some(format!("`{name}` says nothing about {}", types.join(" or ")));
    }
    wrong_value(takes, value).map(|what| format!("`{name}` {what}"))
}

fn wrong_value(takes: Takes, value: &Value) -> Option<String> {
    let fits = match takes {
        Takes::Anything => true,
        Takes::Text => value.is_string(),
        Takes::Flag => value.is_boolean(),
        Takes::Count => value.as_u64().is_some(),
        Takes::Number => value.is_number(),
        Takes::Step => value.as_f64().is_some_and(|step| step > 0.0),
        Takes::List => value.as_array().is_some_and(|list| !list.is_empty()),
        Takes::Names => is_names(value),
        Takes::NamesByName => value.as_object().is_some_and(|map| map.values().all(is_names)),
        Takes::Pattern => return pattern_fault(value),
        Takes::Format => {
            return match value.as_str() {
                Some(format) if FORMATS.contains(&format) => None,
                Some(format) => Some(format!("names `{format}`, which haft does not check")),
                None => Some("is no text".to_owned()),
            };
        }
        Takes::Subschemas(Holds::List) => value.as_array().is_some_and(|list| !list.is_empty()),
        Takes::Subschemas(Holds::Map) => value.is_object(),
        Takes::Subschemas(Holds::One | Holds::Nothing) => value.is_object() || value.is_boolean(),
    };
    match value.as_f64() {
        _ if !fits => Some("cannot have this value".to_owned()),
        Some(number) if takes != Takes::Anything && is_inexact(number) => {
            Some("is beyond the integers that every reader keeps exactly".to_owned())
        }
        _ => None,
    }
}

fn is_inexact(number: f64) -> bool {
    number.abs() > EXACT && number.fract() == 0.0
}

/// Whether a sample holds an integer that a reader could round.
pub(super) fn holds_inexact(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64().is_none_or(is_inexact),
        Value::Array(list) => list.iter().any(holds_inexact),
        Value::Object(map) => map.values().any(holds_inexact),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn is_names(value: &Value) -> bool {
    value.as_array().is_some_and(|names| names.iter().all(Value::is_string))
}

fn pattern_fault(value: &Value) -> Option<String> {
    let Some(pattern) = value.as_str() else { return Some("is no text".to_owned()) };
    if compiles(pattern) {
        return None;
    }
    Some("cannot be matched in linear time; look-around and back-references are not".to_owned())
}

fn compiles(pattern: &str) -> bool {
    !pattern.contains(text::is_hidden)
        && regex::RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().is_ok()
}

/// The names under `patternProperties` are patterns too.
fn drop_bad_patterns(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    let Some(Value::Object(patterns)) = members.get_mut("patternProperties") else { return };
    let at = step(at, "patternProperties");
    let bad: Vec<String> = patterns.keys().filter(|name| !compiles(name)).cloned().collect();
    for name in bad {
        log.remove(patterns, &at, &name, "this pattern cannot be matched in linear time");
    }
}

/// Texts for people and models show everything that is in them.
fn show_texts(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    for name in ["description", "title", "$comment"] {
        if let Some(clean) = members.get(name).and_then(Value::as_str).and_then(text::unhide) {
            let what = "characters that nobody can see were taken out";
            log.set(members, at, (name, json!(clean)), what);
        }
    }
}

/// `required` lists members that exist, each once. In a branch, or beside a reference, it may speak
/// of members that are declared elsewhere: there they are declared once more, with nothing said.
pub(super) fn fix_required(
    members: &mut Map<String, Value>,
    at: &str,
    place: Place,
    log: &mut Log,
) {
    if place == Place::Branch || members.keys().any(|key| is_elsewhere(key)) {
        declare(members, at, log);
    }
    let Some(Value::Array(names)) = members.get("required") else { return };
    let properties = members.get("properties").and_then(Value::as_object);
    let mut seen = HashSet::new();
    let kept: Vec<Value> = names
        .iter()
        .filter(|name| {
            let name = name.as_str().unwrap_or_default();
            properties.is_some_and(|known| known.contains_key(name)) && seen.insert(name)
        })
        .cloned()
        .collect();
    if kept.len() == names.len() {
        return;
    }
    let what = "only names of members that exist are required, each once";
    let after = json!(kept);
    let before = members.insert("required".to_owned(), after.clone());
    log.record(Severity::Dropped, &step(at, "required"), what, (before, Some(after)));
}

fn is_elsewhere(keyword: &str) -> bool {
    keyword == "$ref" || keyword == "patternProperties" || table::place(keyword) == Place::Branch
}

fn declare(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    let Some(Value::Array(names)) = members.get("required").cloned() else { return };
    for name in names.iter().filter_map(Value::as_str) {
        let what = "required here and declared elsewhere";
        if !members.contains_key("properties") {
            log.set(members, at, ("properties", json!({})), what);
        }
        if let Some(Value::Object(properties)) = members.get_mut("properties")
            && !properties.contains_key(name)
        {
            log.set(properties, &step(at, "properties"), (name, json!(true)), what);
        }
    }
}
