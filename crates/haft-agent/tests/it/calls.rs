//! What must not be run, what waits for a person, and what is asked twice.

use std::sync::Arc;

use haft_agent::Settings;
use haft_agent::http::Provider as Api;
use haft_agent::{Approve, Decision, Event, Question, Reason};
use haft_core::Principal;
use haft_core::port::Boxed;
use haft_runtime::policy::Rules;
use haft_wire::Strictness;
use parking_lot::Mutex;
use serde_json::json;

use crate::provider::{Reply, says};
use crate::talk::answers;
use crate::world::{World, caller, ends, registry, say, settings, tool};

fn stream(api: Api, text: &str, calls: &[crate::provider::Call<'_>]) -> Reply {
    Reply::Stream(says(api, text, calls))
}

#[tokio::test]
async fn malformed_arguments_are_answered_and_not_run() {
    for api in Api::ALL {
        let bad = ("c1", "shop__order", r#"{"item": hunter2"#);
        let good = ("c2", "shop__order", r#"{"item":"lamp"}"#);
        let replies =
            vec![stream(api, "", &[bad]), stream(api, "", &[good]), stream(api, "Done.", &[])];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("order").await;
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(ends(&heard), ["shop__order invalid_arguments", "shop__order ok"], "{api}");
        assert_eq!(world.hands.acts("order"), 1, "{api}");
        let second = &answers(api, &world.provider.requests()[1].body)[0];
        assert!(second.contains("nothing was done") && !second.contains("hunter2"), "{second}");
    }
}

#[tokio::test]
async fn a_refused_call_comes_with_the_tools_documentation_once() {
    let api = Api::Anthropic;
    let bad = |id| (id, "shop__order", r#"{"thing":"lamp"}"#);
    let replies = vec![
        stream(api, "", &[bad("c1")]),
        stream(api, "", &[bad("c2")]),
        stream(api, "Sorry.", &[]),
    ];
    let world = World::new(api, replies).await;
    let (_, heard, _) = world.say("order").await;
    assert_eq!(ends(&heard), ["shop__order invalid_arguments"; 2]);
    let requests = world.provider.requests();
    let times = |at: usize| requests[at].body.to_string().matches("How to use order").count();
    assert_eq!((times(0), times(1), times(2)), (0, 1, 1));
    // In one user message, after the result.
    let last = requests[1].body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["content"][0]["type"], "tool_result");
    assert_eq!(last["content"][1]["type"], "text");
}

#[tokio::test]
async fn an_unknown_tool_is_answered() {
    for api in Api::ALL {
        let replies = vec![stream(api, "", &[("c1", "rm_rf", "{}")]), stream(api, "Sorry.", &[])];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("go").await;
        assert_eq!(ends(&heard), ["rm_rf unavailable"], "{api}");
        assert_eq!(done.reason, Reason::Finished);
    }
}

#[tokio::test]
async fn the_same_act_asked_for_twice_is_done_once() {
    for api in Api::ALL {
        let order = |id| (id, "shop__order", r#"{"item":"lamp"}"#);
        let replies = vec![
            stream(api, "", &[order("c1"), order("c2")]),
            // With an id that was used before, and with none where the API allows that.
            stream(api, "", &[order("c1")]),
            stream(api, "Done.", &[]),
        ];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("order").await;
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(ends(&heard), ["shop__order ok"; 3], "{api}");
        assert_eq!(world.hands.acts("order"), 1, "{api}");
        let third = &answers(api, &world.provider.requests()[2].body)[2];
        assert!(third.contains("nothing was done again"), "{api}: {third}");
    }
}

#[tokio::test]
async fn calls_without_ids_are_paired_all_the_same() {
    for api in [Api::OpenAi, Api::Gemini] {
        let calls = [("", "shop__find", r#"{"item":"a"}"#), ("", "shop__look", r#"{"item":"b"}"#)];
        let replies = vec![stream(api, "", &calls), stream(api, "Done.", &[])];
        let world = World::new(api, replies).await;
        let (done, heard, _) = world.say("go").await;
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(ends(&heard).len(), 2);
        let body = world.provider.requests()[1].body.clone();
        if api == Api::OpenAi {
            let messages = body["messages"].as_array().unwrap();
            assert_eq!(messages[2]["tool_calls"][0]["id"], messages[3]["tool_call_id"], "{body:#}");
            assert_eq!(messages[2]["tool_calls"][1]["id"], messages[4]["tool_call_id"]);
            assert_ne!(messages[3]["tool_call_id"], messages[4]["tool_call_id"]);
        } else {
            let answer = &body["contents"][2]["parts"][0]["functionResponse"];
            assert_eq!(answer["name"], "shop__find");
            assert!(answer.get("id").is_none());
            // The signature is carried through.
            assert_eq!(body["contents"][1]["parts"][0]["thoughtSignature"], "c2ln");
        }
    }
}

/// A person who says the same to everything.
struct Person(Principal, Decision, Mutex<Vec<Question>>);

impl Person {
    fn saying(decision: Decision) -> Arc<Self> {
        Arc::new(Self(Principal::user("mara"), decision, Mutex::default()))
    }
}

impl Approve for Person {
    fn principal(&self) -> &Principal {
        &self.0
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Boxed<'a, Decision> {
        self.2.lock().push(question.clone());
        Box::pin(std::future::ready(self.1))
    }
}

#[track_caller]
fn check_asked(api: Api, decision: Decision, expected: &'static str, acts: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let gift = ("c1", "shop__gift", r#"{"item":"lamp"}"#);
        let replies = vec![stream(api, "", &[gift]), stream(api, "Well.", &[])];
        let world = World::new(api, replies).await;
        let person = Person::saying(decision);
        let agent = world.agent.clone().approved_by(person.clone());
        let mut chat = agent.chat(caller()).await.unwrap();
        let (done, heard) = say(&mut chat, "give it away").await;
        assert_eq!(done.reason, Reason::Finished);
        assert_eq!(ends(&heard), [expected], "{api} {decision:?}");
        assert_eq!(world.hands.acts("gift"), acts);
        let asked = person.2.lock().clone();
        assert_eq!(asked.len(), 1);
        assert!(asked[0].preview.contains("lamp"), "{asked:?}");
        let told = |event: &Event| matches!(event, Event::ConfirmationDecided { decision: said, .. } if *said == decision);
        assert!(heard.iter().any(told));
    });
}

#[test]
fn a_person_decides_and_the_model_learns_what() {
    for api in Api::ALL {
        check_asked(api, Decision::Approve, "shop__gift ok", 1);
        check_asked(api, Decision::Decline, "shop__gift confirmation_refused", 0);
        check_asked(api, Decision::Later, "shop__gift confirmation_required", 0);
    }
}

#[tokio::test]
async fn with_nobody_to_ask_the_model_is_told_to_wait() {
    let api = Api::OpenAi;
    let gift = ("c1", "shop__gift", r#"{"item":"lamp"}"#);
    let world = World::new(api, vec![stream(api, "", &[gift]), stream(api, "I wait.", &[])]).await;
    let (_, heard, _) = world.say("give it away").await;
    assert_eq!(ends(&heard), ["shop__gift confirmation_required"]);
    let answer = &answers(api, &world.provider.requests()[1].body)[0];
    assert!(answer.contains("cannot approve it yourself"), "{answer}");
    assert_eq!(world.hands.acts("gift"), 0);
}

#[tokio::test]
async fn the_actor_cannot_approve_itself() {
    let api = Api::OpenAi;
    let gift = ("c1", "shop__gift", r#"{"item":"lamp"}"#);
    let world = World::new(api, vec![stream(api, "", &[gift]), stream(api, "Well.", &[])]).await;
    let itself = Arc::new(Person(caller().actor, Decision::Approve, Mutex::default()));
    let mut chat = world.agent.clone().approved_by(itself).chat(caller()).await.unwrap();
    let (_, heard) = say(&mut chat, "give it away").await;
    assert_eq!(world.hands.acts("gift"), 0);
    assert_eq!(ends(&heard), ["shop__gift confirmation_refused"]);
}

#[tokio::test]
async fn a_model_that_ran_out_of_room_in_mid_call_is_told() {
    let api = Api::OpenAi;
    let order = ("c1", "shop__order", r#"{"item":"lamp"}"#);
    let cut: Vec<String> = says(api, "", &[order])
        .into_iter()
        .map(|piece| piece.replace("\"tool_calls\"}", "\"length\"}"))
        .collect();
    assert!(cut.iter().any(|piece| piece.contains("length")));
    let replies = vec![Reply::Stream(cut), stream(api, "", &[order]), stream(api, "Done.", &[])];
    let world = World::new(api, replies).await;
    let (done, heard, _) = world.say("order").await;
    assert_eq!(done.reason, Reason::Finished);
    assert_eq!(ends(&heard), ["shop__order ok"]);
    assert_eq!(world.hands.acts("order"), 1);
    let second = world.provider.requests()[1].body["messages"].clone();
    let last = second.as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "user");
    assert!(last["content"].as_str().unwrap().contains("was not run"), "{last}");
}

/// What a model says that calls a tool of free text, which nobody offered.
fn free_text(api: Api) -> Reply {
    let data = |data: serde_json::Value| format!("data: {data}\n\n");
    let pieces = if api == Api::OpenAi {
        let custom = json!({ "name": "shop__order", "input": "{\"item\":\"lamp\"}" });
        let call = json!({ "index": 0, "id": "c1", "type": "custom", "custom": custom });
        let choice =
            json!({ "index": 0, "delta": { "tool_calls": [call] }, "finish_reason": "tool_calls" });
        vec![data(json!({ "choices": [choice] })), "data: [DONE]\n\n".into()]
    } else {
        let item = json!({
            "type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "shop__order",
            "input": "{\"item\":\"lamp\"}",
        });
        let response = json!({ "id": "r", "status": "completed", "output": [item] });
        vec![data(json!({ "type": "response.completed", "response": response }))]
    };
    Reply::Stream(pieces)
}

#[tokio::test]
async fn a_call_in_free_text_is_not_run_and_the_model_is_told_why() {
    for api in [Api::OpenAi, Api::OpenAiResponses] {
        let world = World::new(api, vec![free_text(api), stream(api, "Sorry.", &[])]).await;
        let (done, heard, _) = world.say("order").await;
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert_eq!(ends(&heard), ["shop__order invalid_arguments"], "{api}");
        assert_eq!(world.hands.acts("order"), 0, "{api}");
        let body = &world.provider.requests()[1].body;
        let told = if api == Api::OpenAi {
            assert_eq!(body["messages"][2]["tool_calls"][0]["type"], "custom", "{body:#}");
            assert_eq!(body["messages"][3]["tool_call_id"], "c1");
            body["messages"][3]["content"].to_string()
        } else {
            assert_eq!(body["input"][1]["type"], "custom_tool_call", "{body:#}");
            assert_eq!(body["input"][2]["type"], "custom_tool_call_output");
            assert_eq!(body["input"][2]["call_id"], "c1");
            body["input"][2]["output"].to_string()
        };
        assert!(told.contains("none of your tools takes free text"), "{told}");
        assert!(told.contains("as a function"), "{told}");
    }
}

/// The path speaks of the contract; the model has to hear of what it was shown.
#[tokio::test]
async fn errors_speak_of_the_tool_as_it_was_shown() {
    for (api, sent, expected) in [
        (
            Api::OpenAi,
            r#"{"labels":[{"key":"a","value":1},{"key":"b","value":"x"}],"size of":null}"#,
            "`labels[1].value` must be an integer, not a string",
        ),
        (
            Api::Anthropic,
            r#"{"labels":[{"key":"a","value":1,"note":"?"}]}"#,
            "`labels[0].note` is not a known property",
        ),
        (
            Api::Gemini,
            r#"{"labels":[{"key":"a","value":1}],"level":"9"}"#,
            "must be one of `1`, `2`",
        ),
    ] {
        let parameters = json!({
            "type": "object", "additionalProperties": false, "required": ["labels"],
            "properties": {
                "labels": { "type": "object", "additionalProperties": { "type": "integer" } },
                "level": { "type": "integer", "enum": [1, 2] },
                "size of": { "type": "string" },
            },
        });
        let mark = tool("shop__mark", "Mark a thing.", json!({ "parameters": parameters }));
        let settings = Settings { strictness: Strictness::Strict, ..settings() };
        let replies =
            vec![stream(api, "", &[("c1", "shop__mark", sent)]), stream(api, "Sorry.", &[])];
        let world =
            World::with(api, replies, registry(vec![mark]), Rules::default(), settings).await;
        let (_, heard, _) = world.say("mark").await;
        assert_eq!(ends(&heard), ["shop__mark invalid_arguments"], "{api}");
        let told = &answers(api, &world.provider.requests()[1].body)[0];
        assert!(told.contains(expected), "{api}: {told}");
        assert!(!told.contains("`labels` must be an object"), "{api}: {told}");
    }
}
