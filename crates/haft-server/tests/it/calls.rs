//! Calls: one, several, later, watched, and in a provider's words.

use haft_runtime::policy::Rules;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::Served;
use crate::mcp;
use crate::socket::Line;

const CALLS: &str = "/v1/agents/helper/calls";

#[tokio::test]
async fn a_call_goes_through_the_one_path() {
    let served = Served::new().await;
    let reply = served
        .post(&served.agent, CALLS, json!({"tool": "echo", "arguments": {"text": "hi"}}))
        .await;
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(reply.json()["data"], json!({"said": {"text": "hi"}}));
    assert_eq!(reply.json()["meta"]["tool"], "shop__echo");
    let wrong = served
        .post(&served.agent, CALLS, json!({"tool": "echo", "arguments": {"txt": "hi"}}))
        .await;
    assert_eq!(wrong.status, 422);
    assert_eq!(wrong.json()["error"]["kind"], "invalid_arguments");
    let none = served.post(&served.agent, CALLS, json!({"tool": "nothing"})).await;
    assert_eq!((none.status, &none.json()["error"]["kind"]), (404, &json!("unavailable")));
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn a_writing_call_needs_a_key_and_is_done_once_under_it() {
    let served = Served::new().await;
    let body = json!({"tool": "send", "arguments": {"text": "hi"}});
    let bare = served.post(&served.agent, CALLS, body.clone()).await;
    assert_eq!(bare.status, 400);
    assert_eq!(bare.json()["error"]["kind"], "idempotency_key_required");
    assert_eq!(bare.json()["error"]["idempotencyRequired"], true);
    let nought = json!({"tool": "send", "idempotency_key": "order-7", "occurrence": 0});
    let nought = served.post(&served.agent, CALLS, nought).await;
    assert!(nought.status == 400 && nought.body.contains("from 1"), "{nought:?}");
    for cached in [false, true] {
        let key = [("Idempotency-Key", "order-7")];
        let reply = served.send(&served.agent, "POST", CALLS, &key, Some(body.clone())).await;
        assert_eq!((reply.status, &reply.json()["meta"]["cached"]), (200, &json!(cached)));
    }
    let key = [("Idempotency-Key", "order-7")];
    let other = json!({"tool": "send", "arguments": {"text": "else"}});
    let reply = served.send(&served.agent, "POST", CALLS, &key, Some(other)).await;
    assert_eq!((reply.status, &reply.json()["error"]["kind"]), (409, &json!("conflict")));
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn a_key_stands_for_its_acts_however_they_are_sent() {
    let send = |text: &str| json!({"tool": "send", "arguments": {"text": text}});
    let echo = json!({"tool": "echo"});
    let (a, b) = (send("a"), send("b"));
    let with = |name: &str, value: Value| {
        let mut call = send("a");
        call[name] = value;
        call
    };
    let over = |connection: &str| with("connection", json!(connection));
    let nth = |nth: u32| with("occurrence", json!(nth));
    let (long, text) =
        (with("tool", json!("shop__send")), with("arguments", json!(r#"{"text":"a"}"#)));
    let several = |calls: &[&Value]| json!({ "calls": calls });
    // What is sent under one key, and how many acts have been done after each.
    for requests in [
        vec![(a.clone(), 1), (several(&[&a]), 1), (several(&[&echo, &a]), 1)],
        vec![(several(&[&echo, &a]), 1), (several(&[&a]), 1), (a.clone(), 1)],
        vec![(several(&[&a, &b]), 2), (several(&[&b]), 2), (several(&[&b, &a]), 2)],
        vec![(several(&[&a, &b]), 2), (several(&[&send("c"), &a, &b]), 3)],
        vec![(several(&[&a, &a]), 2), (several(&[&a]), 2), (several(&[&a, &a, &a]), 3)],
        vec![(a.clone(), 1), (several(&[&b]), 1), (b.clone(), 1)],
        // What was sent alone does not stand in the way of others that are sent with it.
        vec![(a.clone(), 1), (several(&[&a, &b]), 2), (several(&[&b, &a]), 2), (b.clone(), 2)],
        // The same over two connections is not the same twice.
        vec![(several(&[&over("x"), &over("y")]), 2), (several(&[&over("y")]), 2)],
        vec![(several(&[&over("x"), &over("y")]), 2), (several(&[&over("y"), &over("x")]), 2)],
        // A tool is the same under its long name and its short one, and arguments however sent.
        vec![(several(&[&a, &long]), 2), (several(&[&long, &a]), 2), (a.clone(), 2)],
        vec![(several(&[&a, &text]), 2), (several(&[&text]), 2), (several(&[&a, &a]), 2)],
        // Whoever says which repetition they mean is taken at their word.
        vec![(several(&[&a, &nth(2)]), 2), (nth(2), 2), (several(&[&nth(2), &a]), 2)],
        vec![(several(&[&nth(2), &a, &a]), 3), (several(&[&a, &a, &nth(2)]), 3)],
    ] {
        let served = Served::new().await;
        let mut echoes = 0;
        for (request, done) in requests {
            let key = [("Idempotency-Key", "order-8")];
            let said = request.to_string();
            echoes += said.matches("echo").count();
            served.send(&served.agent, "POST", CALLS, &key, Some(request)).await;
            assert_eq!(served.runs() - echoes, done, "{said}");
        }
    }
}

#[tokio::test]
async fn a_batch_stops_after_a_critical_failure() {
    let served = Served::new().await;
    let calls = json!({"calls": [
        {"tool": "echo", "arguments": {"text": "1"}},
        {"tool": "nothing", "critical": false},
        {"tool": "nothing"},
        {"tool": "echo", "arguments": {"text": "2"}},
    ]});
    let reply = served.post(&served.agent, CALLS, calls).await;
    let ends = reply.json();
    assert_eq!(reply.status, 200);
    assert_eq!(ends[0]["ok"], true);
    assert_eq!(ends[1]["error"]["kind"], "unavailable");
    assert_eq!(ends[3], json!({"skipped": true}));
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn an_answer_can_be_fetched_later_by_whoever_asked() {
    let served = Served::new().await;
    let body = json!({"tool": "echo", "arguments": {"text": "hi"}});
    let later = [("Prefer", "respond-async")];
    let reply = served.send(&served.agent, "POST", CALLS, &later, Some(body)).await;
    assert_eq!(reply.status, 202);
    let place = reply.header("location").unwrap().to_owned();
    let mut answer = served.get(&served.agent, &place).await;
    while answer.status == 202 {
        answer = served.get(&served.agent, &place).await;
    }
    assert_eq!((answer.status, &answer.json()["ok"]), (200, &json!(true)));
    assert_eq!(served.get(&served.operator, &place).await.status, 404, "it is not theirs");
}

#[tokio::test]
async fn a_watched_call_tells_its_events_and_then_its_end() {
    let served = Served::new().await;
    let body = json!({"tool": "echo", "arguments": {"text": "hi"}, "id": "c1"});
    let watch = [("Accept", "text/event-stream")];
    let reply = served.send(&served.agent, "POST", CALLS, &watch, Some(body)).await;
    let events: Vec<&str> =
        reply.body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(events, ["tool_call_start", "tool_call_result", "result"], "{reply:?}");
}

#[tokio::test]
async fn a_posted_message_is_answered_in_its_own_words() {
    let served = Served::new().await;
    let openai = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function",
         "function": {"name": "shop__echo", "arguments": "{\"text\": \"1\"}"}},
        {"id": "b", "type": "function",
         "function": {"name": "shop__echo", "arguments": "{\"text\": "}},
    ]});
    let path = format!("{CALLS}?format=openai");
    let reply = served.post(&served.agent, &path, openai).await.json();
    let messages = reply["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "{reply}");
    assert_eq!(messages[0]["tool_call_id"], "a");
    assert_eq!(messages[0]["content"], "{\"said\":{\"text\":\"1\"}}");
    assert_eq!(messages[1]["tool_call_id"], "b");
    assert_eq!(served.runs(), 1, "half a call is not a call");

    let anthropic = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "t1", "name": "shop__echo", "input": {"text": "1"}}]});
    let path = format!("{CALLS}?format=anthropic");
    let reply = served.post(&served.agent, &path, anthropic).await.json();
    assert_eq!(reply["messages"][0]["role"], "user");
    assert_eq!(reply["messages"][0]["content"][0]["tool_use_id"], "t1");

    let gemini = json!({"role": "model", "parts": [
        {"functionCall": {"name": "shop__echo", "args": {"text": "1"}}}]});
    let path = format!("{CALLS}?format=gemini");
    let reply = served.post(&served.agent, &path, gemini).await.json();
    assert_eq!(
        reply["messages"][0]["parts"][0]["functionResponse"]["name"], "shop__echo",
        "{reply}"
    );
    // Paired by its place: the call had no id.
    assert_eq!(reply["messages"][0]["parts"][0]["functionResponse"].get("id"), None, "{reply}");
    let named = json!({"role": "model", "parts": [
        {"functionCall": {"id": "g1", "name": "shop__echo", "args": {"text": "1"}}}]});
    let reply = served.post(&served.agent, &path, named).await.json();
    assert_eq!(reply["messages"][0]["parts"][0]["functionResponse"]["id"], "g1", "{reply}");

    let old = json!({"role": "assistant", "content": null,
        "function_call": {"name": "shop__echo", "arguments": "{\"text\": \"1\"}"}});
    let reply = served.post(&served.agent, &format!("{CALLS}?format=openai"), old).await.json();
    let answer = json!([{"role": "function", "name": "shop__echo",
        "content": "{\"said\":{\"text\":\"1\"}}"}]);
    assert_eq!(reply["messages"], answer, "{reply}");

    let path = format!("{CALLS}?format=adm");
    let adm = json!({"name": "shop__echo", "args": {"text": "1"}, "call_id": "x"});
    let reply = served.post(&served.agent, &path, adm).await.json();
    let why = reply["outcomes"][0]["error"]["message"].as_str().unwrap();
    assert!(why.contains("call_id") && !why.contains("contradict"), "{why}");
    let shapeless = json!({"function_call": {"name": "shop__echo", "args": {}}});
    let reply = served.post(&served.agent, &path, shapeless).await;
    assert!(reply.status == 400 && reply.body.contains("FunctionCall"), "{reply:?}");
    let nonsense = served.post(&served.agent, &format!("{CALLS}?format=klingon"), json!({})).await;
    assert_eq!(nonsense.status, 400);
}

#[tokio::test]
async fn a_message_that_is_posted_again_does_nothing_again() {
    let served = Served::new().await;
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function",
         "function": {"name": "shop__send", "arguments": "{\"text\": \"1\"}"}},
        {"id": "b", "type": "function",
         "function": {"name": "shop__send", "arguments": "{\"text\": \"2\"}"}},
    ]});
    let path = format!("{CALLS}?format=openai");
    let key = [("Idempotency-Key", "turn-1")];
    let mut seen: Vec<Vec<Value>> = Vec::new();
    for _ in 0..2 {
        let reply = served.send(&served.agent, "POST", &path, &key, Some(message.clone())).await;
        assert_eq!(reply.status, 200);
        seen.push(reply.json()["messages"].as_array().unwrap().clone());
    }
    assert_eq!(served.runs(), 2);
    for (first, again) in seen[0].iter().zip(&seen[1]) {
        let [first, again] = [first, again].map(|message| message["content"].as_str().unwrap());
        assert!(again.starts_with(first) && again.contains("nothing was done again"), "{again}");
    }
}

#[tokio::test]
async fn only_what_the_conversation_goes_on_with_is_run() {
    let served = Served::new().await;
    let call = |id: &str, name: &str, text: &str| {
        json!({"id": id, "type": "function",
               "function": {"name": name, "arguments": json!({"text": text}).to_string()}})
    };
    let choice = |index: u32, text: &str| {
        json!({"index": index, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null, "tool_calls": [call("a", "shop__echo", text)]}})
    };
    let two = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
                     "choices": [choice(0, "first"), choice(1, "second")]});
    let path = format!("{CALLS}?format=openai");
    let reply = served.post(&served.agent, &path, two).await.json();
    assert_eq!((served.runs(), reply["messages"].as_array().unwrap().len()), (1, 1), "{reply}");
    assert_eq!(reply["messages"][0]["content"], "{\"said\":{\"text\":\"first\"}}");

    // A name of another group is not ours.
    let foreign = json!({"type": "function_call", "call_id": "c1", "name": "shop__echo",
                         "namespace": "other", "arguments": "{}"});
    let path = format!("{CALLS}?format=openai-responses");
    let reply = served.post(&served.agent, &path, json!([foreign])).await.json();
    assert_eq!(reply["outcomes"][0]["error"]["kind"], "unavailable", "{reply}");
    assert_eq!(served.runs(), 1);
}

/// A call of `shop__send`, as Chat Completions has it.
fn sends(id: &str, text: &str) -> Value {
    let arguments = json!({ "text": text }).to_string();
    json!({"id": id, "type": "function", "function": {"name": "shop__send", "arguments": arguments}})
}

/// Whoever keeps a conversation posts its last message; all of it would do everything again.
#[tokio::test]
async fn what_a_conversation_has_answered_already_is_not_run() {
    let served = Served::new().await;
    let said =
        |id: &str| json!({"role": "assistant", "content": null, "tool_calls": [sends(id, id)]});
    let item = |id: &str| {
        json!({"type": "function_call", "call_id": id, "name": "shop__send",
               "arguments": json!({ "text": id }).to_string()})
    };
    let block = |id: &str| {
        json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": id, "name": "shop__send", "input": {"text": id}}]})
    };
    let part = |role: &str| {
        json!({"role": role, "parts": [
        {"functionCall": {"name": "shop__send", "args": {"text": "1"}}}]})
    };
    let rows = [
        (
            "openai",
            json!([{"role": "user", "content": "x"}, said("c1"),
                {"role": "tool", "tool_call_id": "c1", "content": "done"}, said("c2")]),
            "role `user`",
        ),
        ("openai", json!({"role": "user", "tool_calls": [sends("c1", "a")]}), "role `user`"),
        ("openai", json!({"role": "tool", "tool_calls": [sends("c1", "a")]}), "role `tool`"),
        ("openai", json!([said("c1"), said("c2")]), "several messages"),
        ("openai", json!({"messages": [said("c1")]}), "what a model is sent"),
        (
            "openai-responses",
            json!([item("c1"), {"type": "function_call_output", "call_id": "c1", "output": "done"},
                item("c2")]),
            "the result of a call",
        ),
        (
            "anthropic",
            json!([block("t1"), {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "done"}]}, block("t2")]),
            "role `user`",
        ),
        (
            "gemini",
            json!([part("model"), {"parts": [{"functionResponse": {"name": "shop__send", "response": {}}}]},
                part("model")]),
            "the result of a call",
        ),
        ("gemini", part("user"), "role `user`"),
    ];
    let mut line = Line::open(&served, &served.agent, "").await;
    for (at, (format, body, why)) in rows.into_iter().enumerate() {
        let (path, key) = (format!("{CALLS}?format={format}"), format!("k-{at}"));
        let keyed = [("Idempotency-Key", key.as_str())];
        let reply = served.send(&served.agent, "POST", &path, &keyed, Some(body.clone())).await;
        assert_eq!(reply.status, 400, "{format} {body}: {reply:?}");
        let problem = reply.json();
        assert_eq!(problem["code"], "malformed_request", "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(why), "{why}: {problem}");
        assert!(reply.body.contains("post the last message of the model alone"), "{problem}");
        let frame = json!({"type": "said", "id": key, "format": format, "message": body});
        let told = line.ask(frame).await.to_string();
        assert!(told.contains("malformed_request") && told.contains(why), "{why}: {told}");
    }
    assert_eq!(served.runs(), 0);
    // The last one alone is what there is to run.
    let keyed = [("Idempotency-Key", "last")];
    let path = format!("{CALLS}?format=openai");
    let reply = served.send(&served.agent, "POST", &path, &keyed, Some(said("c2"))).await;
    assert_eq!((reply.status, served.runs()), (200, 1), "{reply:?}");
}

#[tokio::test]
async fn a_call_that_stands_twice_in_a_message_is_made_once() {
    let served = Served::new().await;
    let post = async |format: &str, key: &str, body: Value| {
        let path = format!("{CALLS}?format={format}");
        let keyed = [("Idempotency-Key", key)];
        served.send(&served.agent, "POST", &path, &keyed, Some(body)).await.json()
    };
    let same = json!({"role": "assistant", "tool_calls": [sends("c1", "a"), sends("c1", "a")]});
    let reply = post("openai", "k-1", same).await;
    assert_eq!((served.runs(), reply["messages"].as_array().unwrap().len()), (1, 1), "{reply}");
    let item = json!({"type": "function_call", "call_id": "c1", "name": "shop__send",
                      "arguments": "{\"text\":\"b\"}"});
    let reply = post("openai-responses", "k-2", json!([item, item])).await;
    assert_eq!((served.runs(), reply["messages"].as_array().unwrap().len()), (2, 1), "{reply}");
    let block =
        json!({"type": "tool_use", "id": "t1", "name": "shop__send", "input": {"text": "c"}});
    let reply =
        post("anthropic", "k-3", json!({"role": "assistant", "content": [block, block]})).await;
    let results = reply["messages"][0]["content"].as_array().unwrap().len();
    assert_eq!((served.runs(), results), (3, 1), "{reply}");
    // Which of two different ones is meant, nobody knows: the first has the id.
    let other = json!({"role": "assistant", "tool_calls": [sends("c1", "d"), sends("c1", "e")]});
    let reply = post("openai", "k-4", other).await;
    assert_eq!((served.runs(), &reply["outcomes"][0]["ok"]), (4, &json!(true)), "{reply}");
    assert_eq!(reply["outcomes"][1]["error"]["kind"], "invalid_arguments", "{reply}");
    assert_eq!(reply["outcomes"][1]["error"]["details"]["malformed"], "same_id", "{reply}");
    // Without ids they are two, as they always were.
    let part = json!({"functionCall": {"name": "shop__send", "args": {"text": "f"}}});
    let reply = post("gemini", "k-5", json!({"role": "model", "parts": [part, part]})).await;
    assert_eq!(served.runs(), 6, "{reply}");
}

#[tokio::test]
async fn a_message_of_too_many_calls_is_refused_before_any_is_made() {
    let served = Served::new().await;
    let path = format!("{CALLS}?format=openai");
    let of = |count: usize| {
        let calls: Vec<Value> =
            (0..count).map(|at| sends(&format!("c{at}"), &format!("{count}-{at}"))).collect();
        json!({"role": "assistant", "tool_calls": calls})
    };
    let mut line = Line::open(&served, &served.agent, "").await;
    for count in [65, 600] {
        let keyed = [("Idempotency-Key", "k-many")];
        let reply = served.send(&served.agent, "POST", &path, &keyed, Some(of(count))).await;
        assert_eq!(reply.status, 422, "{reply:?}");
        assert!(reply.body.contains("at most 64 calls"), "{reply:?}");
        let frame = json!({"type": "said", "id": format!("f-{count}"), "format": "openai",
                           "message": of(count)});
        let told = line.ask(frame).await.to_string();
        assert!(told.contains("at most 64 calls"), "{told}");
    }
    assert_eq!(served.runs(), 0);
    let keyed = [("Idempotency-Key", "k-most")];
    let reply = served.send(&served.agent, "POST", &path, &keyed, Some(of(64))).await;
    assert_eq!((reply.status, served.runs()), (200, 64));
    let settings =
        haft_runtime::Settings { max_message_calls: 1, ..haft_runtime::Settings::default() };
    let served = Served::running(|builder| builder.settings(settings)).await;
    let reply = served.send(&served.agent, "POST", &path, &keyed, Some(of(2))).await;
    assert!(reply.status == 422 && reply.body.contains("at most 1 call"), "{reply:?}");
}

#[tokio::test]
async fn ids_that_a_provider_uses_again_do_not_stand_for_the_old_call() {
    let served = Served::new().await;
    let begun = served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await.json();
    let path = format!("{CALLS}?format=openai&session={}", begun["id"].as_str().unwrap());
    for text in ["one", "two"] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_0", "type": "function", "function":
                {"name": "shop__echo", "arguments": json!({"text": text}).to_string()}}]});
        let reply = served.post(&served.agent, &path, message).await.json();
        assert_eq!(reply["outcomes"][0]["data"]["said"]["text"], text, "{reply}");
        assert_eq!(reply["messages"][0]["tool_call_id"], "call_0");
    }
    assert_eq!(served.runs(), 2);
}

/// Gemini's calls have no ids: the same act in another turn is the same text.
#[tokio::test]
async fn the_same_message_in_another_turn_is_another_act_and_in_the_same_turn_is_not() {
    let served = Served::new().await;
    let begun = served.post(&served.agent, "/v1/agents/helper/sessions", json!({})).await.json();
    let session = begun["id"].as_str().unwrap();
    let path = format!("{CALLS}?format=gemini&session={session}");
    let said = |tool: &str| json!({"role": "model", "parts": [{"functionCall": {"name": tool, "args": {}}}]});
    let post = async |tool: &str, key: &[(&str, &str)]| {
        let reply = served.send(&served.agent, "POST", &path, key, Some(said(tool))).await.json();
        assert_eq!(reply["outcomes"][0]["ok"], true, "{reply}");
    };
    let of_session = format!("/v1/agents/helper/sessions/{session}");
    for turn in 1..=3 {
        for _ in 0..2 {
            post("shop__echo", &[]).await;
            post("shop__send", &[]).await;
        }
        assert_eq!(served.runs(), 2 * turn, "in turn {turn}");
        let (done, next) = (json!({"signal": "turn_complete"}), json!({"message": "again"}));
        served.post(&served.agent, &format!("{of_session}/signals"), done).await;
        let begun = served.post(&served.agent, &format!("{of_session}/messages"), next).await;
        assert_eq!(begun.json()["status"], "begins", "{begun:?}");
    }
    // A key says by itself what is the same, whatever the turn.
    for (key, runs) in [("k-1", 7), ("k-2", 8), ("k-1", 8)] {
        post("shop__echo", &[("Idempotency-Key", key)]).await;
        assert_eq!(served.runs(), runs, "{key}");
    }
}

#[tokio::test]
async fn a_message_of_another_provider_is_not_taken_for_one_without_calls() {
    let served = Served::new().await;
    let call = json!({"id": "c", "type": "function",
        "function": {"name": "shop__echo", "arguments": "{\"text\":\"a\"}"}});
    let said = [
        ("openai", json!({"role": "assistant", "content": null, "tool_calls": [call]})),
        (
            "anthropic",
            json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "shop__echo", "input": {"text": "a"}}]}),
        ),
        (
            "gemini",
            json!({"role": "model", "parts": [
            {"functionCall": {"name": "shop__echo", "args": {"text": "a"}}}]}),
        ),
        (
            "openai-responses",
            json!({"status": "completed", "output": [{"type": "function_call", "call_id": "c",
            "name": "shop__echo", "arguments": "{\"text\":\"a\"}"}]}),
        ),
    ];
    for (format, _) in &said {
        for (spoken, message) in &said {
            let path = format!("{CALLS}?format={format}");
            let reply = served.post(&served.agent, &path, message.clone()).await;
            let expected = if format == spoken { 200 } else { 400 };
            assert_eq!(reply.status, expected, "{spoken} as {format}: {reply:?}");
        }
    }
    assert_eq!(served.runs(), said.len());
    let text = json!({"role": "assistant", "content": "no calls at all"});
    let reply = served.post(&served.agent, &format!("{CALLS}?format=openai"), text).await;
    assert_eq!((reply.status, &reply.json()["messages"]), (200, &json!([])));
}

/// Gemini has no closed objects and spells types in capitals: what was shown is what is described.
#[tokio::test]
async fn a_tool_is_described_in_the_words_in_which_it_is_shown() {
    let served = Served::running(haft_runtime::runtime::Builder::guide).await;
    let ask = json!({"role": "model", "parts": [
        {"functionCall": {"name": "haft__reg_describe", "args": {"tool": "echo"}}}]});
    let path = format!("{CALLS}?format=gemini");
    let reply = served.post(&served.agent, &path, ask).await.json();
    let told = &reply["messages"][0]["parts"][0]["functionResponse"]["response"].to_string();
    assert!(told.contains("\"STRING\"") && !told.contains("additionalProperties"), "{told}");
    // Programs are told of the contract.
    let contract = &reply["outcomes"][0]["data"]["parameters"];
    assert_eq!(contract["additionalProperties"], false, "{reply}");
}

/// Begins work that is answered later, and gives its address.
async fn begun(served: &Served, key: &str, body: Value) -> String {
    let later = [("Prefer", "respond-async"), ("Idempotency-Key", key)];
    let reply = served.send(&served.agent, "POST", CALLS, &later, Some(body)).await;
    assert_eq!(reply.status, 202, "{reply:?}");
    reply.header("location").unwrap().to_owned()
}

#[tokio::test]
async fn what_has_not_begun_is_called_off_and_what_has_is_carried_out() {
    let served = Served::new().await;
    // Of a batch, one has ended, one has begun to send, and one has not begun.
    let calls = json!({"calls": [
        {"tool": "echo", "arguments": {"text": "one"}},
        {"tool": "send", "id": "s", "arguments": {"text": "wait"}},
        {"tool": "send", "arguments": {"text": "never"}},
    ]});
    let place = begun(&served, "k", calls).await;
    served.ran(2).await;
    for (key, why) in [(&served.stranger, "another tenant"), (&served.companion, "another agent")] {
        let reply = served.send(key, "DELETE", &place, &[], None).await;
        assert!(matches!(reply.status, 403 | 404), "{why}: {reply:?}");
    }
    let reply = served.send(&served.agent, "DELETE", &place, &[], None).await;
    let said = reply.json();
    assert_eq!((reply.status, &said["status"]), (200, &json!("cancelled")), "{said}");
    assert_eq!(said["ended"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(said["ended"][0]["end"]["ok"], true, "{said}");
    assert_eq!(said["begun"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(
        (&said["begun"][0]["id"], &said["begun"][0]["tool"]),
        (&json!("s"), &json!("shop__send"))
    );
    // It says the same whenever it is asked.
    assert_eq!(served.send(&served.agent, "DELETE", &place, &[], None).await.json(), said);
    assert_eq!(served.get(&served.agent, &place).await.json(), said);
    // The effect goes on to its recorded end.
    served.gate()(1);
    let state = async || {
        let all = served.get(&served.operator, "/v1/effects").await.json();
        let own =
            all.as_array().unwrap().iter().find(|one| one["call"] == said["begun"][0]["call"]);
        own.unwrap_or_else(|| panic!("{all}"))["state"].clone()
    };
    let mut asked = 0;
    while state().await == "started" {
        asked += 1;
        assert!(asked < 100_000, "it does not end");
        tokio::task::yield_now().await;
    }
    assert_eq!(state().await, "succeeded");
    assert_eq!(served.runs(), 2, "the third never ran");
}

#[tokio::test]
async fn a_call_of_a_provider_that_has_begun_is_named_as_the_model_named_it() {
    let served = Served::new().await;
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_7", "type": "function",
         "function": {"name": "shop__send", "arguments": "{\"text\": \"wait\"}"}}]});
    let later = [("Prefer", "respond-async"), ("Idempotency-Key", "k")];
    let path = format!("{CALLS}?format=openai");
    let reply = served.send(&served.agent, "POST", &path, &later, Some(message)).await;
    served.ran(1).await;
    let place = reply.header("location").unwrap();
    let said = served.send(&served.agent, "DELETE", place, &[], None).await.json();
    assert_eq!(said["begun"][0]["id"], "call_7", "{said}");
    served.gate()(1);
}

#[tokio::test]
async fn an_operator_calls_off_too_and_what_has_ended_is_not_called_off() {
    let served = Served::new().await;
    let calls = json!({"calls": [
        {"tool": "echo", "arguments": {"text": "mine"}},
        {"tool": "echo", "arguments": {"text": "wait"}},
    ]});
    let place = begun(&served, "a", calls).await;
    served.ran(2).await;
    let said = served.send(&served.operator, "DELETE", &place, &[], None).await.json();
    assert_eq!((&said["status"], &said["begun"]), (&json!("cancelled"), &json!([])), "{said}");
    // What a call gave is its caller's.
    assert_eq!(said["ended"], json!([{"index": 0}]), "{said}");
    let own = served.get(&served.agent, &place).await.json();
    assert_eq!(own["ended"][0]["end"]["ok"], true, "{own}");
    let place = begun(&served, "b", json!({"tool": "echo", "arguments": {"text": "x"}})).await;
    let mut asked = 0;
    while served.get(&served.agent, &place).await.status == 202 {
        asked += 1;
        assert!(asked < 100_000, "it does not end");
        tokio::task::yield_now().await;
    }
    let reply = served.send(&served.agent, "DELETE", &place, &[], None).await;
    assert_eq!((reply.status, &reply.json()["code"]), (409, &json!("ended")), "{reply:?}");
    let nowhere = format!("{CALLS}/later-none");
    assert_eq!(served.send(&served.agent, "DELETE", &nowhere, &[], None).await.status, 404);
}

#[tokio::test]
async fn a_body_that_says_that_it_is_too_large_is_not_awaited() {
    let served = Served::new().await;
    let head = format!(
        "POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 99999999\r\n\r\n{{",
        served.agent
    );
    // Nothing more is sent, and the connection stays open.
    let mut socket = served.connect().await;
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut read = [0; 16];
    let count = socket.read(&mut read).await.unwrap();
    assert!(read[..count].starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&read));
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_said_with_the_name_of_the_member() {
    let served = Served::new().await;
    for (body, says) in [
        (json!({"tool": 7}), "`tool`: invalid type"),
        (json!({"calls": [{"tool": "echo", "dry_run": "yes"}]}), "`calls.dry_run`: invalid type"),
        (json!({"tool": "echo", "occurrence": 0}), "`occurrence` is a whole number"),
    ] {
        let reply = served.post(&served.agent, CALLS, body).await;
        let said = reply.json()["detail"].clone();
        assert!(said.as_str().is_some_and(|said| said.starts_with(says)), "{says}: {said}");
    }
}

/// Most requests for calls are found without the router; a path with `%` is the router's to read.
#[tokio::test]
async fn a_call_is_the_same_however_its_path_is_written() {
    let served = Served::new().await;
    let one = json!({"tool": "echo", "arguments": {"text": "hi"}, "id": "m1"});
    for (key, query, body) in [
        (&*served.agent, "", one.clone()),
        (&*served.agent, "", json!({"calls": [one]})),
        (&*served.agent, "", json!({"tool": "echo", "arguments": {"text": 1}, "colour": "red"})),
        (&*served.agent, "", json!({"tool": "send", "arguments": {"to": "mara", "text": "hi"}})),
        (&*served.agent, "?colour=red", one.clone()),
        (&*served.agent, "?dry_run=true", one.clone()),
        (&*served.stranger, "", one.clone()),
        ("wrong", "", one.clone()),
    ] {
        let mut heard = Vec::new();
        for path in ["/v1/agents/helper/calls", "/v1/agents/%68elper/calls"] {
            let reply = served.post(key, &format!("{path}{query}"), body.clone()).await;
            let mut said = reply.json();
            for place in ["/meta", "/0/meta"] {
                // What no two calls have in common.
                for own in ["durationMs", "recordId", "callId"] {
                    let meta = said.pointer_mut(place).and_then(Value::as_object_mut);
                    meta.map(|meta| meta.remove(own));
                }
            }
            heard.push((reply.status, said));
        }
        let [plain, routed] = heard.as_slice() else { unreachable!() };
        assert_eq!(plain, routed, "{key} {query} {body}");
    }
    for path in ["/v1/agents/helper/calls/", "/v1/agents//calls", "/v1/agents/a/b/calls"] {
        let reply = served.post(&served.agent, path, json!({"tool": "echo"})).await;
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
    }
}

/// A number that becomes a text is spelt as it was written, so that one act has one key.
#[tokio::test]
async fn a_call_among_others_is_read_as_the_call_alone() {
    let served = Served::new().await;
    let one = r#"{"tool": "echo", "arguments": {"text": 1.10}}"#;
    let batch = format!(r#"{{"calls": [{{"tool": "nothing", "critical": false}}, {one}]}}"#);
    for body in [one, batch.as_str()] {
        let head = format!(
            "POST {CALLS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            served.agent,
            body.len(),
        );
        let reply = served.raw(format!("{head}{body}").as_bytes()).await;
        let all = reply.json();
        let last = all.as_array().and_then(|all| all.last()).unwrap_or(&all);
        assert_eq!(last["data"], json!({"said": {"text": "1.10"}}), "{reply:?}");
    }
}

/// The header says the same as the body, in whole seconds and none too early.
#[tokio::test]
async fn whoever_calls_too_often_is_told_when_to_come_back() {
    let rules: Rules = serde_json::from_value(json!({"allow": ["shop__*"],
        "modes": {"text": {"rate": {"calls": 1, "window_ms": 60_000}}}}))
    .unwrap();
    let served = Served::running(|builder| builder.rules(rules)).await;
    let call = json!({"tool": "echo", "arguments": {"text": "a"}});
    for status in [200, 429] {
        let reply = served.post(&served.agent, CALLS, call.clone()).await;
        assert_eq!(reply.status, status, "{reply:?}");
        if status == 429 {
            let wait_ms = reply.json()["error"]["details"]["retryAfterMs"].as_u64().unwrap();
            let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
            assert_eq!(seconds, wait_ms.div_ceil(1000), "{reply:?}");
        }
    }
}

/// Which rule decides is told to operators, at every door; and to nobody else.
#[tokio::test]
async fn a_dry_run_of_an_operator_names_rules_at_every_door() {
    let served = Served::new().await;
    let call = json!({"tool": "echo", "arguments": {"text": "a"}, "dry_run": true});
    for (key, names) in [(&served.operator, true), (&served.agent, false)] {
        let mut told = vec![served.post(key, CALLS, call.clone()).await.body];
        let message = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c",
            "type": "function", "function": {"name": "shop__echo", "arguments": "{\"text\":\"a\"}"}}]});
        let posted = format!("{CALLS}?format=openai&dry_run=true");
        told.push(served.post(key, &posted, message.clone()).await.body);
        let mut meta = mcp::meta(json!({}));
        meta["haft/dryRun"] = json!(true);
        let (text, with) = (json!({"text": "a"}), json!({ "_meta": meta }));
        told.push(mcp::call_with(&served, key, "echo", text, with).await.to_string());
        let mut line = Line::open(&served, key, "").await;
        let frame = json!({"type": "call", "id": "1", "call": call});
        told.push(line.ask(frame).await.to_string());
        let said = json!({"type": "said", "id": "2", "format": "openai", "message": message,
                          "dry_run": true});
        told.push(line.ask(said).await.to_string());
        for (door, told) in told.iter().enumerate() {
            assert!(told.contains("verdict"), "{door}: {told}");
            assert_eq!(told.contains("rule"), names, "{door}: {told}");
        }
    }
    assert_eq!(served.runs(), 0);
}

/// What a model wrote badly is refused like any other call: in its own words, and on record.
#[tokio::test]
async fn a_call_that_cannot_be_read_is_on_record() {
    let served = Served::new().await;
    let bad = |name: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
            "function": {"name": name, "arguments": "{\"text\": hunter2"}}]})
    };
    let path = "/v1/agents/helper/calls?format=openai";
    let told = served.post(&served.agent, path, bad("shop__echo")).await.json();
    assert_eq!(told["outcomes"][0]["error"]["details"]["malformed"], "not_json", "{told}");
    let gone = served.post(&served.agent, path, bad("shop__gone")).await.json();
    assert_eq!(gone["outcomes"][0]["error"]["kind"], "unavailable", "{gone}");
    let calls = served.get(&served.operator, "/v1/calls").await.json();
    let kinds: Vec<_> = calls.as_array().unwrap().iter().map(|one| &one["error"]).collect();
    assert_eq!(kinds, ["unavailable", "invalid_arguments"], "{calls}");
    assert!(!calls.to_string().contains("hunter2"), "{calls}");
}
