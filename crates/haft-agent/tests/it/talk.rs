//! Text and calls, in every dialect.

use haft_agent::Reason;
use haft_agent::http::Provider as Api;
use haft_core::port::Journal as _;
use serde_json::{Value, json};

use crate::provider::{Reply, says};
use crate::world::{World, ends, text};

fn stream(api: Api, text: &str, calls: &[crate::provider::Call<'_>]) -> Reply {
    Reply::Stream(says(api, text, calls))
}

#[tokio::test]
async fn a_model_that_only_talks_is_heard_as_it_talks() {
    for api in Api::ALL {
        let world = World::new(api, vec![stream(api, "Guten Tag – hello", &[])]).await;
        let (done, heard, chat) = world.say("hi").await;
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(text(&heard), "Guten Tag – hello", "{api}");
        assert_eq!(done.text, "Guten Tag – hello");
        assert_eq!((done.spent.input_tokens, done.spent.output_tokens), (10, 5), "{api}");
        let pieces = heard.iter().filter(|e| matches!(e, haft_agent::Event::Text { .. })).count();
        assert_eq!(pieces, 2, "{api}");
        // The user's message and the model's.
        assert_eq!(chat.messages().len(), 2, "{api}: {:#?}", chat.messages());
    }
}

#[tokio::test]
async fn a_call_is_run_and_its_result_is_the_next_request() {
    for api in Api::ALL {
        let call = ("c1", "shop__order", r#"{"item":"lamp","secret":"s3"}"#);
        let replies = vec![stream(api, "One moment.", &[call]), stream(api, "Ordered.", &[])];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("order a lamp").await;
        assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "Ordered."), "{api}");
        assert_eq!(ends(&heard), ["shop__order ok"], "{api}");
        assert_eq!(world.hands.all(), ["shop__order lamp"], "{api}");
        assert_eq!(done.spent.calls, 1);
        let second = &world.provider.requests()[1].body.to_string();
        assert!(second.contains(r#"did"#) && second.contains("One moment."), "{api}: {second}");
        // What the contract does not list is not shown.
        let told = json!(heard).to_string();
        assert!(told.contains("lamp") && !told.contains("s3"), "{told}");
    }
}

#[tokio::test]
async fn parallel_calls_are_answered_together_and_in_order() {
    for api in Api::ALL {
        let calls = [
            ("c1", "shop__find", r#"{"item":"a"}"#),
            ("c2", "shop__look", r#"{"item":"b"}"#),
            ("c3", "shop__order", r#"{"item":"c"}"#),
            ("c4", "shop__find", r#"{"item":"d"}"#),
        ];
        let replies = vec![stream(api, "", &calls), stream(api, "Done.", &[])];
        let world = World::new(api, replies).await;
        let (find, look) = (world.hands.gate("find"), world.hands.gate("look"));
        // Neither is let go before both have begun.
        let porter = tokio::spawn(async move {
            find.0.notified().await;
            look.0.notified().await;
            find.1.notify_one();
            look.1.notify_one();
            find.0.notified().await;
            find.1.notify_one();
        });
        let (done, _, _) = world.say("go").await;
        porter.await.unwrap();
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(done.spent.calls, 4);
        // What reads runs together; what writes runs alone, after what came before it.
        assert_eq!(world.hands.most(), 2, "{api}");
        let all = world.hands.all();
        assert_eq!(&all[2..], ["shop__order c", "shop__find d"], "{api}");
        let second = world.provider.requests()[1].body.clone();
        let order: Vec<String> = answers(api, &second);
        assert_eq!(order.len(), 4, "{api}: {second:#}");
        for (answer, item) in order.iter().zip(["a", "b", "c", "d"]) {
            assert!(
                answer.contains(&format!("\"{item}\""))
                    || answer.contains(&format!("\\\"{item}\\\"")),
                "{api}: {answer}"
            );
        }
    }
}

/// The answers in a request, in order.
pub(crate) fn answers(api: Api, body: &Value) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let found: Vec<Value> = match api {
        Api::OpenAi => {
            list(&body["messages"]).into_iter().filter(|m| m["role"] == "tool").collect()
        }
        Api::OpenAiResponses => list(&body["input"])
            .into_iter()
            .filter(|item| item["type"] == "function_call_output")
            .collect(),
        Api::Anthropic => list(&body["messages"])
            .iter()
            .flat_map(|message| list(&message["content"]))
            .filter(|block| block["type"] == "tool_result")
            .collect(),
        Api::Gemini => list(&body["contents"])
            .iter()
            .flat_map(|content| list(&content["parts"]))
            .filter(|part| part.get("functionResponse").is_some())
            .collect(),
    };
    found.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn what_each_request_cost_and_was_prompted_with_is_on_record() {
    let api = Api::OpenAi;
    let call = ("c1", "shop__find", r#"{"item":"lamp"}"#);
    let world = World::new(api, vec![stream(api, "", &[call]), stream(api, "x", &[])]).await;
    let (_, heard, _) = world.say("go").await;
    let notes: Vec<Value> = world
        .store
        .audit(0, 100)
        .await
        .unwrap()
        .into_iter()
        .filter(|entry| entry.kind == "model_request")
        .map(|entry| serde_json::from_str(&entry.body).unwrap())
        .collect();
    assert_eq!(notes.len(), 2);
    assert_eq!(notes[0]["inputTokens"], 10);
    assert_eq!(notes[0]["finish"], "calls");
    assert_eq!(notes[0]["prompt"], notes[1]["prompt"]);
    assert_ne!(notes[0]["request"], notes[1]["request"]);
    let sent =
        world.provider.requests()[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    let digest = haft_core::Digest::of_bytes(sent.as_bytes());
    assert_eq!(notes[0]["prompt"], json!(digest));
    assert!(json!(heard).to_string().contains(&digest.to_string()));
    assert!(!json!(notes).to_string().contains("sk-very-secret"));
}

#[tokio::test]
async fn what_a_provider_does_not_say_of_its_cost_is_estimated() {
    let api = Api::ALL[0];
    let mut pieces = says(api, "twelve bytes", &[]);
    pieces.retain(|piece| !piece.contains("\"usage\""));
    let world = World::new(api, vec![Reply::Stream(pieces)]).await;
    world.say("go").await;
    let all = world.store.audit(0, 100).await.unwrap();
    let note = all.iter().find(|entry| entry.kind == "model_request").unwrap();
    let note: Value = serde_json::from_str(&note.body).unwrap();
    assert_eq!((&note["estimated"], &note["outputTokens"]), (&json!(true), &json!(3)), "{note}");
    let sent = world.provider.requests()[0].body.to_string().len() as u64;
    let counted = note["inputTokens"].as_u64().unwrap();
    assert!((sent / 8..sent).contains(&counted), "{counted} of {sent} bytes");
}

#[tokio::test]
async fn the_prompt_is_the_toolsets_with_the_agents_tools() {
    let world = World::new(Api::OpenAi, vec![stream(Api::OpenAi, "x", &[])]).await;
    world.say("go").await;
    let body = world.provider.requests()[0].body.clone();
    let prompt = body["messages"][0]["content"].as_str().unwrap();
    assert!(prompt.starts_with("You sell lamps."), "{prompt}");
    assert!(prompt.contains("**shop__order** (action): Order a thing. (summary)"), "{prompt}");
    assert!(prompt.contains("haft__reg_describe"), "{prompt}");
    let names: Vec<&str> = body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["haft__reg_describe", "shop__find", "shop__gift", "shop__look", "shop__order"]
    );
}
