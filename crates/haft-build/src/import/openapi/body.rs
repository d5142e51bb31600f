//! The body of a request: its members become parameters where that says the same.

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::arguments::{Arguments, other_media, spell};
use super::media::{self, Chosen, Kind};
use super::{Operation, form};

/// Adds the body to the arguments. Returns its content, for examples.
pub(super) fn add<'a>(
    operation: &Operation<'a>,
    arguments: &mut Arguments,
    log: &mut Log,
) -> Result<Option<&'a Value>, String> {
    let Some(body) = operation.members.get("requestBody") else { return Ok(None) };
    let body = operation.source.follow(body)?;
    if matches!(operation.method, "get" | "head") {
        log.note(Severity::Dropped, "/requestBody", "a body has no meaning when only reading");
        return Ok(None);
    }
    let (chosen, others) = media::choose(operation.source, body);
    let Some(chosen) = chosen else { return unsendable(&others).map(|()| None) };
    other_media(&chosen, &others, "/requestBody/content", log);
    let required = body.get("required") == Some(&Value::Bool(true));
    match chosen.kind {
        Kind::Json | Kind::NamedJson => {
            as_json(operation, (body, required), &chosen, arguments, log)
        }
        Kind::Form => as_form(operation, (body, required), &chosen, arguments, log)?,
        Kind::Text | Kind::Bytes => as_it_is(body, required, &chosen, arguments, log),
    }
    Ok(Some(chosen.content))
}

/// A tool that cannot send what it is for is none.
fn unsendable(others: &[&str]) -> Result<(), String> {
    match others.first() {
        // No media type at all: then there is nothing to send.
        None => Ok(()),
        Some(media) => Err(format!(
            "its body is `{media}`, and JSON, forms, text and plain bytes are what haft sends; write \
             a handler for it"
        )),
    }
}

fn as_json(
    operation: &Operation<'_>,
    (body, required): (&Value, bool),
    chosen: &Chosen<'_>,
    arguments: &mut Arguments,
    log: &mut Log,
) {
    if chosen.kind == Kind::NamedJson {
        content_type(chosen.media, arguments);
    }
    let anything = Value::Object(Map::new());
    let schema = chosen.content.get("schema").unwrap_or(&anything);
    let clashes =
        |name: &String| spell(name) != *name || arguments.properties.contains_key(name.as_str());
    match members_of(operation, schema, required).filter(|(all, _)| !all.keys().any(clashes)) {
        Some((members, needed)) => {
            merge(members, &needed, arguments, log);
            unsaid(operation, body, schema, log);
        }
        None => arguments.body_from = Some(whole(body, schema, required, arguments, log)),
    }
}

fn as_form(
    operation: &Operation<'_>,
    (body, required): (&Value, bool),
    chosen: &Chosen<'_>,
    arguments: &mut Arguments,
    log: &mut Log,
) -> Result<(), String> {
    let anything = Value::Object(Map::new());
    let schema = chosen.content.get("schema").unwrap_or(&anything);
    arguments.encoding = Some("form");
    if members_of(operation, schema, required).is_some() {
        unsaid(operation, body, schema, log);
        return form::add(operation, (chosen.content, schema), None, arguments, log);
    }
    let name = whole(body, schema, required, arguments, log);
    form::add(operation, (chosen.content, schema), Some(&name), arguments, log)
}

/// Text and bytes are one parameter and say what they are.
fn as_it_is(
    body: &Value,
    required: bool,
    chosen: &Chosen<'_>,
    arguments: &mut Arguments,
    log: &mut Log,
) {
    let bytes = chosen.kind == Kind::Bytes;
    let schema = match bytes {
        true => {
            let what = format!("the bytes of the body are given in base64 (`{}`)", chosen.media);
            log.note(Severity::Changed, "/requestBody", what);
            let description = "What is sent, in base64.";
            json!({"type": "string", "contentEncoding": "base64", "description": description})
        }
        false => json!({"type": "string"}),
    };
    arguments.encoding = Some(if bytes { "base64" } else { "text" });
    // A name with a star in it names nothing that could be sent.
    if !chosen.media.contains('*') {
        content_type(chosen.media, arguments);
    }
    arguments.body_from = Some(whole(body, &schema, required, arguments, log));
}

fn content_type(media: &str, arguments: &mut Arguments) {
    arguments.headers.insert("Content-Type".to_owned(), json!({ "value": media }));
}

/// One parameter for the whole body.
fn whole(
    body: &Value,
    schema: &Value,
    required: bool,
    arguments: &mut Arguments,
    log: &mut Log,
) -> String {
    let mut schema = schema.clone();
    if let (Value::Object(members), Some(text)) = (&mut schema, body.get("description")) {
        members.entry("description").or_insert_with(|| text.clone());
    }
    let name = arguments.add("body", "whole", schema, required);
    log.note(Severity::Info, "/requestBody", format!("the whole body is the parameter `{name}`"));
    name
}

/// The members of a body that is nothing but a plain object, with the names of those it needs:
/// then a list of parameters says the same. An optional body whose members are required does not:
/// they are required only if there is a body.
fn members_of<'a>(
    operation: &Operation<'a>,
    schema: &'a Value,
    required: bool,
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
    let merges = !plain.keys().any(says_more)
        && plain.get("type").is_none_or(|name| name == "object")
        && (required || needed.is_empty());
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
