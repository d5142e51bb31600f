//! Limits, each with its reason.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::http::Provider as Api;
use haft_agent::{Limit, Limits, Reason, Settings};
use haft_core::port::{EffectFilter, Ledger as _};
use tokio::sync::Notify;

use crate::provider::{Reply, says};
use crate::world::{World, ends, say, settings};

fn limited(limits: Limits) -> Settings {
    Settings { limits, ..settings() }
}

fn finds(api: Api, n: usize) -> Reply {
    let calls: Vec<_> = (0..n).map(|_| ("", "shop__find", r#"{"item":"x"}"#)).collect();
    Reply::Stream(says(api, "", &calls))
}

#[tokio::test]
async fn rounds_end() {
    let api = Api::OpenAi;
    let replies = (0..10).map(|_| finds(api, 1)).collect();
    let world = World::set(api, replies, limited(Limits { rounds: 3, ..settings().limits })).await;
    let (done, heard, mut chat) = world.say("go").await;
    assert_eq!(done.reason, Reason::Limit { limit: Limit::Rounds, most: 3 });
    assert_eq!((done.spent.rounds, done.spent.calls), (3, 3));
    assert_eq!(ends(&heard).len(), 3);
    // The next message has an allowance of its own, and every call has its answer.
    let (done, _) = say(&mut chat, "go on").await;
    assert_eq!(done.spent.rounds, 3);
    let body = world.provider.requests()[3].body.clone();
    let messages = body["messages"].as_array().unwrap();
    let count = |role: &str| messages.iter().filter(|m| m["role"] == role).count();
    assert_eq!((count("assistant"), count("tool"), count("user")), (3, 3, 2));
}

#[tokio::test]
async fn calls_end() {
    for api in Api::ALL {
        let ids = [
            ("c1", "shop__find", r#"{"item":"x"}"#),
            ("c2", "shop__find", r#"{"item":"y"}"#),
            ("c3", "shop__order", r#"{"item":"z"}"#),
        ];
        let replies = vec![Reply::Stream(says(api, "", &ids)), Reply::Stream(says(api, "ok", &[]))];
        let limits = Limits { calls: 2, ..settings().limits };
        let world = World::set(api, replies, limited(limits)).await;
        let (done, heard, mut chat) = world.say("go").await;
        assert_eq!(done.reason, Reason::Limit { limit: Limit::Calls, most: 2 }, "{api}");
        assert_eq!(ends(&heard).len(), 2);
        assert_eq!(world.hands.acts("order"), 0);
        let (done, _) = say(&mut chat, "go on").await;
        assert_eq!(done.reason, Reason::Finished);
        let answers = crate::talk::answers(api, &world.provider.requests()[1].body);
        assert_eq!(answers.len(), 3, "{api}");
        assert!(answers[2].contains("allowance of 2 calls"), "{api}: {}", answers[2]);
    }
}

#[tokio::test]
async fn a_model_in_a_loop_is_stopped_before_the_next_effect_is_claimed() {
    const ROUNDS: usize = 50;
    const EACH: usize = 20;
    let api = Api::OpenAi;
    let reply = |round: usize| {
        let calls: Vec<(String, String)> = (0..EACH)
            .map(|at| (format!("c{at}"), format!(r#"{{"item":"{round} {at}"}}"#)))
            .collect();
        let calls: Vec<_> =
            calls.iter().map(|(id, item)| (id.as_str(), "shop__order", item.as_str())).collect();
        Reply::Stream(says(api, "", &calls))
    };
    let limits = Limits { calls: 45, rounds: 1_000, ..settings().limits };
    let world = World::set(api, (0..ROUNDS).map(reply).collect(), limited(limits)).await;
    let (done, _, _) = world.say("go").await;
    assert_eq!(done.reason, Reason::Limit { limit: Limit::Calls, most: 45 });
    assert_eq!((done.spent.calls, world.hands.acts("order")), (45, 45));
    let filter = EffectFilter { tenant: "default".into(), limit: 1_000, ..EffectFilter::default() };
    assert_eq!(world.store.effects(filter).await.unwrap().len(), 45, "no more were begun");
    assert_eq!(world.provider.requests().len(), 3, "and the model was not asked again");
}

#[tokio::test]
async fn tokens_end() {
    let api = Api::Anthropic;
    let call = ("c1", "shop__order", r#"{"item":"z"}"#);
    let replies = vec![Reply::Stream(says(api, "", &[call]))];
    let limits = Limits { tokens: 15, ..settings().limits };
    let world = World::set(api, replies, limited(limits)).await;
    let (done, _, _) = world.say("go").await;
    assert_eq!(done.reason, Reason::Limit { limit: Limit::Tokens, most: 15 });
    assert_eq!(world.hands.acts("order"), 0);
}

#[tokio::test]
async fn time_ends() {
    let api = Api::Gemini;
    let (sent, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let replies = vec![Reply::Gated(vec![": hold on\n\n".into()], sent, never, Vec::new())];
    let limits = Limits { time: Duration::from_millis(100), ..settings().limits };
    let world = World::set(api, replies, limited(limits)).await;
    let (done, _, _) = world.say("go").await;
    assert_eq!(done.reason, Reason::Limit { limit: Limit::Time, most: 0 });
}

#[tokio::test]
async fn a_time_beyond_all_clocks_is_no_limit() {
    let api = Api::OpenAi;
    let call = ("c1", "shop__find", r#"{"item":"x"}"#);
    for time in [Duration::MAX, Duration::from_secs(u64::MAX), Duration::from_secs(1 << 62)] {
        let replies =
            vec![Reply::Stream(says(api, "", &[call])), Reply::Stream(says(api, "ok", &[]))];
        let patience = haft_agent::Patience { idle: time, first_byte: time, ..settings().patience };
        let limits = Limits { time, ..settings().limits };
        let world = World::set(api, replies, Settings { patience, ..limited(limits) }).await;
        let (done, _, _) = world.say("go").await;
        assert_eq!((done.reason, done.text.as_str()), (Reason::Finished, "ok"));
    }
}
