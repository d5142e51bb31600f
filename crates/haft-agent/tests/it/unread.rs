//! What a model wrote in place of a call, and the provider could not take as one.

use haft_agent::http::Provider as Api;
use haft_agent::{Limit, Limits, Reason, Settings};
use serde_json::{Value, json};

use crate::provider::{Reply, says};
use crate::world::{World, ends, say, settings, text};

const ORDER: (&str, &str, &str) = ("c1", "shop__order", r#"{"item":"lamp"}"#);

fn stream(api: Api, text: &str, calls: &[crate::provider::Call<'_>]) -> Reply {
    Reply::Stream(says(api, text, calls))
}

/// Gemini's way: no call, a reason, and what was written.
fn gemini(text: &str, word: &str) -> Reply {
    let said = match text {
        "" => json!([]),
        text => json!([{ "text": text }]),
    };
    let candidate = json!({ "index": 0, "content": { "role": "model", "parts": said },
        "finishReason": word, "finishMessage": "unreadable: print(order(item=hunter2))" });
    let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": 5 });
    let response = json!({ "candidates": [candidate], "usageMetadata": usage });
    Reply::Stream(vec![format!("data: {response}\r\n\r\n")])
}

/// Groq's way, with a status or in mid-stream.
fn groq(status: bool) -> Reply {
    let body = json!({ "error": { "message": "Failed to call a function.",
        "type": "invalid_request_error", "code": "tool_use_failed",
        "failed_generation": "<order{hunter2}" } });
    match status {
        true => Reply::Status(400, "", body.to_string()),
        false => Reply::Stream(vec![format!("event: error\ndata: {body}\n\n")]),
    }
}

/// The way of Gemini's OpenAI door.
fn door() -> Reply {
    let word = "function_call_filter: MALFORMED_FUNCTION_CALL";
    let choice = json!({ "index": 0, "delta": { "role": "assistant" }, "finish_reason": word });
    let chunk = json!({ "choices": [choice] });
    Reply::Stream(vec![format!("data: {chunk}\n\n"), "data: [DONE]\n\n".into()])
}

/// The last thing that a request says: who says it, and what.
fn last(api: Api, body: &Value) -> (String, String) {
    let list = if api == Api::Gemini { &body["contents"] } else { &body["messages"] };
    let last = list.as_array().unwrap().last().unwrap();
    (last["role"].as_str().unwrap().to_owned(), last.to_string())
}

/// The model is told, makes the call properly, and it runs once.
#[track_caller]
fn check(api: Api, first: Reply, told: &str) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let replies = vec![first, stream(api, "", &[ORDER]), stream(api, "Done.", &[])];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("order").await;
        assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "Done."), "{told}");
        assert_eq!(ends(&heard), ["shop__order ok"], "{told}");
        assert_eq!((world.hands.acts("order"), done.spent.rounds), (1, 3), "{told}");
        let (role, said) = last(api, &world.provider.requests()[1].body);
        assert_eq!(role, "user");
        assert!(said.contains(told) && !said.contains("hunter2"), "{said}");
    });
}

#[test]
fn a_call_that_the_provider_could_not_read_is_told_and_made_again() {
    for (word, told) in [
        ("MALFORMED_FUNCTION_CALL", "make the call again"),
        ("UNEXPECTED_TOOL_CALL", "call only tools that you were given"),
        ("TOO_MANY_TOOL_CALLS", "make fewer calls"),
        ("MALFORMED_RESPONSE", "answer again"),
    ] {
        check(Api::Gemini, gemini("", word), told);
        check(Api::Gemini, gemini("One moment.", word), told);
    }
    check(Api::OpenAi, groq(true), "make the call again");
    check(Api::OpenAi, groq(false), "make the call again");
    check(Api::OpenAi, door(), "make the call again");
}

#[tokio::test]
async fn what_was_shown_stays_in_the_conversation() {
    let api = Api::Gemini;
    let first = gemini("One moment.", "MALFORMED_FUNCTION_CALL");
    let world = World::new(api, vec![first, stream(api, "Done.", &[])]).await;
    let (_, heard, _) = world.say("order").await;
    assert_eq!(text(&heard), "One moment.Done.");
    let body = world.provider.requests()[1].body.clone();
    let roles: Vec<&str> = body["contents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "model", "user"]);
}

#[tokio::test]
async fn a_model_is_told_twice_in_a_row_and_no_more() {
    let api = Api::Gemini;
    let bad = || gemini("", "MALFORMED_FUNCTION_CALL");
    let replies = vec![bad(), bad(), bad(), stream(api, "Here I am.", &[])];
    let world = World::new(api, replies).await;
    let (done, _, mut chat) = world.say("order").await;
    let Reason::ModelFailed { message, .. } = done.reason else { panic!("{done:?}") };
    assert!(message.starts_with("unreadable: "), "{message}");
    assert_eq!((done.spent.rounds, done.spent.input_tokens), (3, 30));
    assert_eq!(world.provider.left(), 1);
    let (done, _) = say(&mut chat, "still there?").await;
    assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "Here I am."));

    // An answer between them begins the count anew.
    let order = || stream(api, "", &[ORDER]);
    let replies = vec![bad(), bad(), order(), bad(), bad(), stream(api, "Done.", &[])];
    let world = World::new(api, replies).await;
    let (done, _, _) = world.say("order").await;
    assert_eq!((done.reason, done.spent.rounds), (Reason::Finished, 6));
}

#[tokio::test]
async fn being_told_is_a_round() {
    let api = Api::Gemini;
    let limits = Limits { rounds: 1, ..settings().limits };
    let replies = vec![gemini("", "MALFORMED_FUNCTION_CALL"), stream(api, "Done.", &[])];
    let world = World::set(api, replies, Settings { limits, ..settings() }).await;
    let (done, _, _) = world.say("order").await;
    assert_eq!(done.reason, Reason::Limit { limit: Limit::Rounds, most: 1 });
    assert_eq!(world.provider.left(), 1);
}

/// Other errors are not the model's.
#[tokio::test]
async fn what_the_model_did_not_write_is_an_error_as_before() {
    let api = Api::Gemini;
    let world = World::new(api, vec![gemini("", "OTHER"), stream(api, "Done.", &[])]).await;
    let (done, _, _) = world.say("order").await;
    assert!(matches!(done.reason, Reason::ModelFailed { .. }), "{done:?}");
    assert_eq!(world.provider.left(), 1);
}
