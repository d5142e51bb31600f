//! What a tool can reach, and who sees what it did.

use haft_core::contract::{Capability, Connection, Gateway, Redaction};
use serde_json::{Value, json};

use super::gained;
use crate::diff::change::{Change, Impact, list};

pub(super) fn capabilities(old: &[Capability], new: &[Capability], out: &mut Vec<Change>) {
    let words = |list: &[Capability]| json!(list);
    for added in gained(old, new) {
        let what = format!("capability `{}` added: the handler can reach more", added.as_str());
        let change = Change::new(Impact::Compatible, "/capabilities", what);
        out.push(change.values(words(old), words(new)).look());
    }
    for removed in gained(new, old) {
        let what = format!("capability `{}` removed", removed.as_str());
        let change = Change::new(Impact::Internal, "/capabilities", what);
        out.push(change.values(words(old), words(new)));
    }
}

pub(super) fn connection(
    old: Option<&Connection>,
    new: Option<&Connection>,
    out: &mut Vec<Change>,
) {
    let (old, new) = match (old, new) {
        (None, None) => return,
        (None, Some(new)) => return out.push(connected(new)),
        (Some(old), None) => {
            let what = format!("connection to `{}` no longer used", old.provider);
            let change = Change::new(Impact::Compatible, "/connection", what);
            return out.push(change.optional_values(Some(json!(old)), None::<Value>));
        }
        (Some(old), Some(new)) => (old, new),
    };
    if old.provider != new.provider {
        let what = format!(
            "connection changed from `{}` to `{}`: connections that were made no longer fit",
            old.provider, new.provider
        );
        let change = Change::new(Impact::Breaking, "/connection/provider", what);
        out.push(change.values(old.provider.as_str(), new.provider.as_str()).look());
    }
    let more = gained(&old.hosts, &new.hosts);
    if !more.is_empty() {
        // Whoever connected an account agreed to the hosts that were listed then.
        let what = format!("credentials may now also be sent to {}", list(more));
        let change = Change::new(Impact::Breaking, "/connection/hosts", what);
        out.push(change.values(json!(old.hosts), json!(new.hosts)).look());
    }
    let fewer = gained(&new.hosts, &old.hosts);
    if !fewer.is_empty() {
        let what = format!("credentials are no longer sent to {}", list(fewer));
        let change = Change::new(Impact::Internal, "/connection/hosts", what);
        out.push(change.values(json!(old.hosts), json!(new.hosts)));
    }
    let (impact, what) = match (old.required, new.required) {
        (false, true) => (Impact::Breaking, "connection is now required"),
        (true, false) => (Impact::Compatible, "connection is no longer required"),
        (true, true) | (false, false) => return,
    };
    out.push(Change::new(impact, "/connection/required", what).values(old.required, new.required));
}

fn connected(new: &Connection) -> Change {
    let (impact, needs) = if new.required {
        (Impact::Breaking, "now needs")
    } else {
        (Impact::Compatible, "can now use")
    };
    let what = format!(
        "{needs} a connection to `{}`, whose credentials may be sent to {}",
        new.provider,
        list(&new.hosts)
    );
    Change::new(impact, "/connection", what).optional_values(None::<Value>, Some(json!(new))).look()
}

pub(super) fn hosts(old: &[String], new: &[String], out: &mut Vec<Change>) {
    let change = |impact, what| Change::new(impact, "/hosts", what).values(json!(old), json!(new));
    let more = gained(old, new);
    if !more.is_empty() {
        let what = format!("the handler can now also reach {}", list(more));
        out.push(change(Impact::Compatible, what).look());
    }
    let fewer = gained(new, old);
    if !fewer.is_empty() {
        out.push(change(
            Impact::Internal,
            format!("the handler no longer reaches {}", list(fewer)),
        ));
    }
}

pub(super) fn gateway(old: Option<&Gateway>, new: Option<&Gateway>, out: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let (impact, pointer, what) = match (old, new) {
        (Some(Gateway::Http(_)), Some(Gateway::Http(_))) => {
            return http(old, new, out);
        }
        (None, Some(new)) => {
            (Impact::Breaking, "/gateway", format!("now runs at {}", destination(new)))
        }
        (Some(old), None) => {
            (Impact::Internal, "/gateway", format!("no longer runs at {}", destination(old)))
        }
        // Which workers listen is a matter of deployment; they fulfil the same contract.
        (Some(Gateway::Grid { .. }), Some(Gateway::Grid { .. })) => {
            (Impact::Internal, "/gateway/queue", "its workers listen on another queue".to_owned())
        }
        (Some(old), Some(new)) => (
            Impact::Breaking,
            "/gateway",
            format!("now runs at {} instead of {}", destination(new), destination(old)),
        ),
        (None, None) => return,
    };
    let value = |gateway: Option<&Gateway>| gateway.map(|gateway| json!(gateway));
    let change = Change::new(impact, pointer, what).optional_values(value(old), value(new));
    out.push(change.look_if(new.is_some()));
}

/// What a gateway says beside its URL.
const FIELDS: [&str; 14] = [
    "method",
    "path",
    "query",
    "headers",
    "body",
    "bodyFrom",
    "encoding",
    "response",
    "result",
    "errors",
    "pages",
    "redirects",
    "idempotencyHeader",
    "maxResponseBytes",
];

/// Every field that says what is sent where is worth a look: one more header or member of the body
/// is how a tool comes to write to somebody else too.
fn http(old: Option<&Gateway>, new: Option<&Gateway>, out: &mut Vec<Change>) {
    let (Some(old), Some(new)) = (old.map(|it| json!(it)), new.map(|it| json!(it))) else {
        return;
    };
    let url = |it: &Value| it.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (before, after) = (origin(&url(&old)), origin(&url(&new)));
    if before != after {
        let what = format!("requests now go to `{after}` instead of `{before}`");
        out.push(Change::new(Impact::Breaking, "/gateway/url", what).values(before, after).look());
    } else if url(&old) != url(&new) {
        let what = format!("requests now go to `{}` instead of `{}`", url(&new), url(&old));
        let change = Change::new(Impact::Internal, "/gateway/url", what);
        out.push(change.values(url(&old), url(&new)).look());
    }
    for field in FIELDS {
        let (before, after) = (old.get(field), new.get(field));
        if before != after {
            let what = format!("gateway `{field}` changed: requests are put together differently");
            let change = Change::new(Impact::Internal, format!("/gateway/{field}"), what);
            out.push(change.optional_values(before.cloned(), after.cloned()).look());
        }
    }
}

/// Scheme and host, which are literal in a gateway's URL.
fn origin(url: &str) -> String {
    let host = url.find("://").map_or(0, |at| at + 3);
    let length = url.get(host..).and_then(|rest| rest.find(['/', '?', '#']));
    let end = length.map_or(url.len(), |length| host + length);
    url.get(..end).unwrap_or(url).to_ascii_lowercase()
}

fn destination(gateway: &Gateway) -> String {
    match gateway {
        Gateway::Http(http) => format!("`{} {}`", http.method.as_str(), origin(&http.url)),
        Gateway::Mcp { server, tool } => format!("tool `{tool}` of MCP server `{server}`"),
        Gateway::Composio { action } => format!("Composio's `{action}`"),
        Gateway::Grid { .. } => "a worker elsewhere".to_owned(),
    }
}

pub(super) fn redaction(old: &Redaction, new: &Redaction, out: &mut Vec<Change>) {
    let Redaction { allow, allow_args } = old;
    seen("/redaction/allow", "of the result", allow, &new.allow, out);
    seen("/redaction/allowArgs", "of the arguments", allow_args, &new.allow_args, out);
}

fn seen(pointer: &str, of: &str, old: &[String], new: &[String], out: &mut Vec<Change>) {
    let change =
        |what| Change::new(Impact::Compatible, pointer, what).values(json!(old), json!(new));
    let more = gained(old, new);
    if !more.is_empty() {
        let what = format!("shows more {of} than before to UI and telemetry: {}", list(more));
        out.push(change(what).look());
    }
    let fewer = gained(new, old);
    if !fewer.is_empty() {
        out.push(change(format!("UI and telemetry lose {} {of}", list(fewer))));
    }
}
