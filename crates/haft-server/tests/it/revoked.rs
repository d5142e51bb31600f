//! A key that is revoked while calls that it was to open stand in line: what has begun goes on, and none of the
//! others begins.

use std::sync::Arc;
use std::time::Duration;

use haft_server::Limits;
use haft_store::Memory;
use serde_json::{Value, json};

use crate::client::{Reply, Served};

const CALLS: &str = "/v1/agents/helper/calls";

/// A key of the agent, and the place where it is revoked.
pub(crate) async fn made(served: &Served) -> (String, String) {
    let wanted = json!({"principal": "agent:helper", "roles": ["agent"]});
    let made = served.post(&served.admin, "/v1/admin/keys", wanted).await;
    let place = made.header("location").unwrap().to_owned();
    (made.json()["key"].as_str().unwrap().to_owned(), place)
}

/// Three calls, of which the first waits.
fn batch() -> Value {
    let call = |text: &str| json!({"tool": "send", "critical": false, "arguments": {"text": text}});
    json!({"calls": [call("wait"), call("2"), call("3")]})
}

fn message() -> Value {
    let call = |text: &str| {
        let arguments = json!({"text": text}).to_string();
        json!({"id": text, "type": "function",
            "function": {"name": "shop__send", "arguments": arguments}})
    };
    let calls = [call("wait"), call("2"), call("3")];
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// Begins what is asked for, revokes the key through another server on the same store while the first call
/// waits, and gives what came of it.
async fn revoked_between(path: &str, prefer: &str, asked: Value) -> (Served, Reply) {
    let store = Memory::new();
    let served = Arc::new(Served::on(Arc::new(store.join()), Limits::default()).await);
    let other = Served::on(Arc::new(store.join()), Limits::default()).await;
    let (key, place) = made(&served).await;
    let asking = tokio::spawn({
        let (served, key) = (served.clone(), key.clone());
        let (path, prefer) = (path.to_owned(), prefer.to_owned());
        async move {
            let headers = [("Idempotency-Key", "k"), ("Prefer", prefer.as_str())];
            served.send(&key, "POST", &path, &headers, Some(asked)).await
        }
    });
    served.ran(1).await;
    let gone = other.send(&other.admin, "DELETE", &place, &[], None).await;
    assert_eq!(gone.status, 200, "{gone:?}");
    while served.get(&key, "/v1/agents/helper/tools").await.status != 401 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    served.gate()(1);
    let reply = asking.await.unwrap();
    (Arc::into_inner(served).unwrap(), reply)
}

#[tokio::test]
async fn what_stands_behind_in_a_batch_does_not_begin_once_its_key_is_revoked() {
    for (path, prefer, asked) in [
        (CALLS.to_owned(), "wait=60", batch()),
        (CALLS.to_owned(), "respond-async", batch()),
        (format!("{CALLS}?format=openai"), "wait=60", message()),
        (format!("{CALLS}?format=openai"), "respond-async", message()),
    ] {
        let (served, mut reply) = revoked_between(&path, prefer, asked).await;
        if let Some(place) = reply.header("location").map(str::to_owned) {
            // The same agent fetches it with another key.
            reply = served.get(&served.agent, &place).await;
            while reply.status == 202 {
                reply = served.get(&served.agent, &place).await;
            }
        }
        assert_eq!(served.runs(), 1, "{path} {prefer}: {reply:?}");
        let refused = reply.body.matches(r#""kind":"denied""#).count();
        assert_eq!(refused, 2, "{path} {prefer}: {reply:?}");
        assert!(reply.body.contains("asked with has been revoked"), "{reply:?}");
        let done = served.get(&served.operator, "/v1/effects").await.json();
        assert_eq!((done[0]["state"].as_str(), done.get(1)), (Some("succeeded"), None), "{done}");
    }
}
