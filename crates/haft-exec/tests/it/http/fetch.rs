//! The `http` capability of handlers.

use haft_core::contract::Capability;
use haft_core::error::ToolError;
use haft_core::port::{Auth, Binding, Provide as _};
use haft_core::registry::Tool;
use haft_exec::http::Fetch;
use serde_json::{Value, json};

use super::rig::{auth, bearer, client};
use super::server::{Does, Server, json as says};
use crate::rig::{js, scope, tool_with};

fn tool(hosts: &[String]) -> Tool {
    let mut tool = tool_with(js(""), &json!([Capability::Http]));
    tool.contract.hosts = hosts.to_vec();
    tool
}

async fn fetch(
    tool: &Tool,
    auth: Option<&Auth>,
    method: &str,
    asked: Value,
) -> Result<Value, ToolError> {
    let scope = scope("call_1");
    let binding = Binding { tool, scope: &scope, auth, until: None };
    Fetch::new(client()).provide_bound(binding, method, asked).await
}

#[tokio::test]
async fn a_handler_asks_and_the_host_adds_what_it_must_not_know() {
    let server = Server::saying(says("200 OK", r#"{"a": 1}"#)).await;
    let auth = auth(bearer("tok-123456"), &["127.0.0.1"]);
    let asked = json!({"url": server.url("/x?a=1"), "query": {"b": ["c d", 2]},
        "headers": {"X-A": "b"}, "json": {"k": "v"}});
    let tool = tool(&[server.at.to_string()]);
    let answer = fetch(&tool, Some(&auth), "post", asked).await.unwrap();
    assert_eq!(answer["status"], json!(200));
    assert_eq!(answer["json"], json!({"a": 1}));
    let seen = server.seen();
    assert!(seen[0].starts_with("POST /x?a=1&b=c%20d&b=2 HTTP/1.1\r\n"), "{}", seen[0]);
    assert!(seen[0].contains("authorization: Bearer tok-123456\r\n"));
    assert!(!answer.to_string().contains("tok-123456"));
}

#[tokio::test]
async fn what_frames_a_request_is_the_hosts() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let tool = tool(&[server.at.to_string()]);
    for name in
        ["Connection", "Expect", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade"]
    {
        let asked = json!({"url": server.url("/"), "headers": {name: "x"}});
        let error = fetch(&tool, None, "get", asked).await.unwrap_err();
        assert!(error.message.contains("is not the host's"), "{name}: {error:?}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn only_declared_hosts_are_reached() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let mine = server.at.to_string();
    for (hosts, url) in [
        (vec![], server.url("/")),
        (vec!["127.0.0.1".to_owned()], server.url("/")),
        (vec!["other.example".to_owned()], server.url("/")),
        (vec![mine.clone()], format!("http://a:b@{mine}/")),
        (vec![mine.clone()], format!("http://{mine}.evil.example/")),
        (vec![mine.clone()], "file:///etc/passwd".to_owned()),
    ] {
        let error = fetch(&tool(&hosts), None, "get", json!(url)).await.unwrap_err();
        assert_eq!(error.kind, haft_core::ErrorKind::Internal, "{url}: {error:?}");
    }
    assert!(server.seen().is_empty());
}

/// A refusal that can be read is in doubt as well, whatever a handler makes of it.
#[tokio::test]
async fn what_has_a_status_may_have_been_done_though_it_cannot_be_read() {
    for status in ["200 OK", "500 No", "403 No"] {
        let says = format!("HTTP/1.1 {status}\r\ncontent-length: 99999999999\r\n\r\n");
        let server = Server::saying(Does::Says(says.into_bytes())).await;
        let tool = tool(&[server.at.to_string()]);
        let error = fetch(&tool, None, "post", json!(server.url("/"))).await.unwrap_err();
        let found = (error.kind, error.partial_side_effects);
        assert_eq!(found, (haft_core::ErrorKind::Permanent, true), "{status}: {error:?}");
    }
}

#[tokio::test]
async fn what_is_the_hosts_to_say_is_refused() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let tool = tool(&[server.at.to_string()]);
    for headers in [
        json!({"Authorization": "Bearer x"}),
        json!({"host": "evil"}),
        json!({"cookie": "a=b"}),
        json!({"x-a": "b\r\nc: d"}),
        json!({"a b": "c"}),
        json!({"x": 1}),
    ] {
        let asked = json!({"url": server.url("/"), "headers": headers});
        assert!(fetch(&tool, None, "get", asked).await.is_err());
    }
    assert!(fetch(&tool, None, "connect", json!(server.url("/"))).await.is_err());
    assert!(
        fetch(&tool, None, "get", json!({"url": server.url("/"), "proxy": "x"})).await.is_err()
    );
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_handler_learns_whether_something_may_have_been_done() {
    let server = Server::saying(Does::Closes).await;
    let tool = tool(&[server.at.to_string()]);
    let error = fetch(&tool, None, "post", json!(server.url("/"))).await.unwrap_err();
    assert!(error.partial_side_effects);
    let at = server.at;
    drop(server);
    tokio::task::yield_now().await;
    let gone = fetch(&tool, None, "post", json!(format!("http://{at}/"))).await.unwrap_err();
    assert!(!gone.partial_side_effects, "{gone:?}");
    let fetch = Fetch::new(client());
    assert!(!fetch.writes("get") && !fetch.writes("head") && fetch.writes("post"));
}

#[tokio::test]
async fn whether_anyone_listens_at_other_ports_is_not_told() {
    let server = Server::saying(says("200 OK", "{}")).await;
    let tool = tool(&[server.at.to_string()]);
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(Server::saying(says("200 OK", "{}")).await);
    }
    let ports = open.iter().map(|one| one.at.port()).chain(1..=90);
    let mut told = std::collections::BTreeSet::new();
    for port in ports {
        let url = format!("http://127.0.0.1:{port}/");
        let error = fetch(&tool, None, "get", json!(url)).await.unwrap_err();
        told.insert(format!(
            "{:?}",
            (error.kind, error.message.clone(), error.suggestion.clone(), error.retryable)
        ));
    }
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(open.iter().all(|one| one.seen().is_empty()), "nothing is sent");
}
