//! Idempotency keys at every door: what can be one, and that no two are one.

use serde_json::{Value, json};

use crate::client::Served;
use crate::mcp;
use crate::socket::Line;

const CALLS: &str = "/v1/agents/helper/calls";

fn send() -> Value {
    json!({"tool": "send", "arguments": {"text": "hi"}})
}

#[tokio::test]
async fn what_cannot_be_a_key_is_refused_at_every_door() {
    let served = Served::new().await;
    let long = "x".repeat(4096);
    for key in ["a b", "a\tb", long.as_str(), &"x".repeat(256), "\"a b\""] {
        let header = [("Idempotency-Key", key)];
        let reply = served.send(&served.agent, "POST", CALLS, &header, Some(send())).await;
        assert_eq!(reply.status, 400, "{reply:?}");
        assert!(reply.body.contains("1 to 255 visible ASCII"), "{reply:?}");
    }
    for key in ["", " ", "a b", "a\nb", "a\r\nb", "\0", "é", "🔑", "\u{1b}[2J", &long] {
        let mut body = send();
        body["idempotency_key"] = json!(key);
        let reply = served.post(&served.agent, CALLS, body.clone()).await;
        assert_eq!(reply.json()["error"]["kind"], "invalid_arguments", "{key:?}: {reply:?}");
        assert!(reply.body.contains("1 to 255 visible ASCII"), "{reply:?}");
        let batch = served.post(&served.agent, CALLS, json!({"calls": [body]})).await;
        assert!(batch.body.contains("1 to 255 visible ASCII"), "{key:?}: {batch:?}");
        let mut meta = mcp::meta(json!({}));
        meta["haft/idempotencyKey"] = json!(key);
        let with = json!({"_meta": meta});
        let told = mcp::call(&served, "send", json!({"text": "hi"}), with).await.to_string();
        assert!(told.contains("1 to 255 visible ASCII"), "{key:?}: {told}");
        let mut line = Line::open(&served, &served.agent, "").await;
        let told = line.ask(json!({"type": "call", "id": "1", "call": body})).await;
        assert_eq!(told["result"]["error"]["kind"], "invalid_arguments", "{key:?}: {told}");
        assert!(told.to_string().contains("1 to 255 visible ASCII"), "{key:?}: {told}");
    }
    assert_eq!(served.runs(), 0);
}

/// In one session as over HTTP: a key is the caller's own, whatever is in it.
#[tokio::test]
async fn keys_over_a_socket_do_not_run_together() {
    let served = Served::new().await;
    let mut line = Line::open(&served, &served.agent, "").await;
    let longest = "x".repeat(255);
    let keys = ["a", "A", "a:b", "a/0", "\"a", "a\"", "\\u0000", "{}", longest.as_str()];
    for (at, key) in keys.into_iter().enumerate() {
        for cached in [false, true] {
            let mut call = send();
            call["idempotency_key"] = json!(key);
            let frame = json!({"type": "call", "id": format!("{at} {cached}"), "call": call});
            let told = line.ask(frame).await;
            assert_eq!(told["result"]["meta"]["cached"], cached, "{key}: {told}");
        }
        assert_eq!(served.runs(), at + 1, "{key}");
    }
    // The same key over HTTP is the same key.
    let header = [("Idempotency-Key", "a:b")];
    let reply = served.send(&served.agent, "POST", CALLS, &header, Some(send())).await;
    assert_eq!(reply.json()["meta"]["cached"], true, "{reply:?}");
    assert_eq!(served.runs(), keys.len());
}

#[tokio::test]
async fn what_is_said_in_the_wrong_place_or_twice_does_nothing() {
    let served = Served::new().await;
    for query in ["dry_run=true", "session=s", "mode=voice", "connection=c"] {
        let at = format!("{CALLS}?{query}");
        for body in [send(), json!({"calls": [send()]})] {
            let reply = served.post(&served.agent, &at, body).await;
            assert_eq!(reply.status, 400, "{query}: {reply:?}");
            assert!(reply.body.contains("in its body"), "{query}: {reply:?}");
        }
    }
    let mut body = send();
    body["idempotency_key"] = json!("one");
    let header = [("Idempotency-Key", "another")];
    let reply = served.send(&served.agent, "POST", CALLS, &header, Some(body)).await;
    assert_eq!(reply.status, 400, "{reply:?}");
    let mut meta = mcp::meta(json!({}));
    meta["haft/dry_run"] = json!(true);
    let with = json!({"_meta": meta});
    let told = mcp::call(&served, "send", json!({"text": "hi"}), with).await.to_string();
    assert!(told.contains("`haft/dry_run` is not known"), "{told}");
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn keys_that_look_alike_are_different_keys() {
    let served = Served::new().await;
    let longest = "x".repeat(255);
    // A pair of quotes is the header's way to write a text; all else is part of the key.
    let keys = ["a", "A", "a:b", "a/0", "\"a", "a\"", "\"\"a\"\"", longest.as_str()];
    for key in keys {
        for cached in [false, true] {
            let header = [("Idempotency-Key", key)];
            let reply = served.send(&served.agent, "POST", CALLS, &header, Some(send())).await;
            assert_eq!(
                (reply.status, &reply.json()["meta"]["cached"]),
                (200, &json!(cached)),
                "{key}"
            );
        }
    }
    let quoted = [("Idempotency-Key", "\"a\"")];
    let reply = served.send(&served.agent, "POST", CALLS, &quoted, Some(send())).await;
    assert_eq!(reply.json()["meta"]["cached"], true, "the same as without");
    assert_eq!(served.runs(), keys.len());
}

/// Whose act it is, is the person: with a key of hers or with an agent's that acts for her.
#[tokio::test]
async fn an_agent_that_acts_for_somebody_is_in_her_sessions_and_under_her_keys() {
    let served = Served::new().await;
    let ann = json!({"principal": "user:ann", "roles": ["operator"]});
    let ann = served.post(&served.admin, "/v1/admin/keys", ann).await.json()["key"].clone();
    let ann = ann.as_str().unwrap();
    let begun = served.post(ann, "/v1/agents/helper/sessions", json!({"mode": "text"})).await;
    let place = begun.header("location").unwrap().to_owned();
    // Her own, the agent's for her, and the agent's for itself.
    for (key, cached, status) in [
        (ann, json!(false), 200),
        (&served.companion, json!(true), 200),
        (&served.agent, json!(false), 410),
    ] {
        let header = [("Idempotency-Key", "k")];
        let reply = served.send(key, "POST", CALLS, &header, Some(send())).await;
        assert_eq!((reply.status, &reply.json()["meta"]["cached"]), (200, &cached), "{reply:?}");
        assert_eq!(served.get(key, &place).await.status, status, "{cached}");
        let said = json!({"message": "hello"});
        let message = served.post(key, &format!("{place}/messages"), said).await;
        assert_eq!(message.status, status, "{message:?}");
    }
    assert_eq!(served.runs(), 2);
}

/// An assistant's message of Chat Completions that calls `send` with each of these.
fn message(texts: &[&str]) -> Value {
    let call = |(at, text): (usize, &&str)| {
        json!({"id": format!("c-{at}"), "type": "function", "function":
            {"name": "shop__send", "arguments": json!({"text": text}).to_string()}})
    };
    let calls: Vec<Value> = texts.iter().enumerate().map(call).collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// The ways in which `send` can be asked for under one key.
#[derive(Clone, Copy, Debug)]
enum Way {
    Header,
    Body,
    Batch,
    Message,
    Mcp,
    Socket,
}

async fn ask(served: &Served, way: Way, key: &str, texts: &[&str]) -> String {
    let call = |text: &&str| json!({"tool": "send", "arguments": {"text": text}});
    let (mut one, header) = (call(&texts[0]), [("Idempotency-Key", key)]);
    one["idempotency_key"] = json!(key);
    let posted = format!("{CALLS}?format=openai");
    let post = async |path: &str, body: Value| {
        served.send(&served.agent, "POST", path, &header, Some(body)).await.body
    };
    match way {
        Way::Header => post(CALLS, call(&texts[0])).await,
        Way::Body => served.post(&served.agent, CALLS, one).await.body,
        Way::Batch => {
            let calls: Vec<Value> = texts.iter().map(call).collect();
            post(CALLS, json!({ "calls": calls })).await
        }
        Way::Message => post(&posted, message(texts)).await,
        Way::Mcp => {
            let mut meta = mcp::meta(json!({}));
            meta["haft/idempotencyKey"] = json!(key);
            let with = json!({ "_meta": meta });
            mcp::call(served, "send", json!({"text": texts[0]}), with).await.to_string()
        }
        Way::Socket => {
            let mut line = Line::open(served, &served.agent, "").await;
            line.ask(json!({"type": "call", "id": "1", "call": one})).await.to_string()
        }
    }
}

#[tokio::test]
async fn an_act_is_one_under_its_key_whichever_way_it_comes() {
    use Way::{Batch, Body, Header, Mcp, Message, Socket};
    let served = Served::new().await;
    let mut done = 0;
    for first in [Header, Body, Batch, Message, Mcp, Socket] {
        let key = format!("{first:?}");
        ask(&served, first, &key, &["a"]).await;
        done += 1;
        for again in [Header, Body, Batch, Message, Mcp, Socket] {
            let told = ask(&served, again, &key, &["a"]).await;
            assert_eq!(served.runs(), done, "{first:?}, then {again:?}: {told}");
        }
    }
    for first in [Batch, Message] {
        let key = format!("several, {first:?}").replace(' ', "");
        ask(&served, first, &key, &["b", "a"]).await;
        done += 2;
        for again in [Header, Body, Batch, Message, Mcp, Socket] {
            for texts in [&["a"][..], &["b"], &["a", "b"]] {
                let told = ask(&served, again, &key, texts).await;
                assert_eq!(served.runs(), done, "{first:?}, then {again:?} {texts:?}: {told}");
            }
        }
    }
}

#[tokio::test]
async fn a_message_counts_what_it_repeats_and_conflicts_as_a_call_does() {
    let served = Served::new().await;
    for (texts, done) in [(&["a", "a"][..], 2), (&["a", "a"], 2), (&["a", "a", "a"], 3)] {
        ask(&served, Way::Message, "twice", texts).await;
        assert_eq!(served.runs(), done, "{texts:?}");
    }
    ask(&served, Way::Message, "one", &["a"]).await;
    let told = ask(&served, Way::Message, "one", &["b"]).await;
    assert!(told.contains("conflict"), "{told}");
    assert_eq!(served.runs(), 4);
}

/// Nobody can name the key of another's message.
#[tokio::test]
async fn a_callers_own_key_is_no_place_in_a_message() {
    let served = Served::new().await;
    ask(&served, Way::Message, "k", &["a"]).await;
    for (text, done) in [("b", 2), ("b", 2)] {
        let told = ask(&served, Way::Header, "k/0", &[text]).await;
        assert!(told.contains("\"ok\":true"), "{told}");
        assert_eq!(served.runs(), done);
    }
    let told = ask(&served, Way::Header, "k/0", &["c"]).await;
    assert!(told.contains("conflict"), "{told}");
    // The other way round: what stands under a caller's own key is not the message's.
    ask(&served, Way::Header, "l/0", &["a"]).await;
    ask(&served, Way::Message, "l", &["a"]).await;
    assert_eq!(served.runs(), 4);
}
