//! A body of form fields: each is a slot of `gateway.body`, written as the document says.

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::pointer;
use super::super::report::Severity;
use super::arguments::{Arguments, spell};
use super::style::{self, Place, Shape};
use super::{Operation, Source};

/// Branches of branches are looked into no deeper.
const DEEPEST: usize = 6;

/// Adds the fields of a form: as parameters of their own, or as members of the one parameter `whole`.
pub(super) fn add(
    operation: &Operation<'_>,
    (content, schema): (&Value, &Value),
    whole: Option<&str>,
    arguments: &mut Arguments,
    log: &mut Log,
) -> Result<(), String> {
    let source = operation.source;
    let fields = fields(source, schema);
    if fields.is_empty() {
        return Err("its form does not say which fields it has; write a handler for it".to_owned());
    }
    let schema = source.follow(schema).unwrap_or(schema);
    if schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
        let what = "fields of the form that the document does not name are not sent";
        log.note(Severity::Dropped, "/requestBody", what);
    }
    let needed = schema.get("required").and_then(Value::as_array);
    let is_needed = |name: &str| needed.is_some_and(|names| names.iter().any(|one| one == name));
    for (wire, schema) in &fields {
        let wire = wire.as_str();
        let at = pointer::step("/requestBody", wire);
        if schema.get("readOnly") == Some(&Value::Bool(true)) {
            log.note(Severity::Dropped, &at, format!("`{wire}` is read-only, so it is not sent"));
            continue;
        }
        let name = match whole {
            None => arguments.add(wire, "form", schema.clone(), is_needed(wire)),
            Some(whole) if spell(wire) == wire => format!("{whole}.{wire}"),
            Some(_) => {
                let what = format!("the field `{wire}` cannot be told from others by its name");
                match is_needed(wire) {
                    true => return Err(what + "; write a handler for it"),
                    false => log.note(Severity::Dropped, &at, what),
                }
                continue;
            }
        };
        if whole.is_none() && name != wire {
            let what = format!("the field `{wire}` is the tool's `{name}`");
            log.note(Severity::Changed, &at, what);
        }
        let slot = slot(source, (content, wire), (schema, &name), &at, log);
        arguments.body.insert(wire.to_owned(), slot);
    }
    Ok(())
}

/// What OpenAPI 3.0.4 and 3.1.1 make clear: a style that is written down counts; without one, an
/// object is JSON.
fn slot(
    source: &Source<'_>,
    (content, wire): (&Value, &str),
    (schema, name): (&Value, &str),
    at: &str,
    log: &mut Log,
) -> Value {
    let nothing = json!({});
    let said = content.get("encoding").and_then(|all| all.get(wire)).unwrap_or(&nothing);
    let styled =
        ["style", "explode", "allowReserved"].iter().any(|field| said.get(field).is_some());
    if styled {
        return style::slot(source, Place::Query, (said, schema), (name, at), log);
    }
    let is_json = said
        .get("contentType")
        .and_then(Value::as_str)
        .is_some_and(|media| media == "application/json" || media.ends_with("+json"));
    if is_json || Shape::of(source, schema).object {
        return json!({"from": name, "style": "json"});
    }
    json!(name)
}

/// The members of an object, those of its branches included.
fn fields<'a>(source: &Source<'a>, schema: &'a Value) -> Map<String, Value> {
    let mut found = Map::new();
    gather(source, schema, 0, &mut found);
    found
}

fn gather(source: &Source<'_>, schema: &Value, depth: usize, found: &mut Map<String, Value>) {
    let schema = source.follow(schema).unwrap_or(schema);
    let members = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in members.into_iter().flatten() {
        found.entry(name.as_str()).or_insert_with(|| schema.clone());
    }
    if depth >= DEEPEST {
        return;
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for branch in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            gather(source, branch, depth + 1, found);
        }
    }
}
