//! MCP over a pipe: what a desktop client does.

use haft_core::Caller;
use haft_server::mcp::{Seat, serve_lines};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};

use crate::client::Served;

/// A client at one end, the server at the other.
struct Pipe {
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
}

impl Pipe {
    fn new(served: &Served) -> Self {
        let (to, server_in) = tokio::io::duplex(1 << 20);
        let (server_out, from) = tokio::io::duplex(1 << 20);
        let seat = Seat::local(Caller::agent("ours", "helper"));
        tokio::spawn(serve_lines(served.door.clone(), seat, server_in, server_out));
        Self { to, from: BufReader::new(from).lines() }
    }

    async fn begin(served: &Served, can: Value) -> Self {
        let mut pipe = Self::new(served);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": can,
            "clientInfo": {"name": "test", "version": "1"}});
        let answer = pipe.ask(0, "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        pipe
    }

    async fn raw(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.raw(&message.to_string()).await;
    }

    async fn next(&mut self) -> Value {
        let line = self.from.next_line().await.unwrap().expect("the server is gone");
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        self.next().await
    }
}

#[tokio::test]
async fn a_pipe_serves_the_same_tools() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({})).await;
    let listed = pipe.ask(1, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["name"], "shop__echo", "{listed}");
    let params = json!({"name": "echo", "arguments": {"text": "hi"}});
    let done = pipe.ask(2, "tools/call", params).await;
    assert_eq!(done["result"]["structuredContent"], json!({"said": {"text": "hi"}}), "{done}");
}

#[tokio::test]
async fn the_newer_era_needs_no_handshake() {
    let served = Served::new().await;
    let mut pipe = Pipe::new(&served);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let found = pipe.ask(1, "server/discover", json!({"_meta": meta})).await;
    assert_eq!(found["result"]["resultType"], "complete", "{found}");
    let params = json!({"name": "echo", "arguments": {"text": "hi"}, "_meta": meta});
    let done = pipe.ask(2, "tools/call", params).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered_and_the_next_one_is_read() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({})).await;
    let twice = r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"text":"1","text":"2"}}}"#;
    for (line, code) in [
        ("not json", -32700),
        ("[]", -32600),
        (twice, -32700),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":"{}"}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"resources/read"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"resources/subscribe"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/fetch"}"#, -32601),
    ] {
        pipe.raw(line).await;
        let answer = pipe.next().await;
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        let word = if code == -32601 { "not_found" } else { "malformed_request" };
        assert_eq!(answer["error"]["data"]["code"], word, "{line}: {answer}");
    }
    pipe.raw(&format!("\"{}\"", "x".repeat(2 << 20))).await;
    assert_eq!(pipe.next().await["error"]["code"], -32700, "longer than a message may be");
    assert_eq!(pipe.ask(4, "ping", json!({})).await["result"], json!({}));
    assert_eq!(served.runs(), 0);
}

/// Nobody waits for an answer to them, and a client that sends one too early is still served.
#[tokio::test]
async fn what_is_told_before_the_first_request_is_passed_over() {
    let served = Served::new().await;
    let early = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}),
        json!({"jsonrpc": "2.0", "id": 9, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 9, "error": {"code": -1, "message": "no"}}),
    ];
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let mut pipe = Pipe::new(&served);
    for one in &early {
        pipe.send(one.clone()).await;
    }
    let found = pipe.ask(1, "server/discover", json!({"_meta": meta})).await;
    assert_eq!(found["result"]["resultType"], "complete", "{found}");
    for one in &early {
        pipe.send(one.clone()).await;
    }
    let params = json!({"name": "echo", "arguments": {"text": "hi"}, "_meta": meta});
    let done = pipe.ask(2, "tools/call", params).await;
    assert_eq!(done["result"]["isError"], false, "{done}");
}

#[tokio::test]
async fn a_client_that_leaves_before_a_session_has_made_no_mistake() {
    let served = Served::new().await;
    for early in ["", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"] {
        let (to, _from) = tokio::io::duplex(1 << 16);
        let seat = Seat::local(Caller::agent("ours", "helper"));
        let ended = serve_lines(served.door.clone(), seat, early.as_bytes(), to).await;
        assert!(ended.is_ok(), "{early}: {ended:?}");
    }
}

/// What the SDK says to whoever has not introduced themselves has not come through the handler.
#[tokio::test]
async fn errors_before_a_session_have_a_code_of_ours() {
    let served = Served::new().await;
    let mut pipe = Pipe::new(&served);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "1999-01-01",
        "io.modelcontextprotocol/clientCapabilities": {}});
    let lacking = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    for (params, code) in [(json!({"_meta": lacking}), -32602), (json!({"_meta": meta}), -32022)] {
        let answer = pipe.ask(1, "tools/list", params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["error"]["data"]["code"], "malformed_request", "{answer}");
        assert!(answer["error"]["data"]["suggestion"].is_string(), "{answer}");
    }
}

/// Answers the question that a call leads to, and gives the end of the call.
async fn answered(pipe: &mut Pipe, text: &str, answer: Value) -> Value {
    let params = json!({"name": "pay", "arguments": {"text": text}});
    let question = pipe.ask(5, "tools/call", params).await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert!(question["params"]["message"].as_str().unwrap().contains(text), "{question}");
    pipe.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    pipe.next().await
}

#[tokio::test]
async fn the_user_is_asked_while_the_call_waits() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let paid = answered(&mut pipe, "5 pounds", yes).await;
    assert_eq!(paid["result"]["isError"], false, "{paid}");
    assert_eq!(served.runs(), 1);
    for (text, answer, kind) in [
        ("6", json!({"action": "accept", "content": {"approve": false}}), "confirmation_refused"),
        ("7", json!({"action": "decline"}), "confirmation_refused"),
        ("8", json!({"action": "cancel"}), "confirmation_required"),
        ("9", json!({"action": "accept", "content": {}}), "confirmation_required"),
    ] {
        let end = answered(&mut pipe, text, answer).await;
        let said = end["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(said.contains(kind), "{text}: {end}");
    }
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn the_user_is_asked_again_where_the_rules_change_while_they_think() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let params = json!({"name": "pay", "arguments": {"text": "5 pounds"}});
    let question = pipe.ask(5, "tools/call", params).await;
    let rules = json!({"deny": ["send"]});
    let changed = crate::admin::put(&served, &served.admin, "/v1/admin/policies/new", "", rules);
    assert_eq!(changed.await.status, 201);
    pipe.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": yes})).await;
    let again = loop {
        let heard = pipe.next().await;
        // That the catalog may have changed is told, too.
        if heard["method"] != "notifications/tools/list_changed" {
            break heard;
        }
    };
    assert_eq!(again["method"], "elicitation/create", "{again}");
    let shown = again["params"]["message"].as_str().unwrap();
    assert!(shown.starts_with("You are asked again"), "{shown}");
    assert_eq!(served.runs(), 0);
    pipe.send(json!({"jsonrpc": "2.0", "id": again["id"], "result": yes})).await;
    assert_eq!(pipe.next().await["result"]["isError"], false);
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn a_changed_catalog_is_told() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({})).await;
    assert_eq!(pipe.ask(1, "ping", json!({})).await["result"], json!({}));
    let uri = "haft://tools/agent/helper/enabled";
    let watched = pipe.ask(2, "resources/subscribe", json!({"uri": uri})).await;
    assert_eq!(watched["result"], json!({}), "{watched}");
    let runtime = &served.door.runtime;
    let rules =
        haft_runtime::policy::Rules { allow: vec!["shop__echo".into()], ..Default::default() };
    let source = haft_runtime::policy::Source { rules: rules.clone(), ..Default::default() };
    let policy = haft_runtime::policy::Policy::load(&source, &[&runtime.current()]).unwrap();
    runtime.govern(std::sync::Arc::new(policy), rules);
    assert_eq!(pipe.next().await["method"], "notifications/tools/list_changed");
    let updated = pipe.next().await;
    assert_eq!(updated["method"], "notifications/resources/updated");
    assert_eq!(updated["params"]["uri"], uri);
    let listed = pipe.ask(3, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1, "{listed}");
}
