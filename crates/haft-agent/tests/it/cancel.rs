//! Called off at any point: what has begun ends and is recorded, and nothing new begins.

use std::sync::Arc;

use haft_agent::http::Provider as Api;
use haft_agent::{Cancel, Event, Reason};
use haft_core::ledger::State;
use haft_core::port::{EffectFilter, Journal as _, Ledger as _, TrailFilter};
use tokio::sync::Notify;

use crate::provider::{Reply, says};
use crate::talk::answers;
use crate::world::{World, ends, say, say_until};

fn stream(api: Api, text: &str, calls: &[crate::provider::Call<'_>]) -> Reply {
    Reply::Stream(says(api, text, calls))
}

async fn states(world: &World) -> Vec<State> {
    let filter = EffectFilter { tenant: "default".into(), ..EffectFilter::default() };
    world.store.effects(filter).await.unwrap().iter().map(|record| record.state).collect()
}

#[tokio::test]
async fn in_mid_answer() {
    for api in Api::ALL {
        let mut first = says(api, "I think that", &[("c1", "shop__order", r#"{"item":"x"}"#)]);
        let rest = first.split_off(first.len() - 1);
        let (sent, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let gated = Reply::Gated(first, sent.clone(), never, rest);
        let world = World::new(api, vec![gated, stream(api, "Hello again.", &[])]).await;
        let cancel = Cancel::new();
        let stop = cancel.clone();
        tokio::spawn(async move {
            sent.notified().await;
            stop.cancel();
        });
        let mut chat = world.chat().await;
        let (done, _) = say_until(&mut chat, "go", &cancel).await;
        assert_eq!(done.reason, Reason::Cancelled, "{api}");
        assert_eq!(world.hands.acts("order"), 0, "{api}");
        let (done, _) = say(&mut chat, "hello?").await;
        assert_eq!(done.text, "Hello again.", "{api}");
    }
}

#[tokio::test]
async fn in_mid_call() {
    for api in Api::ALL {
        let calls =
            [("c1", "shop__order", r#"{"item":"a"}"#), ("c2", "shop__order", r#"{"item":"b"}"#)];
        let replies = vec![stream(api, "", &calls), stream(api, "I see.", &[])];
        let world = World::new(api, replies).await;
        let (begun, go) = world.hands.gate("order");
        let cancel = Cancel::new();
        let stop = cancel.clone();
        tokio::spawn(async move {
            begun.notified().await;
            stop.cancel();
            go.notify_one();
        });
        let mut chat = world.chat().await;
        let (done, heard) = say_until(&mut chat, "order both", &cancel).await;
        assert_eq!(done.reason, Reason::Cancelled, "{api}");
        // The one that had begun was done and is on record; the other never began.
        assert_eq!(ends(&heard), ["shop__order ok"], "{api}");
        assert_eq!(world.hands.all(), ["shop__order a"], "{api}");
        assert_eq!(states(&world).await, [State::Succeeded], "{api}");
        say(&mut chat, "what happened?").await;
        let told = answers(api, &world.provider.requests()[1].body);
        assert!(told[0].contains("did"), "{api}: {told:?}");
        assert!(told[1].contains("called the turn off; nothing was done"), "{api}: {told:?}");
    }
}

#[tokio::test]
async fn a_dropped_run_leaves_nothing_half_done() {
    let api = Api::OpenAi;
    let calls =
        [("c1", "shop__order", r#"{"item":"a"}"#), ("c2", "shop__order", r#"{"item":"b"}"#)];
    let again = ("c9", "shop__order", r#"{"item":"a"}"#);
    let replies =
        vec![stream(api, "", &calls), stream(api, "", &[again]), stream(api, "I see.", &[])];
    let world = World::new(api, replies).await;
    let (begun, go) = world.hands.gate("order");
    let mut chat = world.chat().await;
    {
        let cancel = Cancel::new();
        let mut nobody = |_| ();
        let saying = chat.say("order both", &mut nobody, &cancel);
        tokio::select! {
            _ = saying => panic!("it should have waited"),
            () = begun.notified() => {}
        }
    }
    go.notify_one();
    assert_eq!(world.runtime.drain(std::time::Duration::from_secs(5)).await, 0);
    assert_eq!(world.hands.all(), ["shop__order a"]);
    assert_eq!(states(&world).await, [State::Succeeded]);
    // The next message belongs to the same turn: the same act is answered from the ledger.
    let (done, heard) = say(&mut chat, "go on").await;
    assert_eq!(done.reason, Reason::Finished);
    assert_eq!(ends(&heard), ["shop__order ok"]);
    assert_eq!(world.hands.acts("order"), 1);
    let told = answers(api, &world.provider.requests()[1].body);
    assert!(told[0].contains("may have happened"), "{told:?}");
    assert!(told[1].contains("nothing was done"), "{told:?}");
}

#[tokio::test]
async fn a_request_whose_caller_is_gone_is_on_record_with_what_it_cost_at_least() {
    let api = Api::ALL[0];
    let mut first = says(api, "I think that", &[]);
    let rest = first.split_off(first.len() - 1);
    let (sent, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let world = World::new(api, vec![Reply::Gated(first, sent.clone(), never, rest)]).await;
    let mut chat = world.chat().await;
    let read = Arc::new(Notify::new());
    {
        let (cancel, told, mut text) = (Cancel::new(), read.clone(), String::new());
        let mut hear = |event| {
            if let Event::Text { delta } = event {
                text += &delta;
            }
            if text == "I think that" {
                told.notify_one();
            }
        };
        tokio::select! {
            _ = chat.say("go", &mut hear, &cancel) => panic!("it never ends"),
            () = read.notified() => {}
        }
    }
    drop(chat);
    let kinds = vec!["model_request".to_owned()];
    let wanted =
        TrailFilter { tenant: "default".into(), kinds, limit: 9, ..TrailFilter::default() };
    let mut found = Vec::new();
    while found.is_empty() {
        found = world.store.trail(wanted.clone()).await.unwrap();
        tokio::task::yield_now().await;
    }
    let said: serde_json::Value = serde_json::from_str(&found[0].body).unwrap();
    assert_eq!((found.len(), &said["estimated"]), (1, &true.into()), "{said}");
    assert!(said["inputTokens"].as_u64().unwrap() > 10, "{said}");
    assert_eq!(said["outputTokens"], 3, "what was read until then: {said}");
}
