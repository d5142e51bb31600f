//! Newer messages while the model works.

use haft_agent::http::Provider as Api;
use haft_agent::{Event, Reason};
use haft_runtime::policy::{Rules, Supersede};
use haft_runtime::session::Arrived;

use crate::provider::{Reply, says};
use crate::world::{World, caller, ends, say};

fn stream(api: Api, text: &str, calls: &[crate::provider::Call<'_>]) -> Reply {
    Reply::Stream(says(api, text, calls))
}

/// A newer message comes while a first call runs; then an irreversible one is due.
async fn interrupted(api: Api, rule: Supersede) -> (World, Vec<String>, Vec<Event>, Reason) {
    let calls = [("c1", "shop__find", r#"{"item":"a"}"#), ("c2", "shop__order", r#"{"item":"b"}"#)];
    let replies =
        vec![stream(api, "", &calls), stream(api, "First.", &[]), stream(api, "Second.", &[])];
    let mut rules = Rules::default();
    rules.modes.entry(haft_core::contract::Mode::Text).or_default();
    rules.supersede.insert(haft_core::contract::SideEffectPolicy::Irreversible, rule);
    let world = World::ruled(api, replies, rules).await;
    let (begun, go) = world.hands.gate("find");
    let mut chat = world.chat().await;
    let mailbox = chat.mailbox();
    tokio::spawn(async move {
        begun.notified().await;
        let arrived = mailbox.post("no, stop").await.unwrap();
        assert_eq!(arrived, Arrived::Waits { waiting: 1 });
        go.notify_one();
    });
    let (done, heard) = say(&mut chat, "order b").await;
    let ends = ends(&heard);
    (world, ends, heard, done.reason)
}

fn said(heard: &[Event]) -> Vec<&str> {
    heard
        .iter()
        .filter_map(|event| {
            let Event::Message { text } = event else { return None };
            Some(text.as_str())
        })
        .collect()
}

#[tokio::test]
async fn a_newer_message_is_heard_before_what_cannot_be_undone() {
    for api in Api::ALL {
        for (rule, acts, requests) in [
            (Supersede::Abort, 0, 2),
            (Supersede::Absorb, 0, 2),
            (Supersede::Queue, 1, 3),
            (Supersede::Finish, 1, 3),
        ] {
            let (world, ends, heard, reason) = interrupted(api, rule).await;
            assert_eq!(reason, Reason::Finished, "{api} {rule:?}");
            assert_eq!(world.hands.acts("order"), acts, "{api} {rule:?}: {ends:?}");
            assert_eq!(said(&heard), ["no, stop"], "{api} {rule:?}");
            let all = world.provider.requests();
            assert_eq!(all.len(), requests, "{api} {rule:?}");
            let last = all.last().unwrap().body.to_string();
            assert_eq!(last.matches("no, stop").count(), 1, "{api} {rule:?}: {last}");
        }
    }
}

#[tokio::test]
async fn a_message_between_two_comes_first() {
    let api = Api::OpenAi;
    let world = World::new(api, vec![stream(api, "One.", &[]), stream(api, "Two.", &[])]).await;
    let mut chat = world.chat().await;
    say(&mut chat, "one").await;
    chat.mailbox().post("by the way").await.unwrap();
    let (done, _) = say(&mut chat, "two").await;
    assert_eq!(done.text, "Two.");
    let body = world.provider.requests()[1].body.to_string();
    assert!(body.find("by the way").unwrap() < body.find("\"two\"").unwrap(), "{body}");
}

#[tokio::test]
async fn a_session_that_is_over_says_so() {
    let api = Api::OpenAi;
    let world = World::new(api, vec![stream(api, "One.", &[]), stream(api, "Two.", &[])]).await;
    let mut chat = world.chat().await;
    say(&mut chat, "one").await;
    world.runtime.close(&caller(), chat.session()).await.unwrap();
    let (done, _) = say(&mut chat, "two").await;
    assert!(matches!(done.reason, Reason::SessionRefused { .. }), "{done:?}");
    assert_eq!(world.provider.requests().len(), 1);
}
