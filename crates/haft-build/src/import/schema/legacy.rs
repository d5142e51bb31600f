//! What other generations and dialects of JSON Schema say with other keywords: OpenAPI 3.0's
//! `nullable` and `example`, draft 4's boolean bounds, draft 7's list under `items`.

use serde_json::{Map, Value, json};

use super::super::log::Log;

pub(super) fn fix(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    nullable(members, at, log);
    example(members, at, log);
    bound(members, at, ("exclusiveMinimum", "minimum"), log);
    bound(members, at, ("exclusiveMaximum", "maximum"), log);
    tuple(members, at, log);
}

/// `nullable: true` beside a type is that type or null.
fn nullable(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    let what = match members.get("nullable") {
        None => return,
        Some(Value::Bool(true)) => match members.get("type") {
            Some(Value::String(name)) if name != "null" => {
                let value = json!([name, "null"]);
                log.set(members, at, ("type", value), "`nullable` is a type of its own here");
                log.take(members, at, "nullable", "`nullable` has become a type");
                return;
            }
            _ => "`nullable` needs a single `type` beside it",
        },
        Some(_) => "nothing is null unless its type says so",
    };
    log.remove(members, at, "nullable", what);
}

/// One `example` is a list of one.
fn example(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    if members.contains_key("examples") {
        return;
    }
    if let Some(value) = log.take(members, at, "example", "`example` has become `examples`") {
        log.set(members, at, ("examples", json!([value])), "this was `example`");
    }
}

/// `exclusiveMinimum: true` turns `minimum` into what `exclusiveMinimum` now says by itself.
fn bound(members: &mut Map<String, Value>, at: &str, names: (&str, &str), log: &mut Log) {
    let (exclusive, inclusive) = names;
    let Some(Value::Bool(is_exclusive)) = members.get(exclusive) else { return };
    let moves = *is_exclusive && members.get(inclusive).is_some_and(Value::is_number);
    let what = format!("`{exclusive}` is a number in JSON Schema 2020-12");
    log.take(members, at, exclusive, what.clone());
    if moves && let Some(limit) = log.take(members, at, inclusive, what.clone()) {
        log.set(members, at, (exclusive, limit), what);
    }
}

/// A list under `items` is what `prefixItems` says now, and `additionalItems` what `items` says.
fn tuple(members: &mut Map<String, Value>, at: &str, log: &mut Log) {
    if !members.get("items").is_some_and(Value::is_array) || members.contains_key("prefixItems") {
        return;
    }
    let what = "a list of schemas stands under `prefixItems` in JSON Schema 2020-12";
    let Some(list) = log.take(members, at, "items", what) else { return };
    // An empty list of schemas says nothing, and `prefixItems` may not be empty.
    if list.as_array().is_some_and(|list| !list.is_empty()) {
        log.set(members, at, ("prefixItems", list), what);
    }
    let what = "what follows a list stands under `items` in JSON Schema 2020-12";
    if let Some(rest) = log.take(members, at, "additionalItems", what) {
        log.set(members, at, ("items", rest), what);
    }
}
