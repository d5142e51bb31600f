//! The root of a tool's parameters: an object, closed, without names that are haft's own.

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::super::text;
use super::{Refused, children, refuse, step};
use crate::lint::schema::secret::is_reserved;

/// The schema to start from.
pub(super) fn begin(raw: Option<&Value>, log: &mut Log) -> Result<Value, Refused> {
    match raw {
        Some(schema @ Value::Object(_)) => Ok(schema.clone()),
        None | Some(Value::Null) => {
            let empty = json!({"type": "object", "properties": {}});
            let what = "the definition names no parameters, so it takes none";
            log.record(Severity::Changed, "", what, (raw.cloned(), Some(empty.clone())));
            Ok(empty)
        }
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(refuse("", "its parameters are not a schema; write an object schema"))
        }
    }
}

/// A root that only refers to a definition becomes that definition.
pub(super) fn follow(schema: &mut Value, log: &mut Log) -> Result<(), Refused> {
    // A chain longer than this goes round in a circle.
    for _ in 0..16 {
        let Some(target) = schema.get("$ref").and_then(Value::as_str) else { return Ok(()) };
        let pointer = target.strip_prefix('#').unwrap_or_default();
        let Some(Value::Object(found)) = schema.pointer(pointer).cloned() else {
            return Err(refuse("/$ref", format!("`{target}` is no object schema")));
        };
        let Value::Object(mut members) = schema.clone() else { return Ok(()) };
        members.shift_remove("$ref");
        for (name, value) in found {
            members.entry(name).or_insert(value);
        }
        log.replace(schema, "", Value::Object(members), "the root stands for what it refers to");
    }
    Err(refuse("/$ref", "its parameters refer to themselves in a circle"))
}

/// Makes the root a closed object.
pub(super) fn close(schema: &mut Value, log: &mut Log) -> Result<(), Refused> {
    let names = names_in_branches(schema);
    let Value::Object(members) = schema else {
        return Err(refuse("", "its parameters are not an object; write an object schema"));
    };
    match members.get("type") {
        Some(Value::String(name)) if name == "object" => {}
        None => log.set(members, "", ("type", json!("object")), "arguments are always an object"),
        Some(Value::Array(names)) if names.iter().any(|name| name == "object") => {
            log.set(members, "", ("type", json!("object")), "arguments are always an object");
        }
        Some(other) => {
            let what = format!("its parameters are {other}, and arguments are always an object");
            return Err(refuse("/type", what));
        }
    }
    if !members.contains_key("properties") {
        log.set(members, "", ("properties", json!({})), "the object has no members of its own");
    }
    open_branches(members, names, log);
    if members.get("additionalProperties") != Some(&Value::Bool(false)) {
        let what = "arguments that are not declared are refused";
        log.set(members, "", ("additionalProperties", json!(false)), what);
    }
    check_names(members)?;
    drop_reserved(members, log)
}

/// Members that only a branch declares would be refused by a closed root.
fn open_branches(members: &mut Map<String, Value>, names: Vec<String>, log: &mut Log) {
    let Some(Value::Object(properties)) = members.get_mut("properties") else { return };
    for name in names {
        if !properties.contains_key(&name) {
            let what = "declared by a branch, and allowed here so that the branch can be met";
            log.set(properties, "/properties", (&name, json!({})), what);
        }
    }
}

/// The members that branches of the root declare, through references and branches of branches.
fn names_in_branches(schema: &Value) -> Vec<String> {
    let mut names = Vec::new();
    branch_names(schema, schema, 0, &mut names);
    names
}

fn branch_names(schema: &Value, root: &Value, depth: usize, names: &mut Vec<String>) {
    if depth > 8 {
        return;
    }
    let one = ["if", "then", "else"].iter().filter_map(|keyword| schema.get(keyword));
    let several = ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|keyword| schema.get(keyword).and_then(Value::as_array))
        .flatten();
    for branch in one.chain(several) {
        let branch = branch
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|target| root.pointer(target.strip_prefix('#')?))
            .unwrap_or(branch);
        let declared = branch.get("properties").and_then(Value::as_object);
        for name in declared.into_iter().flat_map(Map::keys) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        branch_names(branch, root, depth + 1, names);
    }
}

/// A name that hides something cannot be shown, and renaming it would break the tool behind it.
fn check_names(members: &Map<String, Value>) -> Result<(), Refused> {
    let mut waiting = vec![members.get("properties"), members.get("$defs")];
    let mut schemas: Vec<&Value> = Vec::new();
    while let Some(map) = waiting.pop() {
        for (name, schema) in map.and_then(Value::as_object).into_iter().flatten() {
            if name.contains(text::is_hidden) {
                return Err(refuse(
                    "/properties",
                    "a parameter's name has characters that nobody can see",
                ));
            }
            schemas.push(schema);
        }
        while let Some(schema) = schemas.pop() {
            schemas.extend(children(schema));
            waiting.push(schema.get("properties"));
        }
    }
    Ok(())
}

fn drop_reserved(members: &mut Map<String, Value>, log: &mut Log) -> Result<(), Refused> {
    let is_reserved = |name: &str| is_reserved(name);
    let properties = members.get("properties").and_then(Value::as_object);
    let names: Vec<String> = properties
        .into_iter()
        .flat_map(Map::keys)
        .filter(|name| is_reserved(name))
        .cloned()
        .collect();
    let required = members.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for name in names {
        let at = step("/properties", &name);
        if required.iter().any(|required| *required == name) {
            let what = format!(
                "`{name}` is required, and haft never lets a model say it; use a connection or remove it"
            );
            return Err(refuse(&at, what));
        }
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            let what = format!("haft never lets a model say `{name}`");
            log.remove(properties, "/properties", &name, what);
        }
    }
    Ok(())
}
