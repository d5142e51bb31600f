//! The parameters of an operation, put together into one object, with where each goes on the wire.

use serde_json::{Map, Value, json};

use super::super::function::drop_field;
use super::super::log::Log;
use super::super::pointer;
use super::super::report::Severity;
use super::{Operation, json_content};
use crate::lint::gateway::is_hosts_own;

/// Headers that OpenAPI says are none of a parameter's business.
const NOT_PARAMETERS: [&str; 3] = ["accept", "content-type", "authorization"];
/// The fields of a parameter that are read, or reported by name.
const READ: [&str; 12] = [
    "name",
    "in",
    "required",
    "schema",
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
    /// Slot of the path → parameter.
    pub(super) path: Map<String, Value>,
    pub(super) query: Map<String, Value>,
    pub(super) headers: Map<String, Value>,
    pub(super) body: Map<String, Value>,
    pub(super) body_from: Option<String>,
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
        one(parameter, (name, place), &mut arguments, log)?;
    }
    Ok(arguments)
}

fn one(
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
    if let Some(why) = not_carried(wire, place) {
        log.note(Severity::Dropped, &at, format!("the {place} parameter `{wire}`: {why}"));
        return Ok(());
    }
    let said = parameter.get("required") == Some(&Value::Bool(true));
    let Some(schema) = schema_of(parameter, &at, log) else {
        if said {
            return Err(format!("the required parameter `{wire}` has no plain schema"));
        }
        let what = format!("`{wire}` is not carried over: it has no plain schema");
        log.note(Severity::Dropped, &at, what);
        return Ok(());
    };
    let name = arguments.add(wire, place, schema, said || place == "path");
    if name != wire {
        let what = format!("the {place} parameter `{wire}` is the tool's `{name}`");
        log.note(Severity::Changed, &at, what);
    }
    if let Some(shown) = example_of(parameter) {
        arguments.shown.insert(name.clone(), shown.clone());
    }
    let wires = match place {
        "path" => &mut arguments.path,
        "query" => &mut arguments.query,
        _ => &mut arguments.headers,
    };
    wires.insert(wire.to_owned(), json!(name));
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

/// The parameter's schema, with what the parameter itself says of it.
fn schema_of(parameter: &Value, at: &str, log: &mut Log) -> Option<Value> {
    for field in ["style", "explode", "allowReserved", "allowEmptyValue"] {
        if let Some(value) = parameter.get(field) {
            let what = format!("`{field}` is not carried over: values are sent the usual way");
            log.record(
                Severity::Dropped,
                &format!("{at}/{field}"),
                what,
                (Some(value.clone()), None),
            );
        }
    }
    let mut schema = parameter.get("schema").filter(|schema| schema.is_object())?.clone();
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
    Some(schema)
}

/// A value that the document shows for a parameter, a body or the like.
pub(super) fn example_of(holder: &Value) -> Option<&Value> {
    let named = || holder.get("examples").and_then(Value::as_object)?.values().next()?.get("value");
    holder
        .get("example")
        .or_else(named)
        .or_else(|| holder.pointer("/schema/example"))
        .or_else(|| holder.pointer("/schema/examples/0"))
}

/// The media types of a body that are left out.
pub(super) fn other_media(holder: &Value, at: &str, log: &mut Log) {
    let (_, others) = json_content(holder);
    if !others.is_empty() {
        let what = format!("only JSON is carried over, not {}", others.join(", "));
        log.note(Severity::Dropped, at, what);
    }
}
