//! The connection that a call uses which names none.

use std::io::Write as _;
use std::process::Stdio;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::project::Project;
use crate::service::service;

fn add(project: &Project, id: &str, secret: &str) {
    let mut child = project
        .command()
        .args(["connections", "add", id, "--provider", "tracker", "--kind", "bearer"])
        .args(["--host", "127.0.0.1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(secret.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A tool that needs a connection to `tracker`, and an agent that has one of its own.
fn tracked() -> (Project, Receiver<String>) {
    let project = Project::new();
    let (port, seen) = service();
    let document = json!({"openapi": "3.1.0", "servers": [{"url": format!("http://127.0.0.1:{port}")}],
        "paths": {"/me": {"get": {"operationId": "me"}}}});
    project.write("api.json", &document.to_string());
    let config = "toolset = \"api\"\n[policy]\nallow = [\"*\"]\n[http]\nallow = [\"127.0.0.1\"]\n\
        [[tenants]]\nid = \"default\"\n\
        [[agents]]\nid = \"helper\"\ntenant = \"default\"\nconnections = { tracker = \"work\" }\n\
        [[agents]]\nid = \"plain\"\ntenant = \"default\"\n";
    project.write("haft.toml", config);
    let said = project.run(&["import", "api.json", "--toolset", "api", "--provider", "tracker"]);
    assert_eq!(said.code, 0, "{said:?}");
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    add(&project, "work", "work-secret-1234");
    add(&project, "home", "home-secret-1234");
    let grant = |id: &str, to: &str| {
        let said = project.run(&["connections", "grant", id, "--to", to, "--tools", "*"]);
        assert_eq!(said.code, 0, "{said:?}");
    };
    grant("work", "agent:helper");
    grant("home", "agent:helper");
    grant("home", "agent:plain");
    (project, seen)
}

/// Whose secret arrived, or why none did.
fn used(project: &Project, seen: &Receiver<String>, agent: &str, more: &[&str]) -> String {
    let arguments = [&["call", "me", "--agent", agent, "--json"], more].concat();
    let (code, envelope) = project.json(&arguments);
    if code != 0 {
        return envelope["error"]["kind"].as_str().unwrap().to_owned();
    }
    let request = seen.recv().unwrap();
    let line = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
    line.unwrap_or("nobody").to_owned()
}

#[test]
fn an_agents_own_connection_is_used_where_a_call_names_none() {
    let (project, seen) = tracked();
    assert_eq!(used(&project, &seen, "helper", &[]), "work-secret-1234");
    assert_eq!(used(&project, &seen, "helper", &["--connection", "home"]), "home-secret-1234");
    assert_eq!(used(&project, &seen, "plain", &[]), "denied");
    assert_eq!(used(&project, &seen, "plain", &["--connection", "work"]), "denied");
    let (code, why) = project.json(&["why", "helper", "me", "--json"]);
    assert_eq!((code, &why["connection"]), (0, &json!("work")), "{why}");
    let said = project.run(&["why", "helper", "me", "--args", "{}"]);
    assert!(said.out.contains("connection: work, the agent's own"), "{said:?}");
    // Without its grant it is refused like any other.
    assert_eq!(project.run(&["connections", "revoke", "work", "--from", "agent:helper"]).code, 0);
    assert_eq!(used(&project, &seen, "helper", &[]), "denied");
}

#[test]
fn a_provider_that_no_tool_uses_is_named() {
    let (project, _seen) = tracked();
    let config = project.read("haft.toml").replace("{ tracker =", "{ traker =");
    project.write("haft.toml", &config);
    let said = project.run(&["why", "helper", "me"]);
    let words = "agent `helper`: no tool uses a connection to `traker`; did you mean `tracker`?";
    assert!(said.err.contains(words), "{said:?}");
}

/// What an MCP client is answered when it calls the tool.
fn over_mcp(project: &Project, more: &[&str]) -> (Option<i32>, String) {
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "imported__me", "arguments": {}}}),
    ];
    let text: String = messages.iter().map(|one: &Value| format!("{one}\n")).collect();
    let mut child = project
        .command()
        .arg("mcp")
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses does not read.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said)
}

#[test]
fn an_mcp_server_is_given_its_connections() {
    let (project, seen) = tracked();
    let (_, said) = over_mcp(&project, &["--agent", "plain"]);
    assert!(said.contains("may be used: `home`") && said.contains("\"isError\":true"), "{said}");
    let (_, said) = over_mcp(&project, &["--agent", "plain", "--connection", "tracker=home"]);
    assert!(seen.recv().unwrap().contains("authorization: Bearer home-secret-1234\r\n"), "{said}");
    let (code, said) = over_mcp(&project, &["--agent", "nobody", "--connection", "tracker=home"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`nobody` is not declared there"), "{said}");
    assert_eq!(over_mcp(&project, &["--connection", "home"]).0, Some(2));
}
