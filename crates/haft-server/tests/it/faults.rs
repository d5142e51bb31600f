//! Attacks and mishaps that are the server's to withstand, across its routes.

use std::sync::Arc;
use std::time::Duration;

use haft_runtime::Settings;
use haft_server::Limits;
use haft_store::{Manual, Memory};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use crate::client::{Reply, Served, resident_mib};
use crate::mcp;
use crate::own::service::Service;
use crate::socket::Line;

const CALLS: &str = "/v1/agents/helper/calls";
/// What only our own tenant knows.
const OURS: &str = "nobody-else-knows-this-4711";

/// Ids of ours, of every kind that a path may name.
struct Ids {
    session: String,
    call: String,
    effect: String,
    later: String,
    question: String,
}

async fn ids(served: &Served) -> Ids {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let begun = served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await.json();
    let said = |tool: &str| json!({"tool": tool, "arguments": {"text": OURS}});
    let call = served.post(&served.agent, CALLS, said("echo")).await.json();
    let key = [("Idempotency-Key", "k")];
    let effect = served.send(&served.agent, "POST", CALLS, &key, Some(said("send"))).await.json();
    served.send(&served.agent, "POST", CALLS, &key, Some(said("pay"))).await;
    let later = [("Prefer", "respond-async")];
    let later = served.send(&served.agent, "POST", CALLS, &later, Some(said("echo"))).await.json();
    let asked = served.get(&served.operator, "/v1/confirmations").await.json();
    Ids {
        session: text(&begun["id"]),
        call: text(&call["meta"]["recordId"]),
        effect: text(&effect["meta"]["recordId"]),
        later: text(&later["id"]),
        question: text(&asked[0]["id"]),
    }
}

/// Every route of the document, with our ids in its path and the credential of another tenant's
/// administrator: nothing of ours comes back, and nothing is done.
#[tokio::test]
async fn no_route_gives_anything_of_another_tenant() {
    let served = Served::new().await;
    let ids = ids(&served).await;
    let document: Value = serde_json::to_value(haft_server::openapi()).unwrap();
    let ran = served.runs();
    let mut tried = 0;
    for (route, methods) in document["paths"].as_object().unwrap() {
        // Administration is of the administrator's own tenant, whatever the names; see `admin` and
        // `connections`, which have a server that keeps some.
        if ["/v1/admin", "/v1/connections", "/errors"].iter().any(|own| route.starts_with(own)) {
            continue;
        }
        let call = if route.starts_with("/v1/effects") { &ids.effect } else { &ids.later };
        let path = route
            .replace("{agent}", "helper")
            .replace("{session}", &ids.session)
            .replace("{call}", call)
            .replace("{id}", &ids.question)
            .replace("{tool}", "shop__echo");
        let named = path != *route && !route.starts_with("/v1/tools");
        for method in methods.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let body = (method != "GET" && method != "DELETE").then(|| any_body(route));
            // Whatever is said about a tenant beside the credential counts for nothing.
            let says = [("X-Tenant", "ours"), ("X-Haft-Tenant", "ours")];
            let reply = served.send(&served.stranger, &method, &path, &says, body).await;
            let refused = [400, 403, 404].contains(&reply.status);
            assert!(!named || refused, "{method} {path}: {reply:?}");
            for secret in [OURS, &ids.session, &ids.call, &ids.effect, &ids.question] {
                let seen = reply.body.replace(&path, "");
                assert!(!seen.contains(secret), "{method} {path}: {secret}: {reply:?}");
            }
            tried += 1;
        }
    }
    assert!(tried > 30, "only {tried} were tried");
    assert_eq!(served.runs(), ran, "nothing was done");
    let still = served.get(&served.operator, "/v1/confirmations?status=pending").await.json();
    assert_eq!(still[0]["id"], json!(ids.question), "nobody else has decided");
    let session = format!("/v1/agents/helper/sessions/{}", ids.session);
    assert_eq!(served.get(&served.agent, &session).await.json()["phase"], "active");
}

fn any_body(route: &str) -> Value {
    match route.rsplit('/').next().unwrap() {
        "calls" => json!({"tool": "echo", "arguments": {"text": "x"}}),
        "settle" => json!({"happened": true, "note": "x"}),
        "undo" => json!({"turn_group": "g"}),
        "messages" => json!({"message": "x"}),
        "signals" => json!({"signal": "turn_complete"}),
        "{id}" => json!({"approve": true}),
        _ => json!({}),
    }
}

/// An id of another tenant is like one that never was: the answers do not tell them apart.
#[tokio::test]
async fn ids_and_cursors_of_others_are_like_those_that_never_were() {
    let served = Served::new().await;
    let ids = ids(&served).await;
    let spy = |path: &str| path.replace("helper", "spy");
    for (place, id) in [
        ("/v1/agents/helper/sessions/{}", &ids.session),
        ("/v1/agents/helper/calls/{}", &ids.later),
        ("/v1/agents/helper/tools?session={}", &ids.session),
        ("/v1/calls?after={}", &ids.call),
        ("/v1/effects?after={}", &ids.effect),
        ("/v1/confirmations?after={}", &ids.question),
        ("/v1/sessions?after={}", &ids.session),
        ("/v1/events?call={}", &ids.call),
        ("/v1/events?session={}", &ids.session),
        ("/v1/audit?call={}", &ids.call),
        ("/v1/calls?session={}", &ids.session),
    ] {
        let never = "x".repeat(id.len());
        let path = spy(place);
        let theirs = served.get(&served.stranger, &path.replace("{}", id)).await;
        let none = served.get(&served.stranger, &path.replace("{}", &never)).await;
        assert_eq!(theirs.status, none.status, "{place}: {theirs:?}");
        assert_eq!(theirs.body.replace(id.as_str(), &never), none.body, "{place}");
    }
    for id in [&ids.session, &ids.call, &ids.later, &ids.question] {
        let random = id.trim_start_matches(|c: char| !c.is_ascii_digit());
        assert!(random.len() >= 20, "{id} could be guessed");
    }
}

/// A place in the stream of events, which all tenants share, shows nothing of the others.
#[tokio::test]
async fn a_place_in_the_stream_shows_whoever_goes_on_from_it_only_their_own() {
    let served = Served::new().await;
    let open = async |key: &str, last: &str| {
        let mut socket = served.connect().await;
        let ask = format!(
            "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
             Authorization: Bearer {key}\r\n{last}\r\n"
        );
        socket.write_all(ask.as_bytes()).await.unwrap();
        socket
    };
    let until = async |socket: &mut tokio::net::TcpStream, word: &str| {
        let mut seen = String::new();
        while !seen.contains(word) {
            let mut piece = [0; 4096];
            let count = socket.read(&mut piece).await.unwrap();
            assert!(count > 0, "{seen}");
            seen += &String::from_utf8_lossy(&piece[..count]);
        }
        seen
    };
    let mut ours = open(&served.operator, "").await;
    until(&mut ours, "\r\n\r\n").await;
    let body = |text: &str| json!({"tool": "echo", "arguments": {"text": text}});
    served.post(&served.agent, CALLS, body("first")).await;
    let seen = until(&mut ours, "tool_call_result").await;
    let id = seen.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    served.post(&served.agent, CALLS, body(OURS)).await;
    until(&mut ours, OURS).await;
    let mut theirs = open(&served.stranger, &format!("Last-Event-ID: {id}\r\n")).await;
    until(&mut theirs, "\r\n\r\n").await;
    served.post(&served.stranger, "/v1/agents/spy/calls", body("theirs")).await;
    let seen = until(&mut theirs, "theirs").await;
    assert!(!seen.contains(OURS) && !seen.contains("helper"), "{seen}");
}

/// What a caller proves itself with is for us, and goes no further.
#[tokio::test]
async fn nothing_that_a_caller_sent_to_us_is_passed_on() {
    let (served, service) = (Served::new().await, Service::new().await);
    let allow = Some(json!({"allow": ["crm__*"]}));
    served.send(&served.admin, "PUT", "/v1/admin/policies/own", &[], allow).await;
    let body = Some(json!({"contract": service.contract(), "summary": "Looks customers up."}));
    let place = "/v1/admin/definitions/crm__find_customer";
    assert_eq!(served.send(&served.admin, "PUT", place, &[], body).await.status, 201);
    let sent = [
        ("Cookie", "sid=4711-cookie"),
        ("X-Api-Key", "4711-api-key"),
        ("Idempotency-Key", "4711-idempotency"),
        ("X-Forwarded-For", "203.0.113.47"),
        ("Proxy-Authorization", "Basic 4711-proxy"),
    ];
    let call = json!({"tool": "crm__find_customer", "arguments": {"name": "Ann"}});
    let reply = served.send(&served.agent, "POST", CALLS, &sent, Some(call.clone())).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let params = json!({"name": "crm__find_customer", "arguments": {"name": "Ann"}});
    let reply = crate::mcp::asked(&served, &served.agent, "tools/call", params, &sent).await;
    assert_eq!(reply.json()["result"]["isError"], false, "{reply:?}");
    let heard = service.heard();
    assert_eq!(heard.len(), 2, "{heard:?}");
    for request in &heard {
        let low = request.to_ascii_lowercase();
        for (name, value) in &sent {
            let head = format!("{}:", name.to_ascii_lowercase());
            assert!(!request.contains(value) && !low.contains(&head), "{name}: {request}");
        }
        assert!(!request.contains(&served.agent), "{request}");
        assert!(!low.contains("authorization:"), "{request}");
    }
}

/// One tenant sends nineteen of twenty requests, and keeps as much as it can: the other is served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_noisy_tenant_keeps_the_others_from_nothing() {
    let served = Arc::new(Served::with(Limits { at_once: 16, ..Limits::default() }).await);
    let mut noise = JoinSet::new();
    for _ in 0..19 {
        let served = served.clone();
        noise.spawn(async move {
            let mut refused = 0;
            for _ in 0..20 {
                let call = json!({"tool": "echo", "arguments": {"text": "wait 20"}});
                refused += usize::from(served.post(&served.agent, CALLS, call).await.status == 429);
            }
            refused
        });
    }
    for at in 0..40 {
        let call = json!({"tool": "echo", "arguments": {"text": "hi"}});
        let reply = served.post(&served.stranger, "/v1/agents/spy/calls", call).await;
        assert_eq!(reply.status, 200, "call {at}: {reply:?}");
    }
    let refused: usize = noise.join_all().await.into_iter().sum();
    assert!(refused > 0, "it was not noisy");
}

/// Whoever opens streams and takes nothing of them costs a bounded number of events, and nobody waits.
#[tokio::test]
async fn watchers_that_take_nothing_hold_nobody_up_and_cost_a_bound() {
    let served = Served::new().await;
    let mut stalled = Vec::new();
    for _ in 0..20 {
        let mut socket = served.connect().await;
        let ask = format!(
            "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\
             Authorization: Bearer {}\r\n\r\n",
            served.operator
        );
        socket.write_all(ask.as_bytes()).await.unwrap();
        let mut head = [0; 15];
        socket.read_exact(&mut head).await.unwrap();
        stalled.push(socket);
    }
    let before = resident_mib();
    let text = "x".repeat(64 << 10);
    for at in 0..1_000 {
        let call = json!({"tool": "echo", "arguments": {"text": text}});
        let reply = served.post(&served.agent, CALLS, call).await;
        assert_eq!(reply.status, 200, "call {at}: {reply:?}");
    }
    // A thousand calls are 64 MiB of events; the store in memory keeps their records, too.
    let grown = resident_mib().saturating_sub(before);
    assert!(grown < 600, "{grown} MiB more");
    drop(stalled);
}

/// Everybody sends the same again at once, after the answer was lost: it is done once, and whoever is
/// refused is told when to come back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_who_comes_back_at_once_meets_the_same_effect() {
    let served = Arc::new(Served::new().await);
    let mut all = JoinSet::new();
    for _ in 0..400 {
        let served = served.clone();
        all.spawn(async move {
            let key = [("Idempotency-Key", "storm")];
            let call = json!({"tool": "send", "arguments": {"text": "wait 100"}});
            for _ in 0..1_000 {
                let reply =
                    served.send(&served.agent, "POST", CALLS, &key, Some(call.clone())).await;
                match reply.status {
                    200 => return reply,
                    409 | 429 | 503 => {
                        assert!(reply.header("retry-after").is_some(), "{reply:?}");
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    _ => panic!("{reply:?}"),
                }
            }
            panic!("told to come back a thousand times");
        });
    }
    let replies: Vec<Reply> = all.join_all().await;
    assert_eq!((replies.len(), served.runs()), (400, 1));
    let fresh = replies.iter().filter(|reply| reply.json()["meta"]["cached"] == false).count();
    assert!(fresh >= 1, "somebody was answered by the call itself");
}

/// What an MCP client keeps for us is good for whoever was asked, and for a while.
#[tokio::test]
async fn a_state_is_for_whoever_was_asked_and_for_a_while() {
    let clock = Manual::at(1_800_000_000_000);
    let store = Arc::new(Memory::with_clock(clock.clone()));
    let served = Served::on(store, Limits::default()).await;
    let meta = crate::mcp::meta(json!({"elicitation": {}}));
    let asking = json!({"name": "pay", "arguments": {"text": "5"}, "_meta": meta});
    let ask = async |key: &str, params: Value| {
        crate::mcp::asked(&served, key, "tools/call", params, &[]).await.json()
    };
    let yes = json!({"haft/approval": {"action": "accept", "content": {"approve": true}}});
    let answer = |state: &Value| {
        let mut params = asking.clone();
        (params["requestState"], params["inputResponses"]) = (state.clone(), yes.clone());
        params
    };
    let asked = ask(&served.companion, asking.clone()).await;
    let state = &asked["result"]["requestState"];
    assert!(state.is_string(), "{asked}");
    let other = ask(&served.agent, answer(state)).await;
    assert_eq!(other["error"]["code"], -32602, "of somebody else: {other}");
    clock.advance(16 * 60 * 1000);
    let late = ask(&served.companion, answer(state)).await;
    assert_eq!(late["error"]["code"], -32602, "too late: {late}");
    assert_eq!(served.runs(), 0);
}

/// What is held back because the same act may have been done is done for an operator who says so, over
/// each door, and for nobody else.
#[tokio::test]
async fn only_an_operator_has_an_act_done_despite_an_unknown_outcome() {
    let settings = Settings { default_timeout: Duration::from_millis(50), ..Settings::default() };
    let served = Served::running(|builder| builder.settings(settings)).await;
    let calls = "/v1/agents/helper/calls";
    let call = |text: &str, key: &str, despite: Value| {
        json!({
            "tool": "send", "arguments": {"text": text}, "idempotency_key": key,
            "despite_unknown": despite,
        })
    };
    let lost = served.post(&served.agent, calls, call("wait", "k", json!(false))).await.json();
    assert_eq!(lost["error"]["kind"], "unknown_outcome", "{lost}");
    let again = served.post(&served.operator, calls, call("WAIT", "k2", json!(false))).await;
    assert!(again.body.contains("an operator calls with `despite_unknown`"), "{again:?}");
    let run = served.runs();
    let told = served.post(&served.agent, calls, call("WAIT", "k2", json!(true))).await;
    assert_eq!(told.status, 403, "{told:?}");
    let batch = json!({"calls": [call("WAIT", "k2", json!(true))]});
    let told = served.post(&served.agent, calls, batch).await;
    assert_eq!(told.status, 403, "{told:?}");
    let mut meta = mcp::meta(json!({}));
    meta["haft/despiteUnknown"] = json!(true);
    let with = json!({ "_meta": meta });
    let told = mcp::call(&served, "send", json!({"text": "WAIT"}), with.clone()).await;
    assert!(told.to_string().contains("needs the role `operator`"), "{told}");
    let mut line = Line::open(&served, &served.agent, "").await;
    let frame =
        |key: &str| json!({"type": "call", "id": key, "call": call("WAIT", key, json!(true))});
    assert_eq!(line.ask(frame("k2")).await["problem"]["status"], 403);
    assert_eq!(served.runs(), run, "nothing was done");

    let done = served.post(&served.operator, calls, call("WAIT", "k2", json!(true))).await;
    assert_eq!(done.status, 200, "{done:?}");
    let mut line = Line::open(&served, &served.operator, "").await;
    assert_eq!(line.ask(frame("k3")).await["result"]["ok"], true);
    let told =
        mcp::call_with(&served, &served.operator, "send", json!({"text": "WAIT"}), with).await;
    assert_eq!(told["result"]["isError"], false, "{told}");
    assert_eq!(served.runs(), run + 3);
}

/// Whoever says what became of an effect says how that is known.
#[tokio::test]
async fn settling_needs_a_note() {
    let settings = Settings { default_timeout: Duration::from_millis(50), ..Settings::default() };
    let served = Served::running(|builder| builder.settings(settings)).await;
    let body = json!({"tool": "send", "arguments": {"text": "wait"}, "idempotency_key": "k"});
    let reply = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    let call = reply.json()["meta"]["recordId"].as_str().unwrap().to_owned();
    let path = format!("/v1/effects/{call}/settle");
    let empty = json!({"happened": true, "note": " \n\u{200b}"});
    for (without, status) in [(json!({"happened": true}), 400), (empty, 422)] {
        let reply = served.post(&served.operator, &path, without).await;
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.body.contains("note"), "{reply:?}");
    }
    let not = json!({"happened": false, "note": "seen", "answer": {"sent": "x"}});
    let reply = served.post(&served.operator, &path, not).await;
    assert_eq!(reply.status, 400, "what did not happen answers nothing: {reply:?}");
    let reply =
        served.post(&served.operator, &path, json!({"happened": true, "note": "seen"})).await;
    assert_eq!(reply.json()["resolution"]["note"], "seen", "{reply:?}");
    // What it answered may be found out later, and is given to whoever asks again.
    let answered = json!({"happened": true, "note": "read", "answer": {"sent": "wait"}});
    let reply = served.post(&served.operator, &path, answered.clone()).await;
    assert_eq!(
        (reply.status, reply.json()["state"].clone()),
        (200, json!("happened")),
        "{reply:?}"
    );
    let body = json!({"tool": "send", "arguments": {"text": "wait"}, "idempotency_key": "k"});
    let again = served.post(&served.agent, "/v1/agents/helper/calls", body).await;
    assert_eq!(again.json()["data"], json!({"sent": "wait"}), "{again:?}");
    assert_eq!(served.post(&served.operator, &path, answered).await.status, 409);
}
