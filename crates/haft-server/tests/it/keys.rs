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
