//! Batches and providers' messages, watched and answered later, and what handlers say of how far they
//! are.

use serde_json::{Value, json};

use crate::client::{Reply, Served};

const CALLS: &str = "/v1/agents/helper/calls";
const WATCH: [(&str, &str); 1] = [("Accept", "text/event-stream")];
const LATER: (&str, &str) = ("Prefer", "respond-async");

fn echo(text: &str) -> Value {
    json!({"tool": "echo", "arguments": {"text": text}})
}

fn message(texts: &[&str]) -> Value {
    let call = |text: &&str| {
        json!({"id": text, "type": "function",
               "function": {"name": "shop__echo", "arguments": json!({"text": text}).to_string()}})
    };
    let calls: Vec<Value> = texts.iter().map(call).collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// The answer under the address of work that was accepted.
async fn fetched(served: &Served, accepted: &Reply) -> Value {
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let place = accepted.header("location").unwrap();
    loop {
        let answer = served.get(&served.agent, place).await;
        if answer.status != 202 {
            assert_eq!(answer.status, 200, "{answer:?}");
            return answer.json();
        }
    }
}

#[tokio::test]
async fn a_watched_batch_tells_each_end_and_last_the_whole() {
    let served = Served::new().await;
    let mut named = echo("1");
    named["id"] = json!("first");
    let calls = json!({"calls": [named, {"tool": "nothing"}, echo("3")]});
    let reply = served.send(&served.agent, "POST", CALLS, &WATCH, Some(calls.clone())).await;
    let told = reply.events();
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "tool_call_start",
        "tool_call_result",
        "result",
        "tool_call_result",
        "result",
        "result",
        "answer",
    ];
    assert_eq!(names, expected, "{reply:?}");
    let (first, second, third) = (&told[2].1, &told[4].1, &told[5].1);
    assert_eq!(
        (&first["id"], &first["index"], &first["ok"]),
        (&json!("first"), &json!(0), &json!(true))
    );
    assert_eq!(told[0].1["modelCall"], "first");
    assert_eq!((&second["index"], &second["error"]["kind"]), (&json!(1), &json!("unavailable")));
    assert_eq!((&third["index"], &third["skipped"]), (&json!(2), &json!(true)));
    let whole = &told[6].1;
    assert_eq!(whole[0]["meta"]["callId"], first["meta"]["callId"]);
    assert_eq!(whole[2], json!({"skipped": true}));
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn a_batch_that_is_too_long_is_refused_before_anything_is_told() {
    let served = Served::new().await;
    let calls = json!({"calls": vec![echo("x"); 11]});
    for headers in [&WATCH[..], &[LATER], &[]] {
        let reply = served.send(&served.agent, "POST", CALLS, headers, Some(calls.clone())).await;
        assert_eq!(reply.status, 422, "{headers:?}: {reply:?}");
    }
    assert_eq!(served.runs(), 0);
}

#[tokio::test]
async fn a_watched_message_tells_each_end_and_last_what_to_append() {
    let served = Served::new().await;
    let path = format!("{CALLS}?format=openai");
    let said = Some(message(&["a", "steps 1"]));
    let reply = served.send(&served.agent, "POST", &path, &WATCH, said).await;
    let told = reply.events();
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "tool_call_start",
        "tool_call_result",
        "result",
        "tool_call_start",
        "progress",
        "log",
        "tool_call_result",
        "result",
        "answer",
    ];
    assert_eq!(names, expected, "{reply:?}");
    assert_eq!((&told[7].1["index"], &told[7].1["id"]), (&json!(1), &told[4].1["id"]));
    let answer = &told[8].1;
    assert_eq!(
        (&told[2].1["id"], &told[7].1["id"]),
        (&json!("a"), &answer["messages"][1]["tool_call_id"])
    );
    assert_eq!(answer["messages"].as_array().unwrap().len(), 2, "{answer}");
    assert_eq!(answer["messages"][0]["tool_call_id"], "a", "{answer}");
    assert_eq!(answer["outcomes"][1]["ok"], true, "{answer}");
}

#[tokio::test]
async fn progress_is_told_in_order_and_before_the_end() {
    let served = Served::new().await;
    let mut call = echo("steps 40");
    call["id"] = json!("mine");
    let reply = served.send(&served.agent, "POST", CALLS, &WATCH, Some(call)).await;
    let told = reply.events();
    let steps: Vec<u64> = told
        .iter()
        .filter(|(name, _)| name == "progress")
        .map(|(_, said)| said["progress"].as_f64().unwrap() as u64)
        .collect();
    assert_eq!(steps, (1..=40).collect::<Vec<_>>());
    let at = |wanted: &str| told.iter().position(|(name, _)| name == wanted).unwrap();
    assert!(at("tool_call_start") < at("progress") && at("progress") < at("log"), "{told:?}");
    assert_eq!(at("result"), told.len() - 1, "{told:?}");
    let (_, log) = &told[at("log")];
    assert_eq!(
        (&log["id"], &log["level"], &log["data"]),
        (&json!("mine"), &json!("warning"), &json!({"steps": 40}))
    );
}

/// A handler that has lost its way is stopped long before it fills anything.
#[tokio::test]
async fn a_million_steps_are_bounded() {
    let served = Served::new().await;
    let reply =
        served.send(&served.agent, "POST", CALLS, &WATCH, Some(echo("steps 1000000"))).await;
    let told = reply.events();
    let steps = told.iter().filter(|(name, _)| name == "progress").count();
    assert!((1..=1_000).contains(&steps), "{steps}");
    assert_eq!(told.last().unwrap().0, "result");
}

#[tokio::test]
async fn a_batch_and_a_message_can_be_fetched_later_as_a_whole() {
    let served = Served::new().await;
    let calls = json!({"calls": [echo("1"), echo("2")]});
    let accepted = served.send(&served.agent, "POST", CALLS, &[LATER], Some(calls)).await;
    let whole = fetched(&served, &accepted).await;
    assert_eq!(whole[1]["data"]["said"]["text"], "2", "{whole}");
    let path = format!("{CALLS}?format=openai");
    let said = Some(message(&["a", "b"]));
    let accepted = served.send(&served.agent, "POST", &path, &[LATER], said).await;
    let whole = fetched(&served, &accepted).await;
    assert_eq!(whole["messages"][1]["tool_call_id"], "b", "{whole}");
    assert_eq!(whole["outcomes"].as_array().unwrap().len(), 2, "{whole}");
}

#[tokio::test]
async fn what_is_sent_again_while_it_is_worked_on_has_the_same_address() {
    let served = Served::new().await;
    let calls = json!({"calls": [
        {"tool": "send", "arguments": {"text": "a"}}, echo("wait"),
        {"tool": "send", "arguments": {"text": "b"}}]});
    let keyed = [LATER, ("Idempotency-Key", "k")];
    let send =
        async || served.send(&served.agent, "POST", CALLS, &keyed, Some(calls.clone())).await;
    let first = send().await;
    served.ran(2).await;
    let again = send().await;
    assert_eq!(first.header("location"), again.header("location"));
    let other = [LATER, ("Idempotency-Key", "other")];
    let body = Some(echo("x"));
    let other = served.send(&served.agent, "POST", CALLS, &other, body).await;
    assert_ne!(first.header("location"), other.header("location"));
    served.gate()(2);
    let whole = fetched(&served, &first).await;
    assert_eq!(whole[2]["ok"], true, "{whole}");
    // Once it has ended, the ledger knows what was done: effects are not done again.
    let again = fetched(&served, &send().await).await;
    assert_eq!(again[0]["meta"]["cached"], true, "{again}");
    assert_eq!(served.runs(), 5, "send, wait, send, x, and wait once more");
}

#[tokio::test]
async fn whoever_stops_watching_does_not_stop_the_batch() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let served = Served::new().await;
    let body = json!({"calls": [echo("wait"), echo("2")]}).to_string();
    let mut socket = served.connect().await;
    let ask = format!(
        "POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Accept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        served.agent,
        body.len()
    );
    socket.write_all(ask.as_bytes()).await.unwrap();
    let mut head = [0; 15];
    socket.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    served.ran(1).await;
    drop(socket);
    served.gate()(1);
    served.ran(2).await;
}
