//! Broken streams, refusals and slow tokens: a request may be repeated, a call never is.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::http::Provider as Api;
use haft_agent::{Event, Limit, Limits, Patience, Reason, Settings};
use haft_core::port::Journal as _;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::provider::{Reply, says};
use crate::world::{Heard, World, ends, settings, text};

const ORDER: (&str, &str, &str) = ("c1", "shop__order", r#"{"item":"lamp"}"#);

fn stream(api: Api, text: &str, calls: &[crate::provider::Call<'_>]) -> Reply {
    Reply::Stream(says(api, text, calls))
}

/// A stream that breaks before its last `left` pieces.
fn cut(api: Api, text: &str, calls: &[crate::provider::Call<'_>], left: usize) -> Reply {
    let mut pieces = says(api, text, calls);
    pieces.truncate(pieces.len().saturating_sub(left));
    Reply::Cut(pieces)
}

fn pauses(heard: &Heard) -> Vec<u64> {
    heard
        .iter()
        .filter_map(|event| {
            let Event::Retry { after_ms, .. } = event else { return None };
            Some(*after_ms)
        })
        .collect()
}

fn attempts(heard: &Heard) -> usize {
    heard.iter().filter(|event| matches!(event, Event::ModelRequest { .. })).count()
}

/// However a first answer breaks before a word was shown, it is asked for again and each call runs
/// once.
#[track_caller]
fn check_again(api: Api, what: &str, first: Reply, expected: &[u64]) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let replies = vec![first, stream(api, "", &[ORDER]), stream(api, "Done.", &[])];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("order").await;
        assert_eq!(done.reason, Reason::Finished, "{api} {what}");
        assert_eq!(done.text, "Done.");
        assert_eq!(ends(&heard), ["shop__order ok"], "{api} {what}");
        assert_eq!(world.hands.acts("order"), 1, "{api} {what}");
        assert_eq!(pauses(&heard), expected, "{api} {what}");
        assert_eq!(world.provider.left(), 0);
        // The repeated request is the same, byte for byte.
        let requests = world.provider.requests();
        assert_eq!(requests[0].body, requests[1].body, "{api} {what}");
    });
}

#[test]
fn what_passes_is_asked_again_before_a_word_was_shown() {
    for api in Api::ALL {
        let error = || r#"{"error":{"message":"busy","type":"overloaded_error"}}"#.to_owned();
        check_again(api, "reset", Reply::Reset, &[1]);
        check_again(api, "500", Reply::Status(500, "", error()), &[1]);
        check_again(api, "503", Reply::Status(503, "", String::new()), &[1]);
        check_again(api, "529", Reply::Status(529, "", error()), &[1]);
        check_again(api, "429", Reply::Status(429, "retry-after: 0\r\n", error()), &[0]);
        check_again(api, "429 ms", Reply::Status(429, "retry-after-ms: 7\r\n", error()), &[7]);
        let past = "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
        check_again(api, "429 date", Reply::Status(429, past, error()), &[0]);
        check_again(api, "nothing", Reply::Cut(Vec::new()), &[1]);
        // The connection breaks in mid-call, and right before the provider says that it is done.
        let pieces = says(api, "", &[ORDER]).len();
        for left in 1..pieces {
            // Once Chat Completions have said why they stopped, what follows is only the bill.
            let over = api == Api::OpenAi && left <= 2;
            if !over {
                check_again(api, &format!("cut {left}"), cut(api, "", &[ORDER], left), &[1]);
            }
        }
    }
}

#[tokio::test]
async fn several_refusals_are_borne_and_then_no_more() {
    let api = Api::Anthropic;
    let busy = || {
        Reply::Status(
            529,
            "",
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#.into(),
        )
    };
    let world = World::new(api, vec![busy(), busy(), busy(), stream(api, "Hi.", &[])]).await;
    let (done, heard, _) = world.say("hi").await;
    assert_eq!(done.reason, Reason::Finished);
    assert_eq!(pauses(&heard), [1, 2, 4]);

    let world =
        World::new(api, vec![busy(), busy(), busy(), busy(), stream(api, "Hi.", &[])]).await;
    let (done, heard, _) = world.say("hi").await;
    let Reason::ModelFailed { message, .. } = done.reason else { panic!("{done:?}") };
    assert!(message.contains("Overloaded") && message.contains("529"), "{message}");
    assert_eq!(attempts(&heard), 4);
    assert_eq!(world.provider.left(), 1);
}

#[tokio::test]
async fn what_stays_is_not_asked_again() {
    for (code, headers, body) in [
        (400, "", r#"{"error":{"message":"no such model","code":"model_not_found"}}"#),
        (401, "", r#"{"error":{"message":"wrong key"}}"#),
        (429, "", r#"{"error":{"message":"pay first","code":"insufficient_quota"}}"#),
        // Longer than anyone waits here.
        (429, "retry-after: 3600\r\n", r#"{"error":{"message":"later"}}"#),
        (302, "location: http://127.0.0.1:1/\r\n", ""),
    ] {
        let api = Api::OpenAi;
        let replies = vec![Reply::Status(code, headers, body.into()), stream(api, "x", &[])];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("hi").await;
        let Reason::ModelFailed { message, .. } = done.reason else { panic!("{done:?}") };
        assert!(message.contains(&code.to_string()), "{message}");
        assert!(!message.contains("sk-very-secret"));
        assert_eq!(attempts(&heard), 1, "{code}");
        assert_eq!(world.provider.left(), 1, "{code}");
    }
}

#[tokio::test]
async fn what_was_shown_is_not_asked_for_again() {
    for api in Api::ALL {
        // Broken off in mid-answer, with a call that looks whole behind the text.
        let mut pieces = says(api, "Let me order that.", &[ORDER]);
        let finish = match api {
            Api::OpenAi => 3,
            Api::Anthropic => 2,
            Api::OpenAiResponses | Api::Gemini => 1,
        };
        pieces.truncate(pieces.len() - finish);
        let world = World::new(api, vec![Reply::Cut(pieces), stream(api, "x", &[])]).await;
        let (done, heard, mut chat) = world.say("order").await;
        assert!(matches!(done.reason, Reason::ModelFailed { .. }), "{api}: {done:?}");
        assert_eq!(text(&heard), "Let me order that.", "{api}");
        assert_eq!(world.hands.acts("order"), 0, "{api}");
        assert_eq!(attempts(&heard), 1, "{api}");
        // The conversation can go on.
        let (done, _) = crate::world::say(&mut chat, "and?").await;
        assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "x"), "{api}");
    }
}

#[tokio::test]
async fn slow_tokens_are_waited_for() {
    for api in Api::ALL {
        let mut first = says(api, "Slow but sure.", &[ORDER]);
        let rest = first.split_off(first.len() / 2);
        let (sent, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let gated = Reply::Gated(first, sent.clone(), go.clone(), rest);
        let world = World::new(api, vec![gated, stream(api, "Done.", &[])]).await;
        let hands = world.hands.clone();
        let porter = tokio::spawn(async move {
            sent.notified().await;
            // Half a call has come; nothing was run.
            assert_eq!(hands.acts("order"), 0);
            go.notify_one();
        });
        let (done, _, _) = world.say("order").await;
        porter.await.unwrap();
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(world.hands.acts("order"), 1, "{api}");
    }
}

#[tokio::test]
async fn a_model_that_falls_silent_is_given_up_and_asked_again() {
    let api = Api::OpenAi;
    let mut first = says(api, "", &[ORDER]);
    let rest = first.split_off(3);
    let (sent, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let silent = Reply::Gated(first, sent, never, rest);
    let patience = Patience { idle: Duration::from_millis(50), ..settings().patience };
    let settings = Settings { patience, ..settings() };
    let replies = vec![silent, stream(api, "", &[ORDER]), stream(api, "Done.", &[])];
    let world = World::set(api, replies, settings).await;
    let (done, heard, _) = world.say("order").await;
    assert_eq!(done.reason, Reason::Finished);
    assert_eq!(pauses(&heard), [1]);
    assert_eq!(world.hands.acts("order"), 1);
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_named() {
    let api = Api::OpenAi;
    let world = World::new(api, Vec::new()).await;
    let endpoint = haft_agent::http::Endpoint {
        provider: api,
        // A port that nobody listens on.
        url: Some("http://127.0.0.1:1".into()),
        model: "m".into(),
        key: None,
    };
    let model = Arc::new(haft_agent::http::Http::new(endpoint).unwrap());
    let agent = haft_agent::Agent::new(world.runtime.clone(), model, settings());
    let mut chat = agent.chat(crate::world::caller()).await.unwrap();
    let (done, heard) = crate::world::say(&mut chat, "hi").await;
    let Reason::ModelFailed { message, .. } = done.reason else { panic!("{done:?}") };
    assert!(message.contains("127.0.0.1:1 cannot be reached"), "{message}");
    assert_eq!(attempts(&heard), 4);
}

async fn errors(world: &World) -> Vec<Value> {
    let entries = world.store.audit(0, 100).await.unwrap().into_iter();
    let requests = entries.filter(|entry| entry.kind == "model_request");
    requests
        .map(|entry| serde_json::from_str::<Value>(&entry.body).unwrap()["error"].clone())
        .collect()
}

/// Anthropic bills before the first word, and then breaks off.
fn billed(reasoning: &str) -> Reply {
    let api = Api::Anthropic;
    let block = json!({ "type": "content_block_start", "index": 0,
        "content_block": { "type": "thinking", "thinking": "", "signature": "" } });
    let delta = json!({ "type": "content_block_delta", "index": 0,
        "delta": { "type": "thinking_delta", "thinking": reasoning } });
    let mut pieces = vec![says(api, "", &[]).remove(0)];
    pieces.push(format!("event: content_block_start\ndata: {block}\n\n"));
    pieces.push(format!("event: content_block_delta\ndata: {delta}\n\n"));
    Reply::Cut(pieces)
}

#[tokio::test]
async fn reasoning_is_no_word_of_the_answer_and_may_be_shown_again() {
    let api = Api::Anthropic;
    let world = World::new(api, vec![billed("Hm."), stream(api, "Done.", &[])]).await;
    let (done, heard, _) = world.say("go").await;
    assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "Done."));
    let at = |wanted: fn(&Event) -> bool| heard.iter().position(wanted);
    let reasoned = at(|event| matches!(event, Event::Reasoning { .. })).unwrap();
    assert!(reasoned < at(|event| matches!(event, Event::Retry { .. })).unwrap());
}

#[tokio::test]
async fn answers_that_broke_off_cost_what_the_provider_says() {
    let api = Api::Anthropic;
    let world = World::new(api, vec![billed("Hm."), stream(api, "Done.", &[])]).await;
    let (done, _, _) = world.say("go").await;
    assert_eq!((done.spent.input_tokens, done.spent.output_tokens), (20, 6));

    let limits = Limits { tokens: 22, ..settings().limits };
    let settings = Settings { limits, ..settings() };
    let replies = vec![billed("Hm."), billed("Hm."), stream(api, "Done.", &[])];
    let world = World::set(api, replies, settings).await;
    let (done, heard, _) = world.say("go").await;
    assert_eq!(done.reason, Reason::Limit { limit: Limit::Tokens, most: 22 });
    assert_eq!((attempts(&heard), world.provider.left()), (2, 1));
    assert_eq!(done.spent.tokens(), 22);
}

#[tokio::test]
async fn an_attempt_that_took_too_long_is_recorded_as_that() {
    let api = Api::Gemini;
    for late in [true, false] {
        let (sent, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let held = Reply::Gated(vec![": wait\n\n".into()], sent.clone(), never, Vec::new());
        let time = Duration::from_millis(if late { 100 } else { 30_000 });
        let limits = Limits { time, ..settings().limits };
        let world = World::set(api, vec![held], Settings { limits, ..settings() }).await;
        let mut chat = world.chat().await;
        let cancel = haft_agent::Cancel::new();
        if !late {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                sent.notified().await;
                cancel.cancel();
            });
        }
        crate::world::say_until(&mut chat, "go", &cancel).await;
        let expected = if late { "the time for this message was over" } else { "called off" };
        assert_eq!(errors(&world).await, [json!(expected)]);
    }
}
