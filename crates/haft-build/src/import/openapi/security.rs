//! Security schemes become connections: who the account is with, and the one host that its
//! credentials may be sent to.

use serde_json::{Map, Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::Operation;

/// Who says that credentials are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    ByDocument,
    /// Whoever imports; the document says nothing of it.
    ByImporter,
}

/// The connection that an operation needs.
pub(super) fn connection(
    operation: &Operation<'_>,
    host: &str,
    log: &mut Log,
) -> Option<(Value, Said)> {
    let given = operation.source.given.provider;
    let everywhere = operation.source.document.get("security");
    let Some(asked) = operation.members.get("security").or(everywhere) else {
        let provider = given?;
        let what = format!(
            "the document does not say whether credentials are needed; they come from the connection \
             `{provider}` and are sent to `{host}` only"
        );
        log.note(Severity::Info, "/security", what);
        let connection = json!({"provider": provider, "hosts": [host], "required": true});
        return Some((connection, Said::ByImporter));
    };
    let asked = asked.as_array()?;
    // An empty alternative means that it works without.
    let is_empty = |one: &&Value| one.as_object().is_some_and(Map::is_empty);
    let optional = asked.iter().any(|one| is_empty(&one));
    let schemes: Vec<&String> =
        asked.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
    let first = *schemes.first()?;
    let provider = given.unwrap_or(first);
    let kind = kind_of(operation, first);
    let what = format!(
        "credentials ({kind}) come from the connection `{provider}` and are sent to `{host}` only"
    );
    log.note(Severity::Info, "/security", what);
    let others: Vec<&str> =
        schemes.iter().skip(1).filter(|name| **name != first).map(|name| name.as_str()).collect();
    if !others.is_empty() {
        let what =
            format!("a tool has one connection, so these are left out: {}", others.join(", "));
        log.note(Severity::Dropped, "/security", what);
    }
    let connection = json!({"provider": provider, "hosts": [host], "required": !optional});
    Some((connection, Said::ByDocument))
}

fn kind_of<'a>(operation: &Operation<'a>, scheme: &str) -> &'a str {
    let schemes = operation.source.document.pointer("/components/securitySchemes");
    let scheme = schemes.and_then(|all| all.get(scheme));
    let scheme = scheme.and_then(|scheme| operation.source.follow(scheme).ok());
    scheme.and_then(|scheme| scheme.get("type")?.as_str()).unwrap_or("undeclared")
}
