//! Arguments as text: lists and objects are written in the styles that OpenAPI names.
//!
//! Every value is encoded by itself, and the signs between values are ours. Where a service could not
//! tell the two apart, the call is refused.

mod names;

use haft_core::ToolError;
use haft_core::contract::{Slot, Style, Written};
use serde_json::Value;

use self::names::{Chosen, steps};
use super::template::{broken, encoded, filled, refused, scalar};
use crate::said::{shortened, visible};

pub(super) use self::names::meet;

/// Objects in objects are written no deeper.
const DEEPEST: usize = 8;

/// As much of a name is told.
const LONGEST_NAME: usize = 64;

/// One `name=value` of a query or a form, encoded.
#[derive(Debug)]
pub(super) struct Pair {
    name: String,
    value: String,
    /// The name as it was before, where the argument chose it.
    chosen: Option<Chosen>,
}

/// What a value consists of.
enum Parts<'v> {
    One(String),
    List(Vec<String>),
    Members(Vec<(&'v str, String)>),
}

/// What a query or a form is given under one name.
pub(super) fn pairs(name: &str, slot: &Slot, arguments: &Value) -> Result<Vec<Pair>, ToolError> {
    let Some(value) = filled(slot, arguments) else { return Ok(Vec::new()) };
    let pair = |value: String| Pair { name: encoded(name), value, chosen: None };
    let Slot::Written(how) = slot else {
        return match parts(name, value)? {
            Parts::One(text) => Ok(vec![pair(encoded(&text))]),
            Parts::List(list) => Ok(list.iter().map(|text| pair(encoded(text))).collect()),
            Parts::Members(_) => Err(unsayable(name)),
        };
    };
    let sign = if how.allow_reserved { with_reserved } else { encoded };
    match how.style {
        Style::Json => Ok(vec![pair(sign(&value.to_string()))]),
        Style::DeepObject => {
            let mut out = Vec::new();
            deep((name, value), 0, &mut out)?;
            let own = |(full, text): (String, String)| Pair {
                name: encoded(&full),
                value: sign(&text),
                // What stands behind the name, the argument chose.
                chosen: (full != name).then(|| Chosen::behind(name, &full)),
            };
            Ok(out.into_iter().map(own).collect())
        }
        Style::Form if how.is_exploded() => Ok(match parts(name, value)? {
            Parts::One(text) => vec![pair(sign(&text))],
            Parts::List(list) => list.iter().map(|text| pair(sign(text))).collect(),
            Parts::Members(members) => {
                let own = |(name, text): &(&str, String)| Pair {
                    name: encoded(name),
                    value: sign(text),
                    chosen: Some(Chosen::whole(name)),
                };
                members.iter().map(own).collect()
            }
        }),
        Style::Form => Ok(joined((name, value), (',', ","), sign)?.map(pair).into_iter().collect()),
        Style::SpaceDelimited => {
            Ok(joined((name, value), (' ', "%20"), sign)?.map(pair).into_iter().collect())
        }
        Style::PipeDelimited => {
            Ok(joined((name, value), ('|', "%7C"), sign)?.map(pair).into_iter().collect())
        }
        Style::Simple | Style::Label | Style::Matrix => Err(broken("a style of another place")),
    }
}

/// Pairs as they are sent. A name that an argument chose is none that the contract fills, nor a part of one.
pub(super) fn text(pairs: &[Pair], reserved: &[&String]) -> Result<String, ToolError> {
    let reserved: Vec<Vec<String>> = reserved.iter().map(|name| steps(name)).collect();
    let mut chosen = pairs.iter().filter_map(|pair| pair.chosen.as_ref());
    if let Some(taken) = chosen.find(|chosen| chosen.is_one_of(&reserved)) {
        let name = visible(&shortened(&taken.name, LONGEST_NAME));
        return Err(refused(&format!("`{name}` has a place of its own in this request")));
    }
    let all: Vec<String> = pairs.iter().map(|one| format!("{}={}", one.name, one.value)).collect();
    Ok(all.join("&"))
}

/// A slot of the path; nothing where the argument is missing or empty.
pub(super) fn segment(
    name: &str,
    slot: &Slot,
    arguments: &Value,
) -> Result<Option<String>, ToolError> {
    let Some(value) = filled(slot, arguments).filter(|value| **value != "") else {
        return Ok(None);
    };
    let (style, exploded) = match slot {
        Slot::Written(how) => (how.style, how.is_exploded()),
        Slot::Argument(_) | Slot::Fixed { .. } => (Style::Simple, false),
    };
    let wire = encoded(name);
    let (before, text) = match (style, exploded) {
        (Style::Json, _) => return Ok(Some(encoded(&value.to_string()))),
        (Style::Simple, _) => (String::new(), inner((name, value), (',', ""), exploded)?),
        (Style::Label, true) => (".".to_owned(), inner((name, value), ('.', ""), true)?),
        (Style::Label, false) => (".".to_owned(), inner((name, value), (',', ""), false)?),
        (Style::Matrix, true) => (";".to_owned(), inner((name, value), (';', &wire), true)?),
        (Style::Matrix, false) => (format!(";{wire}="), inner((name, value), (',', ""), false)?),
        (Style::Form | Style::SpaceDelimited | Style::PipeDelimited | Style::DeepObject, _) => {
            return Err(broken("a style of another place"));
        }
    };
    Ok(Some(text).filter(|text| !text.is_empty()).map(|text| format!("{before}{text}")))
}

/// Values with a sign between them, each with its name before it where it stands by itself.
fn inner(
    (name, value): (&str, &Value),
    (between, wire): (char, &str),
    exploded: bool,
) -> Result<String, ToolError> {
    let apart = |text: &str| {
        // Everything else that stands between values is escaped inside of them.
        match between == '.' && text.contains('.') {
            true => Err(mixed(name, between)),
            false => Ok(encoded(text)),
        }
    };
    let named = |text: String| if wire.is_empty() { text } else { format!("{wire}={text}") };
    let all: Vec<String> = match parts(name, value)? {
        Parts::One(text) => vec![named(encoded(&text))],
        Parts::List(list) => {
            list.iter().map(|text| apart(text).map(named)).collect::<Result<_, _>>()?
        }
        Parts::Members(members) => {
            let sign = if exploded { '=' } else { between };
            let one =
                |(key, text): &(&str, String)| Ok(format!("{}{sign}{}", apart(key)?, apart(text)?));
            members.iter().map(one).collect::<Result<_, ToolError>>()?
        }
    };
    Ok(all.join(&between.to_string()))
}

/// A header's value; nothing where the argument is missing. Headers have no escapes.
pub(super) fn line(
    name: &str,
    slot: &Slot,
    arguments: &Value,
) -> Result<Option<String>, ToolError> {
    let Some(value) = filled(slot, arguments) else { return Ok(None) };
    let written = match slot {
        Slot::Written(Written { style: Style::Json, .. }) => return Ok(Some(value.to_string())),
        Slot::Written(how) => Some(how),
        Slot::Argument(_) | Slot::Fixed { .. } => None,
    };
    let apart = |text: &str| match text.contains(',') {
        true => Err(mixed(name, ',')),
        false => Ok(text.to_owned()),
    };
    let all: Vec<String> = match (parts(name, value)?, written) {
        (Parts::One(text), _) => return Ok(Some(text)),
        (Parts::List(list), _) => list.iter().map(|text| apart(text)).collect::<Result<_, _>>()?,
        (Parts::Members(members), Some(how)) => {
            let sign = if how.is_exploded() { '=' } else { ',' };
            let one =
                |(key, text): &(&str, String)| Ok(format!("{}{sign}{}", apart(key)?, apart(text)?));
            members.iter().map(one).collect::<Result<_, ToolError>>()?
        }
        (Parts::Members(_), None) => return Err(unsayable(name)),
    };
    Ok(Some(all.join(",")).filter(|text| !text.is_empty()))
}

/// All values under one name; nothing for an empty list.
fn joined(
    (name, value): (&str, &Value),
    (sign, between): (char, &str),
    encode: fn(&str) -> String,
) -> Result<Option<String>, ToolError> {
    let texts: Vec<String> = match parts(name, value)? {
        Parts::One(text) => return Ok(Some(encode(&text))),
        Parts::List(list) => list,
        Parts::Members(members) => {
            members.into_iter().flat_map(|(key, text)| [key.to_owned(), text]).collect()
        }
    };
    // A comma between values is written as it is, and inside of them escaped.
    if sign != ',' && texts.iter().any(|text| text.contains(sign)) {
        return Err(mixed(name, sign));
    }
    let all: Vec<String> = texts.iter().map(|text| encode(text).replace(',', "%2C")).collect();
    Ok(Some(all.join(between)).filter(|_| !all.is_empty()))
}

/// `name[member]=value`, with more brackets for what is further inside and numbers for elements.
fn deep(
    (name, value): (&str, &Value),
    depth: usize,
    out: &mut Vec<(String, String)>,
) -> Result<(), ToolError> {
    if depth > DEEPEST {
        return Err(refused(&format!("`{name}` is nested too deep")));
    }
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                if key.contains(['[', ']']) {
                    return Err(refused(&format!(
                        "`{name}` has a member with a bracket in its name"
                    )));
                }
                deep((&format!("{name}[{key}]"), value), depth + 1, out)?;
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                deep((&format!("{name}[{index}]"), value), depth + 1, out)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let text = scalar(value).ok_or_else(|| unsayable(name))?;
            out.push((name.to_owned(), text));
        }
    }
    Ok(())
}

/// A member that is nothing is left out, as an argument is.
fn parts<'v>(name: &str, value: &'v Value) -> Result<Parts<'v>, ToolError> {
    let one = |value: &Value| scalar(value).ok_or_else(|| unsayable(name));
    match value {
        Value::Array(list) => Ok(Parts::List(list.iter().map(one).collect::<Result<_, _>>()?)),
        Value::Object(members) => {
            let there = members.iter().filter(|(_, value)| !value.is_null());
            let members = there.map(|(key, value)| Ok((key.as_str(), one(value)?)));
            Ok(Parts::Members(members.collect::<Result<_, ToolError>>()?))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Ok(Parts::One(one(value)?))
        }
    }
}

/// Leaves the signs that have a meaning in URLs, except those that could end a value of a query.
fn with_reserved(text: &str) -> String {
    let kept =
        |c: char| matches!(c, ':' | '/' | '?' | '@' | '!' | '$' | '(' | ')' | '*' | ',' | '=');
    let mut out = String::with_capacity(text.len());
    let mut bytes = [0; 4];
    for c in text.chars() {
        match kept(c) {
            true => out.push(c),
            false => out.push_str(&encoded(c.encode_utf8(&mut bytes))),
        }
    }
    out
}

fn unsayable(name: &str) -> ToolError {
    refused(&format!("`{name}` holds something that its place in the request cannot say"))
}

fn mixed(name: &str, sign: char) -> ToolError {
    let message = format!("a value of `{name}` holds the `{sign}` that stands between values");
    refused(&message)
}

#[cfg(test)]
mod tests;
