//! Every way in which something at `/mcp` is refused. To a message that was read it is an error of
//! JSON-RPC with its id, to anything else a problem.

use haft_server::mcp::Settings;
use serde_json::{Value, json};

use crate::client::{Reply, Served};
use crate::mcp::{begin, initialize, meta, streamed};

const LIST: &str = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
const ODD: &str = r#"{"jsonrpc":"2.0","id":7,"error":"odd"}"#;

/// A server with room for one session of a tenant, and that one.
struct World {
    served: Served,
    session: String,
}

impl World {
    async fn new() -> Self {
        let few = |door: haft_server::Door| {
            door.with_mcp(Settings { sessions: 2, ..Settings::default() })
        };
        let served = Served::made(few).await;
        let session = begin(&served, &served.agent).await;
        Self { served, session }
    }

    /// What is answered to a body with these headers, some of them by a word for it.
    async fn send(&self, method: &str, headers: &str, body: &str) -> Reply {
        let named = |one: &str| match one {
            "key" => format!("Authorization: Bearer {}", self.served.agent),
            "both" => "Accept: application/json, text/event-stream".to_owned(),
            "json" => "Content-Type: application/json".to_owned(),
            "own" => format!("Mcp-Session-Id: {}", self.session),
            "older" => "MCP-Protocol-Version: 2025-11-25".to_owned(),
            "newer" => "MCP-Protocol-Version: 2026-07-28".to_owned(),
            "oldest" => "MCP-Protocol-Version: 1999-01-01".to_owned(),
            other => other.to_owned(),
        };
        let lines: Vec<String> = headers.split(" | ").map(named).collect();
        let text = format!(
            "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            lines.join("\r\n"),
            body.len()
        );
        self.served.raw(text.as_bytes()).await
    }
}

#[tokio::test]
async fn what_is_refused_before_a_message_was_read_is_a_problem() {
    let world = World::new().await;
    let long = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{}"}}"#, "x".repeat(2 << 20));
    for (method, headers, body, status, code) in [
        ("POST", "both | json", LIST, 401, "unauthenticated"),
        ("POST", "key | both | json | Origin: http://evil.example", LIST, 403, "foreign_host"),
        ("POST", "key | both | json | Content-Encoding: gzip", LIST, 415, "unsupported"),
        ("POST", "key | both | Content-Type: text/plain", LIST, 415, "unsupported"),
        ("POST", "key | both | json", &long, 413, "too_large"),
        ("POST", "key | both | json | Mcp-Session-Id: none", LIST, 404, "not_found"),
        ("POST", "key | both | json | own | Mcp-Session-Id: b", LIST, 400, "malformed_request"),
        ("GET", "key | both | Mcp-Session-Id: none", "", 404, "not_found"),
        ("GET", "key | both", "", 400, "malformed_request"),
        ("GET", "key | own", "", 406, "not_acceptable"),
        ("GET", "key | both | newer", "", 405, "wrong_method"),
        ("GET", "key | both | own | oldest", "", 400, "malformed_request"),
        ("DELETE", "key", "", 400, "malformed_request"),
        ("DELETE", "key | newer", "", 405, "wrong_method"),
        ("PUT", "key | both | json", LIST, 405, "wrong_method"),
        ("PATCH", "key", "", 405, "wrong_method"),
    ] {
        let reply = world.send(method, headers, body).await;
        let what = format!("{method} {headers}: {reply:?}");
        assert_eq!(reply.status, status, "{what}");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{what}");
        assert_eq!(reply.header("allow").is_some(), status == 405, "{what}");
        let said = reply.json();
        assert_eq!((&said["code"], &said["status"]), (&json!(code), &json!(status)), "{what}");
        assert!(said["suggestion"].as_str().is_some_and(|fix| !fix.is_empty()), "{what}");
    }
}

#[tokio::test]
async fn what_is_refused_once_a_message_was_read_is_an_error_with_its_id() {
    let world = World::new().await;
    let hello = initialize().to_string().replace("\"id\":0", "\"id\":7");
    for (headers, body, status, code, word) in [
        ("key | both | json", "{", 400, -32700, "malformed_request"),
        ("key | both | json", "[]", 400, -32600, "malformed_request"),
        ("key | json", LIST, 406, -32600, "not_acceptable"),
        ("key | json | Accept: application/json", LIST, 406, -32600, "not_acceptable"),
        ("key | both | json", LIST, 400, -32600, "malformed_request"),
        ("key | both | json | older", LIST, 400, -32600, "malformed_request"),
        ("key | both | json | oldest", LIST, 400, -32022, "malformed_request"),
        ("key | both | json | own | oldest", LIST, 400, -32022, "malformed_request"),
        ("key | both | json | own | older", ODD, 400, -32600, "malformed_request"),
        ("key | both | json", &hello, 503, -32603, "overloaded"),
    ] {
        let reply = world.send("POST", headers, body).await;
        let what = format!("{headers} {body}: {reply:?}");
        assert_eq!(reply.status, status, "{what}");
        assert_eq!(reply.header("content-type"), Some("application/json"), "{what}");
        assert_eq!(reply.header("retry-after").is_some(), status == 503, "{what}");
        let said = reply.json();
        let error = &said["error"];
        assert_eq!((&said["jsonrpc"], &error["code"]), (&json!("2.0"), &json!(code)), "{what}");
        assert!(error["message"].is_string(), "{what}");
        // What was not read has none.
        let id = if body.len() > 2 { json!(7) } else { Value::Null };
        assert_eq!((&said["id"], &error["data"]["code"]), (&id, &json!(word)), "{what}");
        assert!(error["data"]["suggestion"].is_string(), "{what}");
        if code == -32022 {
            let data = &error["data"];
            assert_eq!(data["requested"], "1999-01-01", "{what}");
            assert!(data["supported"].as_array().is_some_and(|all| all.len() > 1), "{what}");
        }
    }
}

/// Whoever makes an error, the SDK or we, in either era: it has a code of ours and says what to do.
#[tokio::test]
async fn every_error_of_the_protocol_has_a_code_of_ours() {
    let world = World::new().await;
    let request = |method: &str, mut params: Value, newer: bool| {
        if newer {
            params["_meta"] = meta(json!({}));
        }
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
    };
    let older = "key | both | json | own | older";
    let newer = |method: &str, name: &str| {
        let name = if name.is_empty() { String::new() } else { format!(" | Mcp-Name: {name}") };
        format!("key | both | json | newer | Mcp-Method: {method}{name}")
    };
    let nothing = || json!({"name": "nothing"});
    let nowhere = || json!({"uri": "haft://nowhere"});
    for (headers, method, params, code, word) in [
        (older.to_owned(), "nothing/at_all", json!({}), -32601, "not_found"),
        (older.to_owned(), "tasks/get", json!({"taskId": "a"}), -32601, "not_found"),
        (older.to_owned(), "tools/list", json!({"cursor": "odd"}), -32602, "malformed_request"),
        (older.to_owned(), "prompts/get", nothing(), -32602, "malformed_request"),
        (older.to_owned(), "tools/call", nothing(), -32602, "unavailable"),
        (older.to_owned(), "tools/call", json!({}), -32602, "malformed_request"),
        (older.to_owned(), "resources/read", nowhere(), -32002, "not_found"),
        (newer("nothing/at_all", ""), "nothing/at_all", json!({}), -32601, "not_found"),
        (newer("tools/call", "nothing"), "tools/call", nothing(), -32602, "unavailable"),
        (
            newer("resources/subscribe", "haft://nowhere"),
            "resources/subscribe",
            nowhere(),
            -32601,
            "not_found",
        ),
        (newer("prompts/get", ""), "tools/list", json!({}), -32020, "malformed_request"),
        (
            newer("tools/list", ""),
            "tools/list",
            json!({"cursor": "x"}),
            -32602,
            "malformed_request",
        ),
    ] {
        let body = request(method, params, headers.contains("newer"));
        let reply = world.send("POST", &headers, &body).await;
        let what = format!("{headers} {body}: {reply:?}");
        let is_json = reply.header("content-type") == Some("application/json");
        let said = if is_json { reply.json() } else { streamed(&reply) };
        let (id, error) = (&said["id"], &said["error"]);
        assert_eq!((id, &error["code"]), (&json!(7), &json!(code)), "{what}");
        assert_eq!(error["data"]["code"], word, "{what}");
        assert!(error["data"]["suggestion"].is_string(), "{what}");
    }
}
