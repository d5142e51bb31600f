//! The parameters of an operation, put together into one object, with where each goes on the wire.

use serde_json::{Map, Value, json};

use super::super::function::drop_field;
use super::super::log::Log;
use super::super::pointer;
use super::super::report::Severity;
use super::media::{self, Chosen, Kind};
use super::style::{self, Place};
use super::{Operation, Source};
use crate::lint::gateway::is_hosts_own;

/// Headers that OpenAPI says are none of a parameter's business.
const NOT_PARAMETERS: [&str; 3] = ["accept", "content-type", "authorization"];
/// The fields of a parameter that are read, or reported by name.
const READ: [&str; 13] = [
    "name",
    "in",
    "required",
    "schema",
    "content",
    "description",
    "deprecated",
    "example",
    "examples",
    "style",
    "explode",
    "allowReserved",
    "allowEmptyValue",
];

/// What a tool takes, and how a request is made of it.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<String>,
    /// Slot of the path → what fills it.
    pub(super) path: Map<String, Value>,
    pub(super) query: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    pub(super) body: Map<String, Value>,
    pub(super) body_from: Option<String>,
    /// How the body is written, where it is not JSON.
    pub(super) encoding: Option<&'static str>,
    /// Values that the document shows for parameters.
    pub(super) shown: Map<String, Value>,
}

impl Arguments {
    /// The schema that they make.
    pub(super) fn schema(&self) -> Value {
        json!({"type": "object", "properties": self.properties, "required": self.required})
    }

    /// Adds a parameter under a name that a contract can refer to and nobody else has.
    pub(super) fn add(&mut self, wire: &str, place: &str, schema: Value, required: bool) -> String {
        let plain = spell(wire);
        let name = std::iter::once(plain.clone())
            .chain(std::iter::once(format!("{plain}_{place}")))
            .chain((2..).map(|n| format!("{plain}_{place}_{n}")))
            .find(|name| !self.properties.contains_key(name))
            .unwrap_or(plain);
        self.properties.insert(name.clone(), schema);
        if required {
            self.required.push(name.clone());
        }
        name
    }
}

/// Contracts write paths into arguments with `.` and `[]`, and slots with `{}`.
pub(super) fn spell(wire: &str) -> String {
    let special = |c: char| matches!(c, '.' | '[' | ']' | '{' | '}' | '/') || c.is_whitespace();
    let parts: Vec<&str> = wire.split(special).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "parameter".to_owned() } else { parts.join("_") }
}

/// The parameters of the path and of the operation; the operation's own count where both have one.
pub(super) fn gather(operation: &Operation<'_>, log: &mut Log) -> Result<Arguments, String> {
    let mut found: Vec<(&Value, &str, &str)> = Vec::new();
    for holder in [operation.item, operation.members] {
        let list = holder.get("parameters").and_then(Value::as_array);
        for parameter in list.into_iter().flatten() {
            let parameter = operation.source.follow(parameter)?;
            let text = |field: &str| parameter.get(field).and_then(Value::as_str);
            let (Some(name), Some(place)) = (text("name"), text("in")) else {
                return Err("a parameter has no `name` or no `in`; add them".to_owned());
            };
            found.retain(|(_, other, at)| (*other, *at) != (name, place));
            found.push((parameter, name, place));
        }
    }
    let mut arguments = Arguments::default();
    for (parameter, name, place) in found {
        if place == "path" && !operation.path.contains(&format!("{{{name}}}")) {
            let what = format!("the path parameter `{name}`: the path has no slot `{{{name}}}`");
            log.note(Severity::Dropped, &pointer::step("/parameters", name), what);
            continue;
        }
        one(operation.source, parameter, (name, place), &mut arguments, log)?;
    }
    Ok(arguments)
}

fn one(
    source: &Source<'_>,
    parameter: &Value,
    (wire, place): (&str, &str),
    arguments: &mut Arguments,
    log: &mut Log,
) -> Result<(), String> {
    let at = pointer::step("/parameters", wire);
    for (field, value) in parameter.as_object().into_iter().flatten() {
        if !READ.contains(&field.as_str()) {
            drop_field(field, value, &at, log);
        }
    }
    let required = parameter.get("required") == Some(&Value::Bool(true));
    if let Some(why) = not_carried(wire, place) {
        if required && !matches!(place, "header") {
            return Err(format!("its {place} parameter `{wire}` is required, and {why}"));
        }
        log.note(Severity::Dropped, &at, format!("the {place} parameter `{wire}`: {why}"));
        return Ok(());
    }
    let Some((schema, is_json)) = schema_of(source, parameter, &at, log) else {
        if required {
            return Err(format!("the required parameter `{wire}` has no plain schema"));
        }
        let what = format!("`{wire}` is not carried over: it has no plain schema");
        log.note(Severity::Dropped, &at, what);
        return Ok(());
    };
    let name = arguments.add(wire, place, schema.clone(), required || place == "path");
    if name != wire {
        let what = format!("the {place} parameter `{wire}` is the tool's `{name}`");
        log.note(Severity::Changed, &at, what);
    }
    if let Some(shown) = example_of(source, parameter) {
        arguments.shown.insert(name.clone(), shown.clone());
    }
    let (wires, place) = match place {
        "path" => (&mut arguments.path, Place::Path),
        "query" => (&mut arguments.query, Place::Query),
        _ => (&mut arguments.headers, Place::Header),
    };
    let slot = match is_json {
        true => json!({"from": name, "style": "json"}),
        false => style::slot(source, place, (parameter, &schema), (&name, &at), log),
    };
    wires.insert(wire.to_owned(), slot);
    Ok(())
}

/// Why a parameter is none of the tool's.
fn not_carried(wire: &str, place: &str) -> Option<&'static str> {
    let lower = wire.to_ascii_lowercase();
    match place {
        "path" | "query" => None,
        "header" if NOT_PARAMETERS.contains(&lower.as_str()) => {
            Some("OpenAPI gives it no meaning here")
        }
        "header" if is_hosts_own(&lower) => Some("it belongs to the connection"),
        "header" => None,
        "cookie" => Some("cookies are not sent"),
        _ => Some("haft knows no such place"),
    }
}

/// The parameter's schema, with what the parameter itself says of it, and whether its value is
/// written as JSON.
fn schema_of(
    source: &Source<'_>,
    parameter: &Value,
    at: &str,
    log: &mut Log,
) -> Option<(Value, bool)> {
    if let Some(value) = parameter.get("allowEmptyValue") {
        let what =
            "`allowEmptyValue` is not carried over: whether a text may be empty is its schema's";
        let at = format!("{at}/allowEmptyValue");
        log.record(Severity::Dropped, &at, what, (Some(value.clone()), None));
    }
    let plain = parameter.get("schema").filter(|schema| schema.is_object());
    let (schema, is_json) = match plain {
        Some(schema) => (schema, false),
        None => {
            let chosen = media::choose(source, parameter).0?;
            let is_json = match chosen.kind {
                Kind::Json | Kind::NamedJson => true,
                Kind::Text => false,
                Kind::Form | Kind::Bytes => return None,
            };
            (chosen.content.get("schema").filter(|schema| schema.is_object())?, is_json)
        }
    };
    let mut schema = schema.clone();
    if let Value::Object(members) = &mut schema {
        let said = [
            ("description", Value::is_string as fn(&Value) -> bool),
            ("deprecated", Value::is_boolean),
        ];
        for (field, fits) in said {
            if let Some(value) = parameter.get(field).filter(|value| fits(value)) {
                let before = members.insert(field.to_owned(), value.clone());
                if before.is_some_and(|before| before != *value) {
                    let what = format!("the parameter's own `{field}` counts, not its schema's");
                    log.note(Severity::Changed, &format!("{at}/schema/{field}"), what);
                }
            }
        }
    }
    Some((schema, is_json))
}

/// A value that the document shows for a parameter, a body or the like.
pub(super) fn example_of<'a>(source: &Source<'a>, holder: &'a Value) -> Option<&'a Value> {
    let named = || {
        let first = holder.get("examples").and_then(Value::as_object)?.values().next()?;
        source.follow(first).ok()?.get("value")
    };
    holder
        .get("example")
        .or_else(named)
        .or_else(|| holder.pointer("/schema/example"))
        .or_else(|| holder.pointer("/schema/examples/0"))
}

/// The media types of a body that are left out.
pub(super) fn other_media(chosen: &Chosen<'_>, others: &[&str], at: &str, log: &mut Log) {
    if !others.is_empty() {
        let what = format!("only `{}` is carried over, not {}", chosen.media, others.join(", "));
        log.note(Severity::Dropped, at, what);
    }
}
