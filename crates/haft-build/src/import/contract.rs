//! Writing `schema.json`: every field, so that nothing is left to a default that may change.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::draft::{Draft, Runs};
use super::schema;
use crate::code::{SECRET_PARAMETER, TENANT_PARAMETER};

/// A contract larger than this is not read.
const MOST_BYTES: usize = 256 << 10;

const SECRET: &str =
    "imported: the definition takes a secret as an argument; move it to a connection";

const TENANT: &str =
    "imported: the definition takes a tenant as an argument; make sure that it is not haft's own";

/// The contract's text, or why there is none.
pub(super) fn render(draft: &Draft, id: &str) -> Result<String, String> {
    let text = serde_json::to_string_pretty(&contract(draft, id)).unwrap_or_default() + "\n";
    if text.len() > MOST_BYTES {
        return Err(format!("its contract would have {} bytes; split the tool", text.len()));
    }
    Ok(text)
}

fn contract(draft: &Draft, id: &str) -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    add("toolId", json!(id));
    add("version", json!("0.1.0"));
    add("description", json!(draft.line));
    add("category", json!(draft.effects.category));
    add("sideEffects", json!(draft.effects.side_effects));
    add("idempotent", json!(draft.effects.idempotent));
    add("requiresConfirmation", json!(draft.effects.confirmation));
    add("allowedModes", json!(["text"]));
    add("latencyBudgetMs", json!(5_000));
    add("parameters", draft.parameters.clone());
    if let Some(output) = &draft.output {
        add("output", output.clone());
    }
    add("redaction", json!({"allow": [], "allowArgs": []}));
    match &draft.runs {
        Runs::Nothing => {
            add("handler", json!({"kind": "unbound"}));
        }
        Runs::Http { gateway, connection } => {
            if let Some(connection) = connection {
                add("connection", connection.clone());
            }
            add("gateway", gateway.clone());
        }
    }
    let keywords = schema::portability(&draft.parameters);
    if !keywords.is_empty() {
        add("portability", json!({"allow": keywords}));
    }
    let answers = answers(draft);
    if !answers.is_empty() {
        add("lint", json!({"allow": answers}));
    }
    add("origin", origin(draft));
    Value::Object(fields)
}

/// Lints that the definition runs into by what it is, answered so that they warn.
fn answers(draft: &Draft) -> BTreeMap<&'static str, &'static str> {
    let secret = schema::has_secret(&draft.parameters).map(|_| (SECRET_PARAMETER.id, SECRET));
    let tenant = schema::has_tenant(&draft.parameters).map(|_| (TENANT_PARAMETER.id, TENANT));
    secret.into_iter().chain(tenant).collect()
}

fn origin(draft: &Draft) -> Value {
    json!({
        "kind": draft.kind,
        "name": draft.name,
        "digest": draft.digest,
        "assumed": draft.assumed,
    })
}
