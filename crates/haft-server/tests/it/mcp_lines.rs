//! MCP over a pipe: what a desktop client does.

use haft_core::Caller;
use haft_server::mcp::{Seat, serve_lines, serve_lines_until};
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
    // What a session of the older era says once, each request says here.
    let level = pipe.ask(3, "logging/setLevel", json!({"level": "debug", "_meta": meta})).await;
    assert_eq!(level["error"]["code"], -32601, "{level}");
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
        (r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel"}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"loud"}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"system"},"argument":{"name":"mode"}}}"#,
            -32602,
        ),
        (r#"{"jsonrpc":"2.0","id":5,"method":"tools/fetch"}"#, -32601),
    ] {
        pipe.raw(line).await;
        let answer = pipe.next().await;
        assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
        let word = if code == -32601 { "not_found" } else { "malformed_request" };
        assert_eq!(answer["error"]["data"]["code"], word, "{line}: {answer}");
    }
    let right = json!({"ref": {"type": "ref/prompt", "name": "system"}, "argument": {"name": "mode", "value": "v"}});
    let completed = pipe.ask(6, "completion/complete", right).await;
    assert_eq!(completed["result"]["completion"]["values"], json!(["voice"]), "{completed}");
    assert_eq!(
        pipe.ask(7, "logging/setLevel", json!({"level": "debug"})).await["result"],
        json!({})
    );
    let long = "x".repeat(2 << 20);
    for (line, id) in [
        (format!("\"{long}\""), Value::Null),
        (
            format!(r#"{{"method":"ping","params":{{"a":"{long}"}},"jsonrpc":"2.0","id":9}}"#),
            json!(9),
        ),
    ] {
        pipe.raw(&line).await;
        let answer = pipe.next().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(-32600)), "{answer}");
        assert_eq!(answer["error"]["data"]["code"], "too_large", "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("more than"), "{answer}");
    }
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
async fn the_user_is_not_asked_what_they_cannot_be_shown() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({"elicitation": {}})).await;
    let params = json!({"name": "pay", "arguments": {"text": "x".repeat(24 << 10)}});
    let waits = pipe.ask(5, "tools/call", params).await;
    let said = waits["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(said.contains("in the console"), "{waits}");
    assert_eq!(served.runs(), 0);
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

/// What an approver says while the question is open, what the person then says, if anything, and how the call
/// and the same call after it end.
#[tokio::test]
async fn an_answer_from_another_door_ends_the_wait_and_is_told() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({"elicitation": {}})).await;
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let no = json!({"action": "accept", "content": {"approve": false}});
    let refused = "confirmation_refused";
    for (text, approved, answer, kind) in [
        ("1", true, Some(yes.clone()), "said"),
        ("2", true, Some(json!({"action": "decline"})), refused),
        ("3", true, Some(no), refused),
        ("4", true, Some(json!({"action": "cancel"})), "said"),
        ("5", true, None, "said"),
        ("6", false, Some(yes), refused),
        ("7", false, Some(json!({"action": "cancel"})), refused),
        ("8", false, None, refused),
    ] {
        let params = json!({"name": "pay", "arguments": {"text": text}});
        let question = pipe.ask(5, "tools/call", params.clone()).await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let runs = served.runs() + usize::from(kind == "said");
        crate::mcp::decided_elsewhere(&served, approved).await;
        match answer {
            Some(answer) => {
                let id = &question["id"];
                pipe.send(json!({"jsonrpc": "2.0", "id": id, "result": answer})).await;
            }
            None => {
                let told = pipe.next().await;
                assert_eq!(told["method"], "notifications/cancelled", "{told}");
                assert_eq!(told["params"]["requestId"], question["id"], "{told}");
            }
        }
        let ends = [pipe.next().await, pipe.ask(6, "tools/call", params).await];
        for end in &ends {
            let said = end["result"]["content"][0]["text"].as_str().unwrap_or_default();
            assert!(said.contains(kind), "{text}: {end}");
        }
        assert_eq!(served.runs(), runs, "{text}");
    }
}

#[tokio::test]
async fn an_id_is_one_request_s_until_it_is_answered() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({})).await;
    let call = |text: &str| json!({"name": "echo", "arguments": {"text": text}});
    let ask = |text: &str| json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": call(text)});
    pipe.send(ask("wait")).await;
    served.ran(1).await;
    pipe.send(ask("second")).await;
    let refused = pipe.next().await;
    // Under that id it would be taken for the answer of the first.
    assert_eq!(refused["id"], Value::Null, "{refused}");
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(refused["error"]["data"]["code"], "malformed_request", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("id `\"a\"`"), "{refused}");
    served.gate()(1);
    let first = pipe.next().await;
    assert_eq!((&first["id"], served.runs()), (&json!("a"), 1), "{first}");
    assert_eq!(first["result"]["structuredContent"], json!({"said": {"text": "wait"}}), "{first}");
    pipe.send(ask("third")).await;
    assert_eq!(pipe.next().await["result"]["structuredContent"]["said"]["text"], "third");
    // Whoever calls one off may use its id when it has ended.
    pipe.send(ask("wait")).await;
    served.ran(3).await;
    let off = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}});
    pipe.send(off).await;
    for _ in 0..1_000 {
        pipe.send(ask("fourth")).await;
        let answer = pipe.next().await;
        if answer["id"] == "a" {
            return assert_eq!(answer["result"]["structuredContent"]["said"]["text"], "fourth");
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    panic!("the id is never free again");
}

/// A refusal under the id of a request that is under way would be taken for its answer.
#[tokio::test]
async fn what_is_refused_beside_a_request_of_the_same_id_does_not_answer_that() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({})).await;
    let call = json!({"name": "echo", "arguments": {"text": "wait"}});
    pipe.send(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})).await;
    served.ran(1).await;
    let long = "x".repeat(2 << 20);
    for (id, under) in [(7, Value::Null), (8, json!(8))] {
        for rest in [
            r#""method":"tools/call","params":[]"#.to_owned(),
            r#""method":"tools/call","params":{"name":7}"#.to_owned(),
            r#""method":7"#.to_owned(),
            format!(r#""method":"ping","params":{{"a":"{long}"}}"#),
        ] {
            pipe.raw(&format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#)).await;
            let refused = pipe.next().await;
            assert!(refused["error"].is_object(), "{refused}");
            assert_eq!(refused["id"], under, "{rest:.60}: {refused}");
        }
    }
    served.gate()(1);
    let done = pipe.next().await;
    assert_eq!((&done["id"], served.runs()), (&json!(7), 1), "{done}");
    assert_eq!(done["result"]["structuredContent"], json!({"said": {"text": "wait"}}), "{done}");
}

/// Whoever reads a line is dropped whenever an answer is to be written.
#[tokio::test]
async fn a_line_that_comes_in_pieces_is_whole_though_others_are_answered_meanwhile() {
    let served = Served::new().await;
    let mut pipe = Pipe::begin(&served, json!({})).await;
    let params = json!({"name": "echo", "arguments": {"text": "wait"}});
    pipe.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    served.ran(1).await;
    let text = "x".repeat(100_000);
    let params = json!({"name": "echo", "arguments": {"text": text}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let call = call.to_string();
    let (half, rest) = call.split_at(50_000);
    pipe.to.write_all(half.as_bytes()).await.unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    served.gate()(1);
    assert_eq!(pipe.next().await["id"], 1);
    pipe.raw(rest).await;
    let done = pipe.next().await;
    assert_eq!((&done["id"], &done["error"]), (&json!(2), &Value::Null), "{done:.300}");
    assert_eq!(done["result"]["structuredContent"]["said"]["text"].as_str(), Some(&*text));
}

#[tokio::test]
async fn told_to_stop_it_reads_no_more_and_answers_what_it_was_asked() {
    let served = Served::new().await;
    let (to, server_in) = tokio::io::duplex(1 << 20);
    let (server_out, from) = tokio::io::duplex(1 << 20);
    let (stop, told) = tokio::sync::oneshot::channel::<()>();
    let seat = Seat::local(Caller::agent("ours", "helper"));
    let told = async move { drop(told.await) };
    let serving = serve_lines_until(served.door.clone(), seat, server_in, server_out, told);
    let serving = tokio::spawn(serving);
    let mut pipe = Pipe { to, from: BufReader::new(from).lines() };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    pipe.ask(0, "initialize", params).await;
    pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let call = |id: u64, text: &str| {
        let params = json!({"name": "echo", "arguments": {"text": text}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
    };
    pipe.send(call(1, "wait")).await;
    served.ran(1).await;
    stop.send(()).unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    pipe.send(call(2, "late")).await;
    served.gate()(1);
    assert_eq!(pipe.next().await["id"], 1);
    serving.await.unwrap().unwrap();
    assert_eq!(served.runs(), 1, "nothing is read after that");
}

#[tokio::test]
async fn a_client_that_reads_nothing_does_not_keep_it_from_stopping() {
    let served = Served::new().await;
    let (to, server_in) = tokio::io::duplex(1 << 20);
    // Room for the first answer, and not for a refusal behind it.
    let (server_out, from) = tokio::io::duplex(1 << 10);
    let (stop, told) = tokio::sync::oneshot::channel::<()>();
    let seat = Seat::local(Caller::agent("ours", "helper"));
    let told = async move { drop(told.await) };
    let serving = serve_lines_until(served.door.clone(), seat, server_in, server_out, told);
    let serving = tokio::spawn(serving);
    let mut pipe = Pipe { to, from: BufReader::new(from).lines() };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    pipe.ask(0, "initialize", params).await;
    pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    for _ in 0..20 {
        pipe.raw("not json").await;
    }
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    stop.send(()).unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_secs(60), serving).await;
    ended.expect("it waits for its client").unwrap().unwrap();
    drop(pipe);
}
