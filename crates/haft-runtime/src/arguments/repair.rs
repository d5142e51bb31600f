//! How one value becomes another of the same meaning: the table of what is repaired.

use haft_core::contract::Fraction;
use serde_json::{Number, Value, json};

use super::plan::{Node, Target};
use super::{parse, time};

/// What a value becomes, and how that is called.
#[derive(Debug, PartialEq)]
pub(super) struct Repair {
    pub(super) after: Value,
    pub(super) code: &'static str,
}

/// Repairs a value that stands alone. `spelling` gives the text that a number was written as.
pub(super) fn scalar(
    node: &Node,
    value: &Value,
    fraction: Fraction,
    spelling: impl FnOnce(&Number) -> Option<String>,
) -> Option<Repair> {
    let repaired = match (node.target?, value) {
        (Target::Boolean, _) => boolean(value),
        (Target::Integer, _) => integer(value, fraction),
        (Target::Number, Value::String(text)) => {
            number(text).map(|number| repair(number, "string_to_number"))
        }
        (Target::Text, Value::Bool(truth)) => Some(repair(truth.to_string(), "boolean_to_string")),
        (Target::Text, Value::Number(number)) => {
            spelling(number).map(|text| repair(text, "number_to_string"))
        }
        (Target::Text, Value::String(text)) => listed(&node.choices, text),
        (Target::Timestamp, Value::String(text)) => {
            time::normalise(text).map(|text| repair(text, "timestamp_spelling"))
        }
        (Target::Uri, Value::String(text)) => Some(repair(text.trim(), "uri_trimmed")),
        (
            Target::Number
            | Target::Text
            | Target::Timestamp
            | Target::Uri
            | Target::Object
            | Target::List,
            _,
        ) => None,
    };
    repaired.filter(|repaired| repaired.after != *value && node.accepts(&repaired.after))
}

fn repair(after: impl Into<Value>, code: &'static str) -> Repair {
    Repair { after: after.into(), code }
}

fn boolean(value: &Value) -> Option<Repair> {
    match value {
        Value::String(text) if text.eq_ignore_ascii_case("true") => {
            Some(repair(true, "string_to_boolean"))
        }
        Value::String(text) if text.eq_ignore_ascii_case("false") => {
            Some(repair(false, "string_to_boolean"))
        }
        Value::Number(number) if !number.is_f64() => match number.as_u64() {
            Some(0) => Some(repair(false, "number_to_boolean")),
            Some(1) => Some(repair(true, "number_to_boolean")),
            Some(_) | None => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn integer(value: &Value, fraction: Fraction) -> Option<Repair> {
    let (number, code) = match value {
        Value::String(text) => (number(text)?, "string_to_integer"),
        Value::Number(number) => (number.clone(), "integer_spelling"),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    if !number.is_f64() {
        return Some(repair(number, code));
    }
    if let Some(whole) = whole(&number) {
        return Some(repair(whole, code));
    }
    match fraction {
        Fraction::Refuse => None,
        Fraction::Truncate => {
            let cut = Number::from_f64(number.as_f64()?.trunc())?;
            whole(&cut).map(|whole| repair(whole, "fraction_truncated"))
        }
    }
}

/// A float that is an integer, and one that every reader keeps.
pub(super) fn whole(number: &Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_991.0;
    let float = number.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and far below the limits of i64")]
    let integer = float as i64;
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(integer)
}

/// A text that is a number by JSON's own grammar: no `+5`, no `007`, no `1,000`, no `NaN`.
fn number(text: &str) -> Option<Number> {
    let outer = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_digit() || *b == b'-');
    if !outer(text.as_bytes().first()) || !outer(text.as_bytes().last()) {
        return None;
    }
    match parse::strictly(text, 1).ok()? {
        Value::Number(number) => Some(number),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

/// A listed word in another case or with space around it, if only one can be meant.
fn listed(choices: &[Value], text: &str) -> Option<Repair> {
    let folded = |text: &str| text.trim().to_lowercase();
    let wanted = folded(text);
    let mut alike = choices.iter().filter_map(Value::as_str).filter(|word| folded(word) == wanted);
    alike.next().filter(|_| alike.next().is_none()).map(|word| repair(word, "enum_spelling"))
}

/// What a repair is told to have done.
pub(super) fn told(code: &str) -> &'static str {
    match code {
        "string_to_boolean" | "number_to_boolean" => "read as a boolean; send `true` or `false`",
        "string_to_integer" => "read as an integer; send the number itself",
        "integer_spelling" => "written as an integer; send it without a fraction",
        "fraction_truncated" => "the fraction was cut off; send an integer",
        "string_to_number" => "read as a number; send the number itself",
        "boolean_to_string" | "number_to_string" => "taken as text; send a string",
        "enum_spelling" => "written as it is listed; send it exactly so",
        "timestamp_spelling" => "written as RFC 3339; send `2026-01-31T09:30:00Z`, say",
        "uri_trimmed" => "the space around it was taken away",
        "string_to_object" => "the string holds JSON; send the object itself",
        "string_to_array" => "the string holds JSON; send the list itself",
        "value_to_list" => "made a list of one; send a list",
        _ => "repaired",
    }
}

/// The most characters of a text, or bytes of anything else, that a warning repeats.
const MAX_SHOWN: usize = 200;

/// A value as a warning repeats it: whole where it is short.
pub(super) fn shown(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => json!(format!("{}…", text.get(..end).unwrap_or_default())),
            None => value.clone(),
        },
        Value::Array(list) if list.len() > MAX_SHOWN / 10 => {
            json!(format!("array({})", list.len()))
        }
        Value::Object(map) if map.len() > MAX_SHOWN / 10 => json!(format!("object({})", map.len())),
        Value::Array(list) => list.iter().map(shown).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(name, value)| (name.clone(), shown(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
