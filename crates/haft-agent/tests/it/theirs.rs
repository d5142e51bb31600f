//! Conversations that a client keeps: its own tools, and what it wants called.

use std::collections::HashSet;
use std::time::Duration;

use haft_agent::http::Provider as Api;
use haft_agent::{Cancel, Done, Handed, Reason, Settings, Told};
use haft_core::Digest;
use haft_core::contract::Mode;
use haft_runtime::policy::Rules;
use serde_json::{Value, json};

use crate::provider::{Reply, says};
use crate::requests::schema;
use crate::world::{World, caller, registry, settings, tool};

/// A tool whose schema Gemini cannot be told as it is, by a name that it does not take.
fn weather() -> Value {
    json!([{ "type": "function", "function": { "name": "9weather", "description": "Tells.",
        "parameters": { "type": "object", "properties": {
            "day": { "enum": [1, 2] },
            "more": { "type": "object", "additionalProperties": { "type": "string" } },
        }, "required": ["day"], "additionalProperties": false } } }])
}

fn hello() -> Value {
    json!([{ "role": "user", "content": "hello" }])
}

/// A request of a client: its end.
async fn ask(
    world: &World,
    messages: &Value,
    tools: &Value,
    choice: Option<&Value>,
) -> Result<Done, String> {
    let dialect = world.agent.dialect();
    let (messages, tools) = (messages.as_array().unwrap(), tools.as_array().unwrap());
    let mut told = Told::read(dialect, messages, tools)?;
    if let Some(choice) = choice {
        told.choose(choice, &world.runtime.catalog(&caller(), Mode::Text))?;
    }
    // As the server does: what the user said last is one turn of one session.
    let user = messages.iter().rposition(|one| one["role"] == "user").unwrap();
    let (name, within) = (Digest::of_json(&json!(messages[..=user])), Duration::from_secs(900));
    let session = world.runtime.rejoin(&caller(), Mode::Text, &name, None, within).await.unwrap();
    let mut chat = world.agent.take_up(caller(), &session, told);
    Ok(chat.answer(&mut |_| (), &Cancel::new()).await)
}

/// What a request says about what is to be called.
fn said(body: &Value) -> Value {
    let found = ["tool_choice", "toolConfig"].iter().find_map(|key| body.get(*key));
    found.cloned().unwrap_or_default()
}

/// A choice in the words of each API.
fn words(api: Api, wanted: &str, name: &str) -> Value {
    match (api, wanted) {
        (Api::OpenAi | Api::OpenAiResponses, "none" | "required") => json!(wanted),
        (Api::OpenAi, _) => json!({ "type": "function", "function": { "name": name } }),
        (Api::OpenAiResponses, _) => json!({ "type": "function", "name": name }),
        (Api::Anthropic, "none") => json!({ "type": "none" }),
        (Api::Anthropic, "required") => json!({ "type": "any" }),
        (Api::Anthropic, _) => json!({ "type": "tool", "name": name }),
        (Api::Gemini, "none") => json!({ "functionCallingConfig": { "mode": "NONE" } }),
        (Api::Gemini, "required") => json!({ "functionCallingConfig": { "mode": "ANY" } }),
        (Api::Gemini, _) => json!({ "functionCallingConfig": {
            "mode": "ANY", "allowedFunctionNames": [name] } }),
    }
}

fn function(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name } })
}

#[tokio::test]
async fn what_is_to_be_called_is_said_once_and_nothing_always() {
    for api in Api::ALL {
        for (choice, name) in [
            (json!("required"), ""),
            (function("find"), "shop__find"),
            (function("shop__find"), "shop__find"),
        ] {
            let call = ("c1", "shop__find", r#"{"item":"a"}"#);
            let replies =
                vec![Reply::Stream(says(api, "", &[call])), Reply::Stream(says(api, "Done.", &[]))];
            let world = World::new(api, replies).await;
            let done = ask(&world, &hello(), &json!([]), Some(&choice)).await.unwrap();
            assert_eq!(done.reason, Reason::Finished, "{api}");
            let requests = world.provider.requests();
            let wanted = choice.as_str().unwrap_or("function");
            assert_eq!(said(&requests[0].body), words(api, wanted, name), "{api}");
            // Forced again, it would never answer.
            assert_eq!(said(&requests[1].body), Value::Null, "{api}");
        }
        let auto = vec![Reply::Stream(says(api, "Done.", &[]))];
        let world = World::new(api, auto).await;
        ask(&world, &hello(), &json!([]), Some(&json!("auto"))).await.unwrap();
        assert_eq!(said(&world.provider.requests()[0].body), Value::Null, "{api}");
    }
}

/// An answer that could not be read has called nothing.
#[tokio::test]
async fn what_is_to_be_called_is_said_again_where_the_first_answer_was_no_call() {
    let api = Api::Gemini;
    let candidate = json!({ "index": 0, "finishReason": "MALFORMED_FUNCTION_CALL" });
    let unread = format!("data: {}\n\n", json!({ "candidates": [candidate] }));
    let call = ("c1", "shop__find", r#"{"item":"a"}"#);
    let replies = vec![
        Reply::Stream(vec![unread]),
        Reply::Stream(says(api, "", &[call])),
        Reply::Stream(says(api, "Done.", &[])),
    ];
    let world = World::new(api, replies).await;
    let done = ask(&world, &hello(), &json!([]), Some(&json!("required"))).await.unwrap();
    assert_eq!(done.reason, Reason::Finished);
    let said: Vec<Value> = world.provider.requests().iter().map(|seen| said(&seen.body)).collect();
    let forced = words(api, "required", "");
    assert_eq!(said, [forced.clone(), forced, Value::Null]);
}

#[tokio::test]
async fn nothing_is_called_where_nothing_is_to_be() {
    for api in Api::ALL {
        for tools in [json!([]), weather()] {
            // A provider that does not keep its model to it.
            let call = ("c1", "shop__order", r#"{"item":"a"}"#);
            let replies =
                vec![Reply::Stream(says(api, "", &[call])), Reply::Stream(says(api, "Done.", &[]))];
            let world = World::new(api, replies).await;
            let done = ask(&world, &hello(), &tools, Some(&json!("none"))).await.unwrap();
            assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "Done."), "{api}");
            assert_eq!(world.hands.acts("order"), 0, "{api}");
            let requests = world.provider.requests();
            for seen in &requests {
                assert_eq!(said(&seen.body), words(api, "none", ""), "{api}");
            }
            let told = requests[1].body.to_string();
            assert!(told.contains("no tool may be called in this answer"), "{api}: {told}");
        }
    }
}

#[tokio::test]
async fn a_tool_that_is_chosen_is_shown_also_where_not_all_are() {
    for api in Api::ALL {
        let part = |n| tool(&format!("shop__part_{n:03}"), "A part.", json!({}));
        let replies = vec![Reply::Stream(says(api, "x", &[]))];
        let settings = Settings { tools_budget: 4_096, ..settings() };
        let all = registry((0..300).map(part).collect());
        let world = World::with(api, replies, all, Rules::default(), settings).await;
        ask(&world, &hello(), &json!([]), Some(&function("part_123"))).await.unwrap();
        let body = world.provider.requests()[0].body.clone();
        assert_eq!(said(&body), words(api, "function", "shop__part_123"), "{api}");
        assert!(body["tools"].to_string().contains("shop__part_123"), "{api}");
    }
}

#[tokio::test]
async fn what_cannot_be_chosen_is_told() {
    let deny = ["shop__*", "reg_describe", "reg_search"].map(str::to_owned).to_vec();
    let none = World::ruled(Api::Gemini, vec![], Rules { deny, ..Rules::default() }).await;
    let world = World::new(Api::Gemini, vec![]).await;
    let allowed =
        json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [] } });
    for (world, choice, why) in [
        (
            &world,
            function("weather"),
            "`weather` is neither a tool of the agent nor one of `tools`",
        ),
        (&world, allowed, "must be `auto`, `none`, `required` or"),
        (&world, json!("always"), "must be `auto`, `none`, `required` or"),
        (&none, json!("required"), "there is no tool that could be called"),
    ] {
        let refused = ask(world, &hello(), &json!([]), Some(&choice)).await.unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    assert!(world.provider.requests().is_empty());
}

/// What the client would send next: what it sent, what it was told, and what it found, the last first.
fn gone_on(sent: &Value, calls: &[Handed]) -> Value {
    let call = |one: &Handed| {
        let mut call = json!({ "id": one.id, "type": "function",
            "function": { "name": one.name, "arguments": one.arguments } });
        if let Some(signature) = &one.signature {
            call["extra_content"] = json!({ "google": { "thought_signature": signature } });
        }
        call
    };
    let asked: Vec<Value> = calls.iter().map(call).collect();
    let mut all = sent.clone();
    let messages = all.as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": null, "tool_calls": asked }));
    for one in calls.iter().rev() {
        messages.push(json!({ "role": "tool", "tool_call_id": one.id, "content": one.arguments }));
    }
    all
}

/// The name and the arguments of the client's tool, as each API's model has them.
fn called(api: Api, world: &World) -> (String, &'static str) {
    let shown = world.provider.requests()[0].body["tools"].to_string();
    match api {
        Api::Gemini => {
            let at = shown.find("_9weather_").unwrap();
            let sent = r#"{"day":"2","more":[{"key":"a","value":"b"}]}"#;
            (shown[at..].split('"').next().unwrap().to_owned(), sent)
        }
        Api::OpenAi | Api::OpenAiResponses | Api::Anthropic => {
            ("9weather".to_owned(), r#"{"day":2,"more":{"a":"b"}}"#)
        }
    }
}

#[tokio::test]
async fn calls_of_a_clients_tools_are_handed_back_in_its_own_form_and_gone_on_with() {
    for api in Api::ALL {
        let world = World::new(api, vec![Reply::Stream(says(api, "x", &[]))]).await;
        ask(&world, &hello(), &weather(), Some(&function("9weather"))).await.unwrap();
        let (name, sent) = called(api, &world);
        assert_eq!(said(&world.provider.requests()[0].body), words(api, "function", &name));
        let id = if api == Api::Gemini { ["", "g7"] } else { ["a1", "b2"] };
        let calls = id.map(|id| (id, name.as_str(), sent));
        let replies =
            vec![Reply::Stream(says(api, "", &calls)), Reply::Stream(says(api, "Dry.", &[]))];
        let world = World::new(api, replies).await;
        let done = ask(&world, &hello(), &weather(), None).await.unwrap();
        let Reason::HandedBack { calls } = done.reason else { panic!("{api}: {:?}", done.reason) };
        assert_eq!(calls.len(), 2, "{api}");
        for call in &calls {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            assert_eq!(call.name, "9weather", "{api}");
            assert_eq!(arguments, json!({ "day": 2, "more": { "a": "b" } }), "{api}");
            assert_eq!(call.signature.is_some(), api == Api::Gemini);
        }
        let done = ask(&world, &gone_on(&hello(), &calls), &weather(), None).await.unwrap();
        assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "Dry."), "{api}");
        let body = &world.provider.requests()[1].body;
        if api == Api::Gemini {
            let parts = &body["contents"][1]["parts"];
            assert_eq!(
                parts[0]["functionCall"]["args"],
                json!({ "day": "2",
                "more": [{ "key": "a", "value": "b" }] })
            );
            assert_eq!(parts[0]["thoughtSignature"], "c2ln");
            assert_eq!(parts[0]["functionCall"].get("id"), None);
            assert_eq!(parts[1]["functionCall"]["id"], "g7");
            let answers = &body["contents"][2]["parts"];
            assert_eq!(answers[0]["functionResponse"].get("id"), None);
            assert_eq!(answers[1]["functionResponse"]["id"], "g7");
            assert_eq!(answers[1]["functionResponse"]["name"], name);
        }
        let kind = match api {
            Api::OpenAi => "openai.chat.request",
            Api::OpenAiResponses => "openai.responses.request",
            Api::Anthropic => "anthropic.request",
            Api::Gemini => "gemini.request",
        };
        let Some(schema) = schema(kind) else { continue };
        let problems: Vec<String> =
            schema.iter_errors(body).map(|e| format!("{} {e}", e.instance_path())).collect();
        assert!(problems.is_empty(), "{api}: {body:#}\n{}", problems.join("\n"));
    }
}

fn city() -> Value {
    json!([{ "type": "function", "function": { "name": "weather", "parameters": {
        "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] } } }])
}

#[track_caller]
fn handed(done: Done) -> Vec<Handed> {
    let Reason::HandedBack { calls } = done.reason else { panic!("{:?}", done.reason) };
    calls
}

/// A reply that asks for the weather, with ids that begin anew where the API has to have some.
fn weather_in(api: Api, cities: &[&str]) -> Reply {
    let asked: Vec<(String, String)> = cities
        .iter()
        .enumerate()
        .map(|(at, city)| {
            let id = if api == Api::Gemini { String::new() } else { format!("call_{at}") };
            (id, json!({ "city": city }).to_string())
        })
        .collect();
    let calls: Vec<_> =
        asked.iter().map(|(id, sent)| (id.as_str(), "weather", sent.as_str())).collect();
    Reply::Stream(says(api, "", &calls))
}

#[tokio::test]
async fn results_stay_with_their_calls_however_often_calls_are_handed_back() {
    for api in Api::ALL {
        let replies = vec![
            weather_in(api, &["Paris", "London"]),
            weather_in(api, &["Rome"]),
            weather_in(api, &["Oslo", "Bern"]),
            Reply::Stream(says(api, "Dry.", &[])),
        ];
        let world = World::new(api, replies).await;
        let (mut talk, mut ids) = (hello(), HashSet::new());
        for count in [2, 1, 2] {
            let calls = handed(ask(&world, &talk, &city(), None).await.unwrap());
            assert_eq!(calls.len(), count, "{api}");
            for call in &calls {
                assert!(ids.insert(call.id.clone()), "{api}: `{}` is there twice", call.id);
            }
            // What it finds is what it was asked for, so each result says which call it is of.
            talk = gone_on(&talk, &calls);
        }
        ask(&world, &talk, &city(), None).await.unwrap();
        if api != Api::Gemini {
            continue;
        }
        let body = world.provider.requests()[3].body.clone();
        let parts = |kind: &str| -> Vec<Value> {
            let all = body["contents"].as_array().unwrap().iter();
            let parts = all.flat_map(|content| content["parts"].as_array().unwrap());
            parts.filter_map(|part| part.get(kind)).cloned().collect()
        };
        let asked: Vec<_> = parts("functionCall").iter().map(|call| call["args"].clone()).collect();
        let found: Vec<_> = parts("functionResponse")
            .iter()
            .map(|said| said["response"]["output"].clone())
            .collect();
        assert_eq!(asked, found);
        assert_eq!(asked.len(), 5);
    }
}

#[tokio::test]
async fn a_later_request_of_a_turn_makes_calls_of_its_own() {
    for api in Api::ALL {
        let id = if api == Api::Gemini { "" } else { "call_0" };
        let find = |item: &str| {
            let sent = json!({ "item": item }).to_string();
            Reply::Stream(says(api, "", &[(id, "shop__find", &sent)]))
        };
        let replies = vec![
            find("a"),
            weather_in(api, &["Rome"]),
            find("b"),
            Reply::Stream(says(api, "Done.", &[])),
        ];
        let world = World::new(api, replies).await;
        let calls = handed(ask(&world, &hello(), &city(), None).await.unwrap());
        let done = ask(&world, &gone_on(&hello(), &calls), &city(), None).await.unwrap();
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(world.hands.all(), ["shop__find a", "shop__find b"], "{api}");
        let told = world.provider.requests()[3].body.to_string();
        assert!(!told.contains("conflict"), "{api}: {told}");
    }
}
