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

/// A newer message comes while a first call runs; then irreversible ones are due.
async fn interrupted(api: Api, rule: Supersede) -> (World, Vec<String>, Vec<Event>, Reason) {
    let calls = [
        ("c1", "shop__find", r#"{"item":"a"}"#),
        ("c2", "shop__order", r#"{"item":"b"}"#),
        ("c3", "shop__order", r#"{"item":"c"}"#),
    ];
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
            (Supersede::Queue, 2, 3),
            (Supersede::Finish, 2, 3),
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

/// Posts a message when a call has ended, before the run goes on.
struct Poster {
    mailbox: haft_agent::Mailbox,
    after: &'static str,
    text: &'static str,
    arrived: Option<Arrived>,
    heard: Vec<Event>,
}

impl haft_agent::Listen for Poster {
    fn hear<'a>(&'a mut self, event: Event) -> haft_core::port::Boxed<'a, ()> {
        Box::pin(async move {
            if let Event::ToolCallResult { tool, .. } = &event
                && tool == self.after
                && self.arrived.is_none()
            {
                self.arrived = Some(self.mailbox.post(self.text).await.unwrap());
            }
            self.heard.push(event);
        })
    }
}

/// The session gives a turn up for a newer message; before the run knows, there is another one.
#[tokio::test]
async fn a_message_that_begins_a_turn_while_another_ends_is_not_lost() {
    for api in Api::ALL {
        let calls = [
            ("c1", "shop__find", r#"{"item":"a"}"#),
            ("c2", "shop__order", r#"{"item":"b"}"#),
            ("c3", "shop__order", r#"{"item":"c"}"#),
        ];
        let replies = vec![stream(api, "", &calls), stream(api, "First.", &[])];
        let mut rules = Rules::default();
        let irreversible = haft_core::contract::SideEffectPolicy::Irreversible;
        rules.supersede.insert(irreversible, Supersede::Abort);
        let world = World::ruled(api, replies, rules).await;
        let (begun, go) = world.hands.gate("find");
        let mut chat = world.chat().await;
        let mailbox = chat.mailbox();
        let mut poster = Poster {
            mailbox: mailbox.clone(),
            after: "shop__order",
            text: "really",
            arrived: None,
            heard: Vec::new(),
        };
        tokio::spawn(async move {
            begun.notified().await;
            mailbox.post("no, stop").await.unwrap();
            go.notify_one();
        });
        let done = chat.say("order b", &mut poster, &haft_agent::Cancel::new()).await;
        assert_eq!(done.reason, Reason::Finished, "{api}");
        assert!(matches!(poster.arrived, Some(Arrived::Begins { .. })), "{:?}", poster.arrived);
        assert_eq!(said(&poster.heard), ["no, stop", "really"], "{api}");
        let all = world.provider.requests();
        assert_eq!(all.len(), 2, "{api}");
        let last = all.last().unwrap().body.to_string();
        assert!(last.contains("no, stop") && last.contains("really"), "{api}: {last}");
        // Nor does an answer that was given up go on under the new turn.
        assert_eq!(world.hands.acts("order"), 0, "{api}");
    }
}

/// Messages that come while turns end, from other threads, however it falls: each is heard once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_message_is_heard_once() {
    let api = Api::OpenAi;
    const TURNS: usize = 60;
    let replies = (0..TURNS * 4).map(|_| stream(api, "Ok.", &[])).collect();
    let world = World::new(api, replies).await;
    let mut chat = world.chat().await;
    let mut posts = Vec::new();
    for turn in 0..TURNS {
        let mailbox = chat.mailbox();
        let (tell, told) = tokio::sync::oneshot::channel::<()>();
        posts.push(tokio::spawn(async move {
            told.await.unwrap();
            for _ in 0..turn {
                std::hint::spin_loop();
            }
            mailbox.post(&format!("<post {turn}>")).await.unwrap();
        }));
        let mut tell = Some(tell);
        let mut hear = |event: Event| {
            if matches!(event, Event::ModelAnswer { .. })
                && let Some(tell) = tell.take()
            {
                tell.send(()).unwrap();
            }
        };
        let done = chat.say(&format!("<say {turn}>"), &mut hear, &haft_agent::Cancel::new()).await;
        assert_eq!(done.reason, Reason::Finished, "{turn}: {done:?}");
    }
    for post in posts {
        post.await.unwrap();
    }
    say(&mut chat, "<last>").await;
    let all = serde_json::json!(chat.messages()).to_string();
    for turn in 0..TURNS {
        for text in [format!("<post {turn}>"), format!("<say {turn}>")] {
            assert_eq!(all.matches(&text).count(), 1, "{text}");
        }
    }
}
