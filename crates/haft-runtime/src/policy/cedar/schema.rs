//! The schema that policies are validated against, generated from the registries and the rules.
//!
//! Each tool is an action of its own, so that `context.arguments` has that tool's types. Only tools
//! that a policy names get one: validation looks at every policy under every action, and ten
//! thousand tools that nobody speaks of are one and the same case, the action `other`.

use std::collections::BTreeMap;

use cedar_policy::Schema;
use serde_json::{Map, Value, json};

use super::types::Record;

/// The group that every tool's action is in.
pub(crate) const CALL: &str = "call";
/// The action of every tool that has none of its own. No tool's id is without `__`.
pub(crate) const OTHER: &str = "other";

/// The schema in Cedar's JSON format.
pub(crate) fn json(user: &Record, tools: &BTreeMap<String, Record>) -> Value {
    let principal = json!({ "memberOfTypes": ["Tenant"] });
    let text = json!({ "type": "String" });
    let texts = json!({ "type": "Set", "element": text });
    let none = Record::default();
    let actions: Map<String, Value> = tools
        .iter()
        .map(|(id, arguments)| (id.as_str(), arguments))
        .chain([(OTHER, &none)])
        .map(|(id, arguments)| (id.to_owned(), action(user, arguments)))
        .chain([(CALL.to_owned(), json!({}))])
        .collect();
    json!({ "Haft": {
        "entityTypes": {
            "Tenant": {},
            "User": principal,
            "Agent": principal,
            "Service": principal,
            "Tool": { "shape": { "type": "Record", "attributes": {
                "id": text, "namespace": text, "category": text, "effect": text, "policy": text,
                "tags": texts, "modes": texts,
            } } },
        },
        "actions": actions,
    } })
}

fn action(user: &Record, arguments: &Record) -> Value {
    let optional = json!({ "type": "String", "required": false });
    json!({
        "memberOf": [{ "id": CALL }],
        "appliesTo": {
            "principalTypes": ["User", "Agent", "Service"],
            "resourceTypes": ["Tool"],
            "context": { "type": "Record", "attributes": {
                "tenant": { "type": "String" },
                "agent": { "type": "String" },
                "actor": { "type": "String" },
                "subject": optional,
                "mode": { "type": "String" },
                "session": optional,
                "connection": optional,
                "now": { "type": "Extension", "name": "datetime" },
                "user": user.schema(),
                "arguments": arguments.schema(),
            } },
        },
    })
}

/// The schema, compiled.
pub(crate) fn compile(json: Value) -> Result<Schema, String> {
    Schema::from_json_value(json).map_err(|error| error.to_string())
}
