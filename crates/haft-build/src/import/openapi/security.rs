//! Security schemes become connections: who the account is with, and the one host that its
//! credentials may be sent to.

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::Operation;

/// The connection that an operation needs.
pub(super) fn connection(operation: &Operation<'_>, host: &str, log: &mut Log) -> Option<Value> {
    let everywhere = operation.source.document.get("security");
    let asked = operation.members.get("security").or(everywhere)?.as_array()?;
    // An empty alternative means that it works without.
    let is_empty = |one: &&Value| one.as_object().is_some_and(Map::is_empty);
    let optional = asked.iter().any(|one| is_empty(&one));
    let schemes: Vec<&String> =
        asked.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
    let first = *schemes.first()?;
    let kind = operation
        .source
        .document
        .pointer(&format!(
            "/components/securitySchemes/{}/type",
            super::super::pointer::escape(first)
        ))
        .and_then(Value::as_str)
        .unwrap_or("undeclared");
    let what = format!(
        "credentials ({kind}) come from the connection `{first}` and are sent to `{host}` only"
    );
    log.note(Severity::Info, "/security", what);
    let others: Vec<&str> =
        schemes.iter().skip(1).filter(|name| **name != first).map(|name| name.as_str()).collect();
    if !others.is_empty() {
        let what =
            format!("a tool has one connection, so these are left out: {}", others.join(", "));
        log.note(Severity::Dropped, "/security", what);
    }
    Some(json!({"provider": first, "hosts": [host], "required": !optional}))
}
