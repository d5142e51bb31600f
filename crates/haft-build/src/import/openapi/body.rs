//! The JSON body of a request: its members become parameters where that says the same.

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::arguments::{Arguments, other_media, spell};
use super::{Operation, json_content};

/// Adds the body to the arguments. Returns its content, for examples.
pub(super) fn add<'a>(
    operation: &Operation<'a>,
    arguments: &mut Arguments,
    log: &mut Log,
) -> Result<Option<&'a Value>, String> {
    let Some(body) = operation.members.get("requestBody") else { return Ok(None) };
    let body = operation.source.follow(body)?;
    let required = body.get("required") == Some(&Value::Bool(true));
    other_media(body, "/requestBody/content", log);
    let Some(content) = json_content(body).0 else {
        if required {
            return Err("its body is required and not JSON; write a handler for it".to_owned());
        }
        log.note(Severity::Dropped, "/requestBody", "the body is not JSON, so none is sent");
        return Ok(None);
    };
    if matches!(operation.method, "get" | "head") {
        log.note(Severity::Dropped, "/requestBody", "a body has no meaning when only reading");
        return Ok(None);
    }
    let anything = Value::Object(Map::new());
    let schema = content.get("schema").unwrap_or(&anything);
    match members_of(operation, schema, required, arguments) {
        Some((members, needed)) => {
            merge(members, &needed, arguments, log);
            unsaid(operation, body, schema, log);
        }
        None => {
            let mut schema = schema.clone();
            if let (Value::Object(members), Some(text)) = (&mut schema, body.get("description")) {
                members.entry("description").or_insert_with(|| text.clone());
            }
            let name = arguments.add("body", "json", schema, required);
            let what = format!("the whole body is the parameter `{name}`");
            log.note(Severity::Info, "/requestBody", what);
            arguments.body_from = Some(name);
        }
    }
    Ok(Some(content))
}

/// The members of a body that is nothing but a plain object, with the names of those it needs:
/// then a list of parameters says the same. An optional body whose members are required does not:
/// they are required only if there is a body.
fn members_of<'a>(
    operation: &Operation<'a>,
    schema: &'a Value,
    required: bool,
    arguments: &Arguments,
) -> Option<(&'a Map<String, Value>, Vec<&'a str>)> {
    let plain = operation.source.follow(schema).ok()?.as_object()?;
    let says_more = |keyword: &String| {
        !matches!(
            keyword.as_str(),
            "type" | "properties" | "required" | "title" | "description" | "example" | "examples"
        ) && (keyword != "additionalProperties" || plain.get(keyword) != Some(&Value::Bool(false)))
            && !keyword.starts_with("x-")
    };
    let members = plain.get("properties")?.as_object().filter(|members| !members.is_empty())?;
    let needed = plain.get("required").and_then(Value::as_array);
    let needed: Vec<&str> = needed.into_iter().flatten().filter_map(Value::as_str).collect();
    let clashes = |name: &String| spell(name) != *name || arguments.properties.contains_key(name);
    let merges = !plain.keys().any(says_more)
        && plain.get("type").is_none_or(|name| name == "object")
        && (required || needed.is_empty())
        && !members.keys().any(clashes);
    merges.then_some((members, needed))
}

/// What is said about a body as a whole has no place once it is taken apart.
fn unsaid(operation: &Operation<'_>, body: &Value, schema: &Value, log: &mut Log) {
    let schema = operation.source.follow(schema).unwrap_or(schema);
    let of_schema = schema.as_object().into_iter().flatten();
    let of_schema = of_schema.filter(|(keyword, _)| {
        matches!(keyword.as_str(), "title" | "description") || keyword.starts_with("x-")
    });
    let of_body = body.as_object().into_iter().flatten();
    let of_body = of_body.filter(|(field, _)| !matches!(field.as_str(), "content" | "required"));
    for (field, value) in of_schema.chain(of_body) {
        let what = "said of the body as a whole, which is taken apart";
        let at = super::super::pointer::step("/requestBody", field);
        log.record(Severity::Dropped, &at, what, (Some(value.clone()), None));
    }
}

fn merge(members: &Map<String, Value>, needed: &[&str], arguments: &mut Arguments, log: &mut Log) {
    for (name, schema) in members {
        if schema.get("readOnly") == Some(&Value::Bool(true)) {
            let what = format!("`{name}` is read-only, so it is not sent");
            log.note(Severity::Dropped, &format!("/requestBody/{name}"), what);
            continue;
        }
        let name = arguments.add(name, "body", schema.clone(), needed.contains(&name.as_str()));
        arguments.body.insert(name.clone(), json!(name));
    }
}
