//! Whole conversations, for clients of OpenAI's API.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use haft_agent::model::{Model, Stream};
use haft_agent::{Agent, Refusal, Settings};
use haft_core::port::Boxed;
use haft_wire::Dialect;
use serde_json::{Value, json};

use crate::client::{Reply, Served};

const CHAT: &str = "/v1/chat/completions";

/// A model that says what a test has written for it.
#[derive(Default)]
struct Scripted {
    says: Mutex<VecDeque<Vec<Value>>>,
    heard: Mutex<Vec<Value>>,
}

struct Pieces(VecDeque<Vec<u8>>);

impl Stream for Pieces {
    fn next<'a>(&'a mut self) -> Boxed<'a, Result<Option<Vec<u8>>, Refusal>> {
        let next = self.0.pop_front();
        Box::pin(async move { Ok(next) })
    }
}

impl Model for Scripted {
    fn dialect(&self) -> Dialect {
        Dialect::OpenAiChat
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn place(&self) -> String {
        "here".into()
    }

    fn ask<'a>(&'a self, body: String) -> Boxed<'a, Result<Box<dyn Stream>, Refusal>> {
        self.heard.lock().unwrap().push(serde_json::from_str(&body).unwrap());
        let says = self.says.lock().unwrap().pop_front();
        Box::pin(async move {
            let Some(says) = says else { return Err(Refusal::lasting("nothing more to say")) };
            let lines = says.iter().map(|piece| format!("data: {piece}\n\n").into_bytes());
            let end = std::iter::once(b"data: [DONE]\n\n".to_vec());
            Ok(Box::new(Pieces(lines.chain(end).collect())) as Box<dyn Stream>)
        })
    }
}

fn piece(delta: Value, finish: Value) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

fn says(text: &str) -> Vec<Value> {
    vec![
        piece(json!({ "role": "assistant", "content": text }), Value::Null),
        piece(json!({}), json!("stop")),
        json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [], "usage": { "prompt_tokens": 7, "completion_tokens": 3 } }),
    ]
}

fn calls(tool: &str, text: &str) -> Vec<Value> {
    let function = json!({ "name": tool, "arguments": json!({ "text": text }).to_string() });
    let call = json!([{ "index": 0, "id": "call_1", "type": "function", "function": function }]);
    vec![
        piece(
            json!({ "role": "assistant", "content": "Let me see.", "tool_calls": call }),
            Value::Null,
        ),
        piece(json!({}), json!("tool_calls")),
    ]
}

struct World {
    served: Served,
    model: Arc<Scripted>,
}

impl World {
    async fn new(says: Vec<Vec<Value>>) -> Self {
        let model = Arc::new(Scripted { says: Mutex::new(says.into()), ..Scripted::default() });
        let talks = model.clone();
        let served = Served::made(move |door| {
            let agent = Agent::new(door.runtime.clone(), talks, Settings::default());
            door.with_models(Arc::new(move |_| Ok(agent.clone())))
        })
        .await;
        Self { served, model }
    }

    async fn ask(&self, body: Value) -> Reply {
        self.served.post(&self.served.agent, CHAT, body).await
    }

    fn heard(&self) -> Vec<Value> {
        self.model.heard.lock().unwrap().clone()
    }
}

fn hello() -> Value {
    json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "hello" }] })
}

#[tokio::test]
async fn a_conversation_is_answered_with_the_agents_tools() {
    let world = World::new(vec![calls("shop__echo", "a"), says("Done.")]).await;
    let reply = world.ask(hello()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    let answer = reply.json();
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["model"], "gpt-4o");
    assert_eq!(answer["choices"][0]["message"]["content"], "Let me see.\n\nDone.");
    assert_eq!(answer["choices"][0]["finish_reason"], "stop");
    assert_eq!(answer["usage"]["total_tokens"], 10);
    assert_eq!((&answer["haft"]["rounds"], &answer["haft"]["calls"]), (&json!(2), &json!(1)));
    assert_eq!(world.served.runs(), 1);
    let heard = world.heard();
    assert_eq!(heard[0]["model"], "scripted");
    assert!(heard[0]["tools"].as_array().unwrap().len() > 2, "{}", heard[0]["tools"]);
    let last = heard[1]["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["role"], &last["tool_call_id"]), (&json!("tool"), &json!("call_1")));
}

#[tokio::test]
async fn a_stream_has_its_pieces_and_one_end() {
    let world = World::new(vec![calls("shop__echo", "a"), says("Done.")]).await;
    let mut body = hello();
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    let reply = world.ask(body).await;
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    let lines: Vec<&str> =
        reply.body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let (end, pieces) = lines.split_last().unwrap();
    assert_eq!(*end, "[DONE]");
    let pieces: Vec<Value> =
        pieces.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text: String = pieces
        .iter()
        .filter_map(|piece| piece["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "Let me see.\n\nDone.");
    let ends = pieces.iter().filter(|piece| piece["choices"][0]["finish_reason"] == "stop");
    assert_eq!(ends.count(), 1);
    assert_eq!(pieces[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(pieces.last().unwrap()["usage"]["total_tokens"], 10);
}

#[tokio::test]
async fn what_is_sent_again_does_nothing_again() {
    // The model asks for the same act each time; the second request is the first, sent again.
    let rounds = || [calls("shop__send", "a"), says("Sent.")];
    let world = World::new([rounds(), rounds(), rounds()].concat()).await;
    for _ in 0..2 {
        assert_eq!(world.ask(hello()).await.status, 200);
    }
    assert_eq!(world.served.runs(), 1);
    // Another thing that the user said is another turn.
    let mut other = hello();
    other["messages"][0]["content"] = json!("once more");
    world.ask(other).await;
    assert_eq!(world.served.runs(), 2);
}

#[tokio::test]
async fn a_person_is_waited_for_and_the_client_told() {
    let world = World::new(vec![calls("shop__pay", "a"), says("It waits.")]).await;
    let answer = world.ask(hello()).await.json();
    assert_eq!(world.served.runs(), 0);
    assert_eq!(answer["haft"]["confirmations"][0]["tool"], "shop__pay");
}

#[tokio::test]
async fn mistakes_are_told_in_the_clients_own_shape() {
    let world = World::new(vec![]).await;
    let check = async |body: Value, status: u16, word: &str| {
        let reply = world.ask(body).await;
        let error = reply.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(error.contains(word), "{error}");
    };
    check(json!({ "model": "m" }), 400, "missing field `messages`").await;
    check(json!({ "messages": [] }), 400, "nothing to answer").await;
    check(json!({ "messages": hello()["messages"], "n": 3 }), 400, "there is one only").await;
    check(json!({ "messages": hello()["messages"], "cheese": 3 }), 400, "`cheese`").await;
    // The model has nothing to say.
    check(hello(), 502, "nothing more to say").await;
    // A key that is for several agents must name one.
    let named = world.served.post(&world.served.operator, CHAT, hello()).await;
    assert_eq!(named.status, 400);
    let mut right = hello();
    right["model"] = json!("helper");
    assert_eq!(world.served.post(&world.served.operator, CHAT, right.clone()).await.status, 502);
    assert_eq!(world.served.post(&world.served.stranger, CHAT, right).await.status, 400);
    let of_agent = "/v1/agents/helper/chat/completions";
    assert_eq!(world.served.post(&world.served.agent, of_agent, hello()).await.status, 502);
    assert_eq!(world.served.post(&world.served.stranger, of_agent, hello()).await.status, 404);
}
