//! What a tool can reach, and who sees what it did.

use serde_json::{Value, json};

use super::check;

#[test]
fn capabilities() {
    check(
        json!({"capabilities": ["kb"]}),
        json!({"capabilities": ["kb", "http"]}),
        &["compatible: capability `http` added: the handler can reach more [look]"],
    );
    check(
        json!({"capabilities": ["kb", "http"]}),
        json!({"capabilities": ["kb"]}),
        &["internal: capability `http` removed"],
    );
}

#[test]
fn connections() {
    let to = |provider: &str, hosts: Value, required: bool| json!({"connection": {"provider": provider, "hosts": hosts, "required": required}});
    let plain = || to("mail", json!(["a.example"]), true);
    let optional = || to("mail", json!(["a.example"]), false);
    check(
        json!({}),
        plain(),
        &["breaking: now needs a connection to `mail`, whose credentials may be sent to \
           `a.example` [look]"],
    );
    check(
        json!({}),
        optional(),
        &["compatible: can now use a connection to `mail`, whose credentials may be sent to \
           `a.example` [look]"],
    );
    check(plain(), json!({}), &["compatible: connection to `mail` no longer used"]);
    check(optional(), plain(), &["breaking: connection is now required"]);
    check(plain(), optional(), &["compatible: connection is no longer required"]);
    check(
        plain(),
        to("post", json!(["a.example"]), true),
        &["breaking: connection changed from `mail` to `post`: connections that were made no \
           longer fit [look]"],
    );
    let more = || to("mail", json!(["a.example", "b.example"]), true);
    check(plain(), more(), &["breaking: credentials may now also be sent to `b.example` [look]"]);
    check(more(), plain(), &["internal: credentials are no longer sent to `b.example`"]);
}

fn http(members: Value) -> Value {
    let mut gateway = json!({"kind": "http", "method": "POST", "url": "https://a.example/v1/send"});
    for (name, value) in members.as_object().unwrap() {
        gateway[name] = value.clone();
    }
    json!({"gateway": gateway})
}

#[test]
fn where_requests_go() {
    check(
        http(json!({})),
        http(json!({"url": "https://b.example/v1/send"})),
        &["breaking: requests now go to `https://b.example` instead of `https://a.example` [look]"],
    );
    check(
        http(json!({})),
        http(json!({"url": "http://a.example/v1/send"})),
        &["breaking: requests now go to `http://a.example` instead of `https://a.example` [look]"],
    );
    check(
        http(json!({})),
        http(json!({"url": "https://a.example/v2/send"})),
        &["internal: requests now go to `https://a.example/v2/send` instead of \
           `https://a.example/v1/send` [look]"],
    );
    for (field, value) in [
        ("method", json!("DELETE")),
        ("path", json!({"to": {"from": "text", "style": "label"}})),
        ("query", json!({"q": "text"})),
        ("query", json!({"q": {"from": "text", "style": "json"}})),
        ("headers", json!({"x-to": "text"})),
        ("body", json!({"bcc": "text"})),
        ("bodyFrom", json!("text")),
        ("result", json!("/id")),
    ] {
        let what = format!(
            "internal: gateway `{field}` changed: requests are put together differently [look]"
        );
        check(http(json!({})), http(json!({field: value})), &[&what]);
    }
}

#[test]
fn other_gateways() {
    let mcp = |server: &str| json!({"gateway": {"kind": "mcp", "server": server, "tool": "send"}});
    let queue = |queue: &str| json!({"gateway": {"kind": "grid", "queue": queue}});
    check(json!({}), mcp("a"), &["breaking: now runs at tool `send` of MCP server `a` [look]"]);
    check(mcp("a"), json!({}), &["internal: no longer runs at tool `send` of MCP server `a`"]);
    check(
        mcp("a"),
        mcp("b"),
        &["breaking: now runs at tool `send` of MCP server `b` instead of tool `send` of MCP \
           server `a` [look]"],
    );
    check(
        http(json!({})),
        json!({"gateway": {"kind": "composio", "action": "SEND"}}),
        &["breaking: now runs at Composio's `SEND` instead of `POST https://a.example` [look]"],
    );
    check(queue("a"), queue("b"), &["internal: its workers listen on another queue [look]"]);
}

#[test]
fn redaction() {
    for (field, of) in [("allow", "of the result"), ("allowArgs", "of the arguments")] {
        let seen = |paths: Value| {
            let mut redaction = json!({"allow": [], "allowArgs": []});
            redaction[field] = paths;
            json!({"redaction": redaction})
        };
        let (more, fewer) = (
            format!("compatible: shows more {of} than before to UI and telemetry: `b` [look]"),
            format!("compatible: UI and telemetry lose `b` {of}"),
        );
        check(seen(json!(["a"])), seen(json!(["a", "b"])), &[&more]);
        check(seen(json!(["a", "b"])), seen(json!(["a"])), &[&fewer]);
    }
}
