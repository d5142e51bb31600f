//! Sessions: turns, budgets, newer messages, intents and blocks.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_core::call::Keyed;
use haft_core::contract::{Capability, Mode, SideEffectPolicy};
use haft_core::outcome::{After, Intent, IntentStatus};
use haft_core::port::{
    ANSWERS_BYTES, CallFilter, ConfirmationFilter, Confirmations as _, Ended, Invoke as _,
    Journal as _, Sessions as _, Store as _,
};
use haft_core::record::{Confirmation, ConfirmationStatus, Event, EventKind};
use haft_core::session::{Phase, Recent};
use haft_core::{Call, Caller, Digest, Envelope, ErrorKind, Principal};
use haft_runtime::Settings;
use haft_runtime::batch::{Planned, Step};
use haft_runtime::effects::Found;
use haft_runtime::policy::{Policy, Rules, Source, Spending, Supersede, Text};
use haft_runtime::session::{Arrived, Signal};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::faulty::Faulty;
use super::world::{Does, World, call, caller, kind, lost, tools};

/// Declared fields that a call does not have make no two acts one.
#[tokio::test]
async fn acts_without_any_key_field_are_told_apart_by_everything() {
    let session = In::mode(Mode::Text).await;
    let ship = |order: Value| {
        let mut call = session.call("ship", "");
        call.arguments = json!({ "order": order }).into();
        session.world.call(call)
    };
    assert!(!ship(json!({ "note": "a" })).await.meta.cached);
    assert!(!ship(json!({ "note": "b", "number": null })).await.meta.cached);
    assert!(ship(json!({ "note": "a" })).await.meta.cached);
    assert!(!ship(json!({ "number": 1, "note": "a" })).await.meta.cached);
    assert!(ship(json!({ "number": 1, "note": "b" })).await.meta.cached);
    assert_eq!(session.world.acts("ship"), 3);
}

/// Other processes write in between; whoever waits gets its turn.
#[tokio::test(start_paused = true)]
async fn a_session_that_others_write_is_waited_for() {
    let world = World::new();
    let store = Faulty::on(world.store.clone());
    let runtime = world.on(store.clone());
    let id = runtime.open(&caller(), Mode::Text).await.unwrap().id;
    store.outrun.store(200, Ordering::SeqCst);
    let mut call = Call::new(caller(), "order", json!({ "item": "lamp" }));
    call.session = Some(id);
    let envelope = runtime.invoke(call).await;
    assert!(envelope.is_ok(), "{:?}", envelope.result);
    assert_eq!(store.outrun.load(Ordering::SeqCst), 0);
}

pub(super) struct In {
    pub(super) world: World,
    pub(super) id: String,
}

impl In {
    pub(super) async fn mode(mode: Mode) -> Self {
        Self::world(World::new(), mode).await
    }

    pub(super) async fn world(world: World, mode: Mode) -> Self {
        let id = world.runtime.open(&caller(), mode).await.unwrap().id;
        Self { world, id }
    }

    pub(super) fn call(&self, tool: &str, item: &str) -> Call {
        let mut call = Call::new(caller(), tool, json!({ "item": item }));
        call.session = Some(self.id.clone());
        call
    }

    pub(super) async fn make(&self, tool: &str, item: &str) -> Envelope {
        self.world.call(self.call(tool, item)).await
    }

    pub(super) async fn message(&self, text: &str) -> Arrived {
        self.world.runtime.message(&caller(), &self.id, json!(text)).await.unwrap()
    }

    pub(super) async fn over(&self) -> Vec<Value> {
        self.signal(Signal::TurnComplete).await.messages
    }

    async fn signal(&self, signal: Signal) -> haft_runtime::runtime::Signalled {
        self.world.runtime.signal(&caller(), &self.id, signal).await.unwrap()
    }

    async fn phase(&self) -> Phase {
        self.world.runtime.session(&caller(), &self.id).await.unwrap().phase
    }
}

#[tokio::test]
async fn voice_has_two_retrievals_and_one_search_a_turn() {
    let voice = In::mode(Mode::Voice).await;
    assert!(voice.make("find", "a").await.is_ok());
    assert_eq!(kind(&voice.make("find", "b").await), ErrorKind::BudgetExceeded);
    assert!(voice.make("get", "a").await.is_ok());
    assert_eq!(kind(&voice.make("get", "b").await), ErrorKind::BudgetExceeded);
    // What does not retrieve is not counted, and a new turn has a new budget.
    assert!(voice.make("compute", "a").await.is_ok());
    voice.over().await;
    voice.message("go on").await;
    assert!(voice.make("find", "b").await.is_ok());
}

#[tokio::test]
async fn text_has_five_retrievals_a_turn() {
    let text = In::mode(Mode::Text).await;
    for n in 0..5 {
        assert!(text.make("find", &n.to_string()).await.is_ok());
    }
    assert_eq!(kind(&text.make("find", "6").await), ErrorKind::BudgetExceeded);
}

#[tokio::test]
async fn voice_does_not_retry() {
    let voice = In::mode(Mode::Voice).await;
    let failed = Ended::Failed(haft_core::ToolError::new(ErrorKind::Transient, "busy"));
    voice.world.next("get", Does::Ends(failed));
    let answer = voice.make("get", "a").await;
    assert_eq!((kind(&answer), answer.meta.attempts), (ErrorKind::Transient, 1));
}

#[tokio::test]
async fn the_same_act_in_one_turn_group_is_one() {
    let text = In::mode(Mode::Text).await;
    assert!(!text.make("order", "lamp").await.meta.cached);
    assert!(text.make("order", "lamp").await.meta.cached);
    assert!(!text.make("order", "chair").await.meta.cached);
    text.over().await;
    text.message("again, please").await;
    assert!(!text.make("order", "lamp").await.meta.cached);
    assert_eq!(text.world.acts("order"), 3);
}

#[tokio::test]
async fn declared_fields_make_the_act() {
    let text = In::mode(Mode::Text).await;
    let with = |count: u32| {
        let mut call = text.call("charge", "lamp");
        call.arguments = json!({ "item": "lamp", "count": count }).into();
        call
    };
    assert!(text.world.call(with(1)).await.is_ok());
    assert!(text.world.call(with(2)).await.meta.cached);
    assert_eq!(text.world.acts("charge"), 1);
}

#[tokio::test]
async fn declared_fields_are_found_wherever_they_lie() {
    let text = In::mode(Mode::Text).await;
    let order = |number: u32, sku: &str, note: &str| {
        let lines = json!([{ "sku": "a" }, { "sku": sku, "note": note }]);
        let mut call = text.call("ship", "");
        call.arguments = json!({ "order": { "number": number, "lines": lines } }).into();
        call
    };
    assert!(text.world.call(order(1, "b", "soon")).await.is_ok());
    assert!(text.world.call(order(1, "b", "now")).await.meta.cached, "the note is not the act");
    for (acts, other) in [(2, order(2, "b", "soon")), (3, order(1, "c", "soon"))] {
        assert!(!text.world.call(other).await.meta.cached, "{acts}");
        assert_eq!(text.world.acts("ship"), acts);
    }
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_answered_again() {
    let text = In::mode(Mode::Text).await;
    let with = |id: &str, item: &str| {
        let mut call = text.call("find", item);
        call.id = Some(id.into());
        call
    };
    let first = text.world.call(with("c1", "a")).await;
    let second = text.world.call(with("c1", "a")).await;
    assert_eq!(first.result, second.result);
    assert_eq!((&*first.meta.call_id, second.meta.cached), ("c1", true));
    assert_eq!(text.world.acts("find"), 1);
    assert_eq!(kind(&text.world.call(with("c1", "b")).await), ErrorKind::Conflict);
    let endless = text.world.call(with(&"x".repeat((16 << 10) + 1), "a")).await;
    assert_eq!(kind(&endless), ErrorKind::InvalidArguments);
    let long = "y".repeat(300);
    assert_eq!(*text.world.call(with(&long, "a")).await.meta.call_id, *long);
    let filter = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    text.world.store.flush().await.unwrap();
    for record in text.world.store.calls(filter).await.unwrap() {
        assert!(record.model_call.as_ref().is_none_or(|id| id.len() < 100), "{record:?}");
    }
    // A hundred ids are remembered.
    text.over().await;
    let rules = Rules {
        allow: vec!["shop__*".into()],
        modes: [(Mode::Text, Spending { retrieval_calls: Some(1_000), ..Spending::default() })]
            .into(),
        ..Rules::default()
    };
    let many = In::world(World::with(rules, |builder| builder), Mode::Text).await;
    for n in 0..101 {
        let mut call = many.call("get", "a");
        call.id = Some(format!("c{n}"));
        assert!(!many.world.call(call).await.meta.cached);
    }
    let mut last = many.call("get", "a");
    last.id = Some("c1".into());
    assert!(many.world.call(last.clone()).await.meta.cached);
    last.id = Some("c0".into());
    assert!(!many.world.call(last).await.meta.cached);
}

#[tokio::test]
async fn a_retrieval_that_is_sent_again_while_it_runs_counts_again() {
    let text = Arc::new(In::mode(Mode::Text).await);
    let send = || {
        let text = text.clone();
        async move {
            let mut call = text.call("get", "a");
            call.id = Some("c1".into());
            text.world.call(call).await
        }
    };
    // Five retrievals a turn, and none of them has ended.
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut running = Vec::new();
    for _ in 0..5 {
        text.world.next("get", Does::Waits(begun.clone(), go.clone()));
        running.push(tokio::spawn(send()));
        begun.notified().await;
    }
    assert_eq!(kind(&send().await), ErrorKind::BudgetExceeded);
    assert_eq!(text.world.acts("get"), 0);
    for one in running {
        go.notify_one();
        assert!(one.await.unwrap().is_ok());
    }
    // The one that was refused has not taken the id from those that ran.
    assert!(send().await.meta.cached);
    assert_eq!(text.world.acts("get"), 5);
}

#[tokio::test]
async fn a_call_that_the_ledger_refused_leaves_its_id_free() {
    let text = In::mode(Mode::Text).await;
    let with = |item: &str| {
        let mut call = text.call("order", item);
        (call.id, call.key) = (Some("c1".into()), Some("k".into()));
        call
    };
    let mut first = with("lamp");
    first.id = Some("c0".into());
    assert!(text.world.call(first).await.is_ok());
    assert_eq!(kind(&text.world.call(with("chair")).await), ErrorKind::Conflict);
    assert!(text.world.call(with("lamp")).await.meta.cached);
}

pub(super) fn superseding(rule: Supersede) -> World {
    let rules = Rules {
        allow: vec!["shop__*".into()],
        modes: [(Mode::Text, Spending { supersede: Some(rule), ..Spending::default() })].into(),
        ..Rules::default()
    };
    World::with(rules, |builder| builder)
}

#[tokio::test]
async fn a_newer_message_is_heard_before_what_cannot_be_undone() {
    // rule, does it run, are the messages handed over at once, does the next turn keep the group
    for (rule, runs, absorbed, keeps) in [
        (Supersede::Abort, false, false, true),
        (Supersede::Absorb, false, true, false),
        (Supersede::Queue, true, false, false),
        (Supersede::Finish, true, false, true),
    ] {
        let text = In::world(superseding(rule), Mode::Text).await;
        let group = |session: haft_core::session::Session| session.turn.group;
        let before = group(text.world.runtime.session(&caller(), &text.id).await.unwrap());
        text.message("order a lamp").await;
        assert_eq!(text.message("wait!").await, Arrived::Waits { waiting: 1 }, "{rule:?}");
        let answer = text.make("order", "lamp").await;
        assert_eq!(answer.is_ok(), runs, "{rule:?}");
        if let Err(error) = &answer.result {
            assert_eq!(error.kind, ErrorKind::Superseded);
            let messages = error.details.as_ref().map(|details| details["messages"].clone());
            assert_eq!(messages, absorbed.then(|| json!(["wait!"])), "{rule:?}");
        }
        // The rest of an aborted turn does not run either.
        let rest = text.make("get", "lamp").await;
        assert_eq!(rest.is_ok(), rule != Supersede::Abort, "{rule:?}");
        // What can be undone, or changes nothing, does not wait for anyone.
        if rule == Supersede::Abort || runs {
            assert_eq!(text.over().await, [json!("wait!")], "{rule:?}");
        } else {
            text.over().await;
            text.message("more").await;
        }
        let after = group(text.world.runtime.session(&caller(), &text.id).await.unwrap());
        assert_eq!(before == after, keeps, "{rule:?}");
        assert_eq!(text.world.acts("order"), usize::from(runs), "{rule:?}");
    }
}

#[tokio::test]
async fn a_rule_of_any_class_with_effects_holds() {
    let of = |class, rule| Rules {
        allow: vec!["shop__*".into()],
        supersede: [(class, rule)].into(),
        ..Rules::default()
    };
    for (class, tool) in
        [(SideEffectPolicy::Idempotent, "put"), (SideEffectPolicy::Compensatable, "book")]
    {
        // rule, does it run, what begins the next turn, is the act answered from the ledger there
        for (rule, runs, next, cached) in [
            (Supersede::Abort, false, 1, false),
            (Supersede::Absorb, false, 0, false),
            (Supersede::Queue, true, 1, false),
            (Supersede::Finish, true, 1, true),
        ] {
            let world = World::with(of(class, rule), |builder| builder);
            let text = In::world(world, Mode::Text).await;
            text.message("a lamp").await;
            text.message("wait!").await;
            assert_eq!(text.make(tool, "lamp").await.is_ok(), runs, "{tool} {rule:?}");
            assert_eq!(text.over().await.len(), next, "{tool} {rule:?}");
            let again = text.make(tool, "lamp").await;
            assert_eq!(again.meta.cached, cached, "{tool} {rule:?}");
            assert!(again.is_ok(), "{tool} {rule:?}");
        }
        // Nobody asks about what nothing is said of, and it decides nothing about what comes next.
        let text = In::mode(Mode::Text).await;
        text.message("a lamp").await;
        text.message("wait!").await;
        assert!(text.make(tool, "lamp").await.is_ok());
        assert_eq!(text.over().await.len(), 1);
        assert!(!text.make(tool, "lamp").await.meta.cached);
    }
}

#[tokio::test]
async fn a_superseded_chain_shares_its_key() {
    let text = In::world(superseding(Supersede::Finish), Mode::Text).await;
    text.message("order a lamp").await;
    text.message("make it two").await;
    assert!(text.make("order", "lamp").await.is_ok());
    text.over().await;
    // The replacing turn sees what was done.
    assert!(text.make("order", "lamp").await.meta.cached);
    assert_eq!(text.world.acts("order"), 1);
}

#[tokio::test]
async fn what_is_asked_for_once_more_after_messages_were_absorbed_is_done_once_more() {
    let text = In::world(superseding(Supersede::Absorb), Mode::Text).await;
    text.message("order a lamp").await;
    text.message("and hello, by the way").await;
    assert_eq!(kind(&text.make("order", "lamp").await), ErrorKind::Superseded);
    // Asked again with both messages, in the same turn: that is one act, however often it is made.
    for cached in [false, true] {
        assert_eq!(text.make("order", "lamp").await.meta.cached, cached);
    }
    assert!(text.over().await.is_empty());
    text.message("now order another lamp").await;
    assert!(!text.make("order", "lamp").await.meta.cached);
    assert_eq!(text.world.acts("order"), 2);
}

#[tokio::test]
async fn intents_are_applied_deferred_and_refused() {
    let end = |after| Intent::EndVoiceSession { after };
    let returned = |intents: Vec<Intent>| Does::Ends(Ended::Returned { data: json!({}), intents });
    let voice = In::mode(Mode::Voice).await;
    let wanted = vec![
        end(After::FarewellSpoken),
        Intent::SuppressAudio { value: true },
        end(After::Immediately),
    ];
    voice.world.next("compute", returned(wanted));
    let applied = voice.make("compute", "a").await.intents;
    let statuses: Vec<_> = applied.iter().map(|one| one.status).collect();
    assert_eq!(statuses, [IntentStatus::Deferred, IntentStatus::Applied, IntentStatus::Refused]);
    assert_eq!(voice.phase().await, Phase::Ending);
    assert_eq!(kind(&voice.make("get", "a").await), ErrorKind::SessionInactive);
    assert!(voice.signal(Signal::TurnComplete).await.released.is_empty());
    assert_eq!(voice.signal(Signal::FarewellSpoken).await.released, [end(After::FarewellSpoken)]);
    assert_eq!(voice.phase().await, Phase::Ended);

    let text = In::mode(Mode::Text).await;
    text.world.next("compute", returned(vec![end(After::Immediately)]));
    assert_eq!(text.make("compute", "a").await.intents[0].status, IntentStatus::Refused);
    assert_eq!(text.phase().await, Phase::Active);
}

#[tokio::test]
async fn a_deferred_intent_does_not_wait_for_ever() {
    let voice = In::mode(Mode::Voice).await;
    let intents = vec![Intent::EndVoiceSession { after: After::FarewellSpoken }];
    voice.world.next("compute", Does::Ends(Ended::Returned { data: json!({}), intents }));
    voice.make("compute", "a").await;
    voice.world.clock.advance(14_999);
    assert_eq!(voice.phase().await, Phase::Ending);
    voice.world.clock.advance(1);
    assert_eq!(voice.phase().await, Phase::Ended);
    // What is stored still says otherwise; lists show what is.
    let runtime = &voice.world.runtime;
    let stored = runtime.store().sessions("default", None, 1).await.unwrap().remove(0);
    assert_eq!(stored.phase, Phase::Ending);
    assert_eq!(runtime.as_it_is(stored).phase, Phase::Ended);
}

#[tokio::test]
async fn a_deliberate_repetition_has_an_id_of_its_own() {
    let text = In::mode(Mode::Text).await;
    let with = |id: &str, occurrence: u32| {
        let mut call = text.call("order", "lamp");
        (call.id, call.occurrence) = (Some(id.into()), occurrence);
        call
    };
    assert!(text.world.call(with("c1", 1)).await.is_ok());
    // It would be answered with what became of the first, and not be done.
    assert_eq!(kind(&text.world.call(with("c1", 2)).await), ErrorKind::Conflict);
    for cached in [false, true] {
        assert_eq!(text.world.call(with("c2", 2)).await.meta.cached, cached);
    }
    assert_eq!(text.world.acts("order"), 2);
}

#[tokio::test]
async fn the_call_that_ended_a_session_is_answered_when_it_is_sent_again() {
    let end = |after| vec![Intent::EndVoiceSession { after }];
    for after in [After::Immediately, After::FarewellSpoken] {
        for tool in ["order", "compute"] {
            let voice = In::mode(Mode::Voice).await;
            let ended = Ended::Returned { data: json!({ "bye": true }), intents: end(after) };
            voice.world.next(tool, Does::ActsThen(ended));
            let with = |id: &str, item: &str| {
                let mut call = voice.call(tool, item);
                call.id = Some(id.into());
                call
            };
            let first = voice.world.call(with("c1", "a")).await;
            assert_ne!(voice.phase().await, Phase::Active);
            let again = voice.world.call(with("c1", "a")).await;
            assert_eq!((&again.result, again.meta.cached), (&first.result, true), "{tool}");
            // Nothing else is heard, under whatever id, and without the answer not even that.
            assert_eq!(kind(&voice.world.call(with("c2", "a")).await), ErrorKind::SessionInactive);
            assert_eq!(kind(&voice.world.call(with("c1", "b")).await), ErrorKind::Conflict);
            forget_answers(&voice).await;
            assert_eq!(kind(&voice.world.call(with("c1", "a")).await), ErrorKind::SessionInactive);
            assert_eq!(voice.world.acts(tool), 1);
        }
    }
}

#[tokio::test]
async fn the_call_that_blocked_a_user_is_answered_when_it_is_sent_again() {
    let text = In::mode(Mode::Text).await;
    let block = json!({ "seconds": 60, "reason": "spam" });
    text.world.next("relay", Does::Uses(Capability::Moderation, "block", block));
    let with = |id: &str| {
        let mut call = text.call("relay", "a");
        call.id = Some(id.into());
        call
    };
    let first = text.world.call(with("c1")).await;
    let again = text.world.call(with("c1")).await;
    assert_eq!((&again.result, again.meta.cached), (&first.result, true));
    assert_eq!(kind(&text.world.call(with("c2")).await), ErrorKind::Blocked);
}

#[tokio::test]
async fn a_block_outlives_its_session_and_is_extended() {
    let text = In::mode(Mode::Text).await;
    let block = |seconds: u32| {
        Does::Uses(Capability::Moderation, "block", json!({ "seconds": seconds, "reason": "spam" }))
    };
    text.world.next("relay", block(60));
    text.world.next("relay", block(60));
    let first = text.make("relay", "a").await.result.unwrap();
    assert_eq!(first["got"], json!({ "until": "2026-01-01T00:01:00Z", "extended": false }));
    let refused = text.world.runtime.open(&caller(), Mode::Text).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Blocked);
    assert!(refused.message.contains("2026-01-01T00:01:00Z"), "{}", refused.message);
    assert_eq!(kind(&text.make("get", "a").await), ErrorKind::Blocked);
    assert_eq!(kind(&text.world.call(call("get", "k")).await), ErrorKind::Blocked);
    text.world.clock.advance(60_000);
    assert!(text.make("get", "a").await.is_ok());
}

#[tokio::test]
async fn a_session_stays_with_its_registry() {
    let text = In::mode(Mode::Text).await;
    let mut newer = tools();
    newer.tools.retain(|tool| tool.id == "shop__get");
    newer.version = "1.0.ffffffff".into();
    text.world.runtime.load(newer).unwrap();
    assert!(text.make("find", "a").await.is_ok());
    assert_eq!(kind(&text.world.call(call("find", "k")).await), ErrorKind::Unavailable);
    let answer = text.world.call(call("get", "k")).await;
    assert_eq!(answer.meta.registry_version.as_deref(), Some("1.0.ffffffff"));
}

#[tokio::test]
async fn a_session_of_somebody_else_does_not_exist() {
    let text = In::mode(Mode::Text).await;
    let mut other = text.call("get", "a");
    other.caller.actor = haft_core::Principal::user("jo");
    let theirs = text.world.call(other).await.result.unwrap_err();
    let mut nobodys = text.call("get", "a");
    nobodys.session = Some("ses_0".into());
    let none = text.world.call(nobodys).await.result.unwrap_err();
    assert_eq!(theirs.kind, none.kind);
    assert_eq!(theirs.message.replace(&text.id, "x"), none.message.replace("ses_0", "x"));
}

#[tokio::test]
async fn messages_of_handlers_reach_the_client_and_the_trail() {
    let text = In::mode(Mode::Text).await;
    text.world.next("relay", Does::Uses(Capability::Messaging, "send", json!({ "type": "hello" })));
    assert!(text.make("relay", "a").await.is_ok());
    let heard = text.world.heard.0.lock();
    let message = heard.iter().find(|event| event.kind == EventKind::Message).unwrap();
    assert_eq!(message.payload, json!({ "type": "hello" }));
    assert_eq!(message.session.as_deref(), Some(text.id.as_str()));
    assert!(text.world.store.is_writable());
}

#[tokio::test]
async fn what_was_done_is_answered_whatever_waits_or_is_used_up() {
    let text = In::world(superseding(Supersede::Abort), Mode::Text).await;
    assert!(text.make("order", "lamp").await.is_ok());
    text.message("stop").await;
    // The same act under another call id: it was done, and that is what is said.
    assert!(text.make("order", "lamp").await.meta.cached);
    assert_eq!(text.world.acts("order"), 1);

    let voice = In::mode(Mode::Voice).await;
    let with = |id: &str| {
        let mut call = voice.call("get", id);
        call.id = Some(id.into());
        call
    };
    for id in ["a", "b"] {
        assert!(voice.world.call(with(id)).await.is_ok());
    }
    assert!(voice.world.call(with("b")).await.meta.cached);
    assert_eq!(kind(&voice.world.call(with("c")).await), ErrorKind::BudgetExceeded);
}

#[tokio::test]
async fn a_large_answer_is_given_again_and_its_id_stays_taken() {
    // length of the answer, how often the tool ran when the call was sent twice
    for (length, runs) in [(70_000, 1), (900_000, 1), (3 << 20, 2)] {
        let allow = vec!["shop__*".into()];
        let settings = Settings { default_result_bytes: 8 << 20, ..Settings::default() };
        let rules = Rules { allow, ..Rules::default() };
        let world = World::with(rules, |builder| builder.settings(settings));
        let text = In::world(world, Mode::Text).await;
        for _ in 0..2 {
            text.world.next("compute", Does::Returns(json!("x".repeat(length))));
        }
        let with = |item: &str| {
            let mut call = text.call("compute", item);
            call.id = Some("m1".into());
            call
        };
        let first = text.world.call(with("a")).await;
        let second = text.world.call(with("a")).await;
        assert_eq!(first.result, second.result, "{length}");
        assert_eq!((second.meta.cached, text.world.acts("compute")), (runs == 1, runs), "{length}");
        assert_eq!(kind(&text.world.call(with("b")).await), ErrorKind::Conflict, "{length}");
        let kept = text.world.store.session("default", &text.id).await.unwrap();
        assert!(json!(kept).to_string().len() < 4_000, "the session itself stays small");
    }
}

#[tokio::test]
async fn so_many_messages_wait_and_no_more() {
    let text = In::mode(Mode::Text).await;
    assert!(matches!(text.message("the first").await, Arrived::Begins { turn: 1, .. }));
    for _ in 0..100 {
        text.message("hello").await;
    }
    let runtime = &text.world.runtime;
    let refused = runtime.message(&caller(), &text.id, json!("one more")).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::BudgetExceeded);
    assert_eq!(text.over().await.len(), 100);
    assert!(matches!(text.message("one more").await, Arrived::Waits { waiting: 1 }));
    let large = json!("x".repeat(300_000));
    let refused = runtime.message(&caller(), &text.id, large.clone()).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::BudgetExceeded);
    text.over().await;
    text.over().await;
    let begins = runtime.message(&caller(), &text.id, large).await.unwrap();
    assert!(matches!(begins, Arrived::Begins { .. }), "what need not wait is not kept");
}

#[tokio::test]
async fn messages_that_waited_begin_the_next_turn_in_order() {
    let text = In::world(superseding(Supersede::Abort), Mode::Text).await;
    text.message("zero").await;
    text.message("one").await;
    assert_eq!(kind(&text.make("order", "lamp").await), ErrorKind::Superseded);
    let Arrived::Begins { messages, turn, .. } = text.message("two").await else {
        panic!("the turn was over");
    };
    assert_eq!((messages, turn), (vec![json!("one"), json!("two")], 2));
    assert!(text.make("order", "lamp").await.is_ok());
}

#[tokio::test]
async fn nobody_else_speaks_in_a_session() {
    let text = In::mode(Mode::Text).await;
    let mut other = caller();
    other.actor = haft_core::Principal::user("jo");
    let runtime = &text.world.runtime;
    let refused = [
        runtime.message(&other, &text.id, json!("hi")).await.unwrap_err(),
        runtime.signal(&other, &text.id, Signal::TurnComplete).await.unwrap_err(),
        runtime.session(&other, &text.id).await.unwrap_err(),
        runtime.close(&other, &text.id).await.unwrap_err(),
    ];
    assert!(refused.iter().all(|error| error.kind == ErrorKind::SessionInactive));
    assert_eq!(text.phase().await, Phase::Active);
}

#[tokio::test]
async fn duplicates_that_attach_ask_nothing_of_the_session_again() {
    let text = Arc::new(In::mode(Mode::Text).await);
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let intents = vec![Intent::SuppressTranscript { value: true }];
    let ended = Ended::Returned { data: json!({ "did": {} }), intents };
    text.world.next("order", Does::WaitsThen(begun.clone(), go.clone(), ended));
    let make = |id: &'static str| {
        let text = text.clone();
        tokio::spawn(async move {
            let mut call = text.call("order", "lamp");
            call.id = Some(id.into());
            text.world.call(call).await
        })
    };
    let leader = make("c1");
    begun.notified().await;
    let followers = [make("c2"), make("c3")];
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    go.notify_one();
    let leader = leader.await.unwrap();
    assert_eq!(leader.intents.len(), 1);
    for follower in followers {
        let answer = follower.await.unwrap();
        assert_eq!((answer.result, answer.intents), (leader.result.clone(), Vec::new()));
    }
    // Nor does a repetition later.
    assert_eq!(text.make("order", "lamp").await.intents, []);
    let changed =
        |event: &&Event| event.kind == EventKind::SessionChanged && !event.call.is_empty();
    assert_eq!(text.world.heard.0.lock().iter().filter(changed).count(), 1);
    assert_eq!(text.world.acts("order"), 1);
}

#[tokio::test]
async fn a_conversation_kept_elsewhere_finds_its_session_again_for_a_while() {
    let world = World::new();
    let within = std::time::Duration::from_secs(60);
    let named = |name: &str| haft_core::Digest::of_bytes(name.as_bytes());
    let open = async |name: &str| {
        world.runtime.rejoin(&caller(), Mode::Text, &named(name), None, within).await.unwrap()
    };
    let first = open("a").await;
    world.clock.advance(59_999);
    let again = open("a").await;
    assert_eq!((&again.id, &again.turn.group), (&first.id, &first.turn.group));
    assert_ne!(open("b").await.id, first.id);
    world.clock.advance(1);
    let later = open("a").await;
    assert_ne!((&later.id, &later.turn.group), (&first.id, &first.turn.group));
    // Nobody else's.
    let other = haft_core::Caller { actor: haft_core::Principal::user("mara"), ..caller() };
    let theirs = world.runtime.rejoin(&other, Mode::Text, &named("a"), None, within).await.unwrap();
    assert_ne!(theirs.id, later.id);
}

#[tokio::test]
async fn one_key_is_for_one_request() {
    let world = World::new();
    let digest = |text: &str| haft_core::Digest::of_bytes(text.as_bytes());
    let (name, within) = (digest("key"), std::time::Duration::from_secs(60));
    let open = async |request: &str| {
        let request = digest(request);
        world.runtime.rejoin(&caller(), Mode::Text, &name, Some(&request), within).await
    };
    let first = open("a").await.unwrap();
    assert_eq!(open("a").await.unwrap().id, first.id);
    let error = open("b").await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict, "{error:?}");
    world.clock.advance(60_000);
    assert_ne!(open("b").await.unwrap().id, first.id, "and for so long");
}

#[tokio::test]
async fn whoever_watches_hears_how_a_session_goes_and_not_what_is_said_in_it() {
    let world = World::new();
    let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
    let say = async |text: &str| {
        world.runtime.message(&caller(), &session.id, json!(text)).await.unwrap()
    };
    say("a secret wish").await;
    say("and a secret wish that waits").await;
    world.runtime.signal(&caller(), &session.id, Signal::TurnComplete).await.unwrap();
    world.runtime.signal(&caller(), &session.id, Signal::TurnComplete).await.unwrap();
    // Nothing changes: nobody is told.
    world.runtime.signal(&caller(), &session.id, Signal::FarewellSpoken).await.unwrap();
    say("another").await;
    world.runtime.close(&caller(), &session.id).await.unwrap();
    world.runtime.close(&caller(), &session.id).await.unwrap();
    let heard = world.heard.0.lock();
    let own = |event: &&Event| event.kind == EventKind::SessionChanged;
    let changes: Vec<_> = heard
        .iter()
        .filter(own)
        .map(|event| (event.payload["change"].as_str().unwrap(), event.turn))
        .collect();
    let expected = [
        ("created", 1),
        ("turn", 1),
        ("message", 1),
        ("turn", 2),
        ("turn", 2),
        ("turn", 3),
        ("ended", 3),
    ];
    assert_eq!(changes, expected);
    assert!(heard.iter().all(|event| event.session.as_ref() == Some(&session.id)));
    assert!(!format!("{heard:?}").contains("secret wish"));
}

#[tokio::test]
async fn a_rule_about_sessions_is_the_same_in_the_catalog_and_at_the_gate() {
    let text = In::mode(Mode::Text).await;
    let runtime = &text.world.runtime;
    let session = runtime.session(&caller(), &text.id).await.unwrap();
    let outside = |tool: &str| runtime.catalog(&caller(), Mode::Text).get(tool).is_some();
    let inside = |tool: &str| runtime.catalog_in(&caller(), &session).unwrap().get(tool).is_some();
    // The contract's own condition, whichever of the two is asked first.
    for _ in 0..2 {
        assert!(text.make("seated", "a").await.is_ok());
        assert!(inside("seated") && !outside("seated"));
        assert_eq!(kind(&text.world.call(call("seated", "k")).await), ErrorKind::Unavailable);
    }
    // A rule of the policy.
    let file = "sessions.cedar".to_owned();
    let only = "permit (principal, action, resource) when { context has session };";
    let rules =
        Rules { allow: vec!["shop__*".into()], cedar: vec![file.clone()], ..Rules::default() };
    let cedar = vec![Text { file, text: only.into() }];
    let source = Source { rules: rules.clone(), cedar, ..Source::default() };
    let policy = Policy::load(&source, &[&tools()]).unwrap();
    text.world.runtime.govern(Arc::new(policy), rules);
    assert!(inside("get") && !outside("get"));
    assert_eq!(kind(&text.world.call(call("get", "k")).await), ErrorKind::Unavailable);
    assert!(text.make("get", "a").await.is_ok());
}

#[tokio::test]
async fn the_first_message_of_a_session_begins_its_first_turn() {
    for rule in [Supersede::Abort, Supersede::Absorb, Supersede::Queue, Supersede::Finish] {
        let text = In::world(superseding(rule), Mode::Text).await;
        let session = text.world.runtime.session(&caller(), &text.id).await.unwrap();
        let begins = Arrived::Begins {
            turn: 1,
            group: session.turn.group.clone(),
            messages: vec![json!("order a lamp")],
            left: None,
        };
        assert_eq!(text.message("order a lamp").await, begins, "{rule:?}");
        assert!(text.make("order", "lamp").await.is_ok(), "{rule:?}");
        // Only the first one does: the next is a newer message.
        assert_eq!(text.message("no, a chair").await, Arrived::Waits { waiting: 1 }, "{rule:?}");
    }
    // A call begins the turn as well as a message does, and so does nothing once it is over.
    let text = In::mode(Mode::Text).await;
    assert!(text.make("get", "lamp").await.is_ok());
    assert_eq!(text.message("wait!").await, Arrived::Waits { waiting: 1 });
    let text = In::mode(Mode::Text).await;
    assert!(text.over().await.is_empty());
    assert!(matches!(text.message("hello?").await, Arrived::Begins { turn: 2, .. }));
}

#[tokio::test]
async fn messages_that_a_call_was_answered_with_are_not_lost_with_the_answer() {
    let text = In::world(superseding(Supersede::Absorb), Mode::Text).await;
    let with = |id: &str| {
        let mut call = text.call("order", "lamp");
        call.id = Some(id.into());
        call
    };
    text.message("order a lamp").await;
    // As long as may wait, or nearly.
    let newer = "stop! ".repeat(40_000);
    text.message(&newer).await;
    let first = text.world.call(with("c1")).await;
    assert_eq!(kind(&first), ErrorKind::Superseded);
    assert_eq!(first.result.as_ref().unwrap_err().details.as_ref().unwrap()["messages"][0], newer);
    // The answer was lost on its way, and the client sends the call again.
    for _ in 0..2 {
        let again = text.world.call(with("c1")).await;
        assert_eq!((&again.result, again.meta.cached), (&first.result, true));
    }
    assert_eq!(text.world.acts("order"), 0);
    // It stays undone also where the messages could not be kept.
    forget_answers(&text).await;
    assert_eq!(kind(&text.world.call(with("c1")).await), ErrorKind::Superseded);
    assert_eq!(text.world.acts("order"), 0);
    // Decided anew with the messages in mind, it is another call, and the act is done.
    assert!(text.world.call(with("c2")).await.is_ok());
    for id in ["c1", "c2"] {
        assert!(text.world.call(with(id)).await.meta.cached, "{id}: the ledger answers");
    }
    assert_eq!(text.world.acts("order"), 1);
}

#[tokio::test]
async fn messages_are_not_lost_in_a_handler_that_calls_tools() {
    let text = In::world(superseding(Supersede::Absorb), Mode::Text).await;
    text.message("order a lamp and a chair").await;
    // It has begun when the newer message comes, and makes its call then.
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let nested = (Capability::CallTool, "order", json!({ "item": "chair" }));
    text.world.next("relay", Does::WaitsThenUses(begun.clone(), go.clone(), nested));
    let (runtime, relay) = (text.world.runtime.clone(), text.call("relay", "lamp"));
    let running = tokio::spawn(async move { runtime.invoke(relay).await });
    begun.notified().await;
    assert_eq!(text.message("stop!").await, Arrived::Waits { waiting: 1 });
    go.notify_one();
    assert_eq!(kind(&running.await.unwrap()), ErrorKind::Superseded);
    assert_eq!(text.world.acts("order"), 0);
    // Whoever reads the answers is told, with the next call that gives way or with the next turn.
    let told = text.make("order", "sofa").await.result.unwrap_err().details.clone().unwrap();
    assert_eq!(told["messages"], json!(["stop!"]));
}

#[tokio::test]
async fn a_call_that_was_cut_off_before_it_was_recorded_hears_newer_messages_when_it_is_sent_again()
{
    // rule, what the call comes to when it is sent again, how often it was done
    for (rule, superseded) in [
        (Supersede::Abort, true),
        (Supersede::Absorb, true),
        (Supersede::Queue, false),
        (Supersede::Finish, false),
    ] {
        let mut rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
        let once = Spending { calls_per_turn: Some(1), ..Spending::default() };
        rules.modes = [(Mode::Text, once)].into();
        rules.supersede = [(SideEffectPolicy::Irreversible, rule)].into();
        let text = In::world(World::with(rules, |builder| builder), Mode::Text).await;
        text.message("order a lamp").await;
        // As a process leaves it that is gone between the session and the ledger: counted, and no more.
        let mut session = text.world.store.session("default", &text.id).await.unwrap();
        let fingerprint = Digest::of_json(&json!(["shop__order", { "item": "lamp" }, null]));
        let (id, answered) = ("c1".to_owned(), false);
        session.recent.push_back(Recent {
            id,
            fingerprint,
            answered,
            superseded: false,
            group: None,
        });
        session.turn.calls = 1;
        text.world.store.save(session).await.unwrap();
        text.message("stop!").await;
        let mut again = text.call("order", "lamp");
        again.id = Some("c1".into());
        let answer = text.world.call(again).await;
        match superseded {
            true => assert_eq!(kind(&answer), ErrorKind::Superseded, "{rule:?}"),
            // It has been counted, and so there is room for it.
            false => assert!(answer.is_ok(), "{rule:?} {answer:?}"),
        }
        assert_eq!(text.world.acts("order"), usize::from(!superseded), "{rule:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_sent_again_in_a_later_turn_is_the_act_that_it_was() {
    let text = In::mode(Mode::Text).await;
    text.message("order a lamp").await;
    let mut order = text.call("order", "lamp");
    order.id = Some("c1".into());
    assert!(text.world.call(order.clone()).await.is_ok());
    // As a process leaves it that is gone when the ledger has the outcome and the session has not.
    let mut session = text.world.store.session("default", &text.id).await.unwrap();
    session.recent.iter_mut().for_each(|one| one.answered = false);
    text.world.store.save(session).await.unwrap();
    text.over().await;
    text.message("thanks").await;
    let again = text.world.call(order).await;
    assert!(again.is_ok() && again.meta.cached, "{again:?}");
    assert_eq!(text.world.acts("order"), 1);
    // Another call of the new turn is another act.
    assert!(text.make("order", "lamp").await.is_ok());
    assert_eq!(text.world.acts("order"), 2);
}

/// It ran while the one that was sent again waited for the session: what the ledger said first is stale.
#[tokio::test]
async fn a_call_that_ended_in_doubt_is_never_said_to_have_given_way() {
    for rule in [Supersede::Abort, Supersede::Absorb] {
        let world = superseding(rule);
        let store = Faulty::on(world.store.clone());
        let runtime = world.on(store.clone());
        let id = runtime.open(&caller(), Mode::Text).await.unwrap().id;
        let mut order = Call::new(caller(), "order", json!({ "item": "lamp" }));
        (order.session, order.id) = (Some(id.clone()), Some("c1".into()));
        runtime.message(&caller(), &id, json!("order a lamp")).await.unwrap();
        world.next("order", Does::ActsThen(lost()));
        let first = runtime.invoke(order.clone()).await;
        assert_eq!(kind(&first), ErrorKind::UnknownOutcome);
        runtime.message(&caller(), &id, json!("stop!")).await.unwrap();
        store.early.store(1, Ordering::SeqCst);
        let again = runtime.invoke(order).await;
        assert_eq!(kind(&again), ErrorKind::UnknownOutcome, "{rule:?}");
        assert_eq!((store.early.load(Ordering::SeqCst), world.acts("order")), (0, 1));
    }
}

/// What a handler does is part of the turn that it was called in, however long it takes.
#[tokio::test]
async fn a_handler_does_nothing_in_a_turn_that_is_not_its_own() {
    let text = In::world(superseding(Supersede::Absorb), Mode::Text).await;
    text.message("order a lamp").await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let order = (Capability::CallTool, "order", json!({ "item": "lamp" }));
    text.world.next("relay", Does::WaitsThenUses(begun.clone(), go.clone(), order));
    let (runtime, relay) = (text.world.runtime.clone(), text.call("relay", "lamp"));
    let running = tokio::spawn(async move { runtime.invoke(relay).await });
    begun.notified().await;
    text.message("stop!").await;
    text.over().await;
    text.message("and what is the time?").await;
    go.notify_one();
    assert_eq!(kind(&running.await.unwrap()), ErrorKind::Superseded);
    assert_eq!(text.world.acts("order"), 0);
}

/// Whoever missed the answer sends the call again, by a key where it has no id.
#[tokio::test]
async fn a_call_that_gave_way_gives_way_again_under_its_key() {
    let text = In::world(superseding(Supersede::Absorb), Mode::Text).await;
    text.message("order a lamp").await;
    text.message("stop!").await;
    let with_key = |key: &str| {
        let mut order = text.call("order", "lamp");
        order.key = Some(key.into());
        order
    };
    for _ in 0..2 {
        let told = text.world.call(with_key("k")).await.result.unwrap_err();
        assert_eq!(told.kind, ErrorKind::Superseded);
        assert_eq!(told.details.as_ref().unwrap()["messages"], json!(["stop!"]));
    }
    // The model has read them, and decides so all the same.
    assert!(text.world.call(with_key("another")).await.is_ok());
    assert_eq!(text.world.acts("order"), 1);
}

/// Decided on anew, the same key stands for what was done; nobody hears afterwards that nothing was.
#[tokio::test]
async fn what_gave_way_and_was_done_after_all_is_answered_under_its_key() {
    // What each sends: an id, where it has one.
    for (first, anew) in [(None, Some("m2")), (Some("m1"), Some("m2")), (Some("m1"), None)] {
        let world = superseding(Supersede::Absorb);
        let store = Faulty::on(world.store.clone());
        let runtime = world.on(store.clone());
        let session = runtime.open(&caller(), Mode::Text).await.unwrap().id;
        let order = |id: Option<&str>| {
            let mut order = Call::new(caller(), "order", json!({ "item": "lamp" }));
            (order.session, order.key) = (Some(session.clone()), Some("k".into()));
            order.id = id.map(Into::into);
            order
        };
        runtime.message(&caller(), &session, json!("order a lamp")).await.unwrap();
        runtime.message(&caller(), &session, json!("in blue")).await.unwrap();
        assert_eq!(kind(&runtime.invoke(order(first)).await), ErrorKind::Superseded);
        assert!(runtime.invoke(order(anew)).await.is_ok());
        assert_eq!(world.acts("order"), 1);
        for early in [0, 1] {
            // (What the ledger said first may be stale.)
            store.early.store(early, Ordering::SeqCst);
            let again = runtime.invoke(order(first)).await;
            assert!(again.is_ok() && again.meta.cached, "{first:?} {early}: {again:?}");
        }
        // Where it cannot be asked nobody is told what it may know otherwise.
        store.silent.store(20, Ordering::SeqCst);
        let unsure = runtime.invoke(order(first)).await.result.unwrap_err();
        assert_eq!(unsure.kind, ErrorKind::StoreUnavailable, "{first:?}: {unsure}");
        assert_eq!(world.acts("order"), 1);
    }
}

/// Whoever has lost the answer sends the key again, whatever has become of the session.
#[tokio::test]
async fn what_was_done_is_answered_under_its_key_in_a_session_that_has_ended() {
    let voice = In::mode(Mode::Voice).await;
    let keyed = |tool: &str, key: &str, id: Option<&str>| {
        let mut call = voice.call(tool, "lamp");
        (call.key, call.id) = (Some(key.into()), id.map(Into::into));
        call
    };
    assert!(voice.world.call(keyed("order", "k", None)).await.is_ok());
    voice.world.next("put", Does::Ends(lost()));
    assert_eq!(kind(&voice.world.call(keyed("put", "p", None)).await), ErrorKind::UnknownOutcome);
    let end = Intent::EndVoiceSession { after: After::Immediately };
    let ends = Ended::Returned { data: json!({}), intents: vec![end] };
    voice.world.next("compute", Does::Ends(ends));
    voice.make("compute", "a").await;
    assert_ne!(voice.phase().await, Phase::Active);
    for id in [None, Some("c1")] {
        let again = voice.world.call(keyed("order", "k", id)).await;
        assert!(again.is_ok() && again.meta.cached, "{id:?}: {again:?}");
    }
    // What does no harm twice is not begun again either once its session is over.
    assert_eq!(kind(&voice.world.call(keyed("put", "p", None)).await), ErrorKind::UnknownOutcome);
    assert_eq!(voice.world.acts("put"), 0);
    // Nothing is begun there, nobody is asked, and reads have no key.
    let mut other = keyed("order", "k", None);
    other.arguments = json!({ "item": "chair" }).into();
    assert_eq!(kind(&voice.world.call(other).await), ErrorKind::Conflict);
    for tool in ["order", "wanted", "get"] {
        let refused = voice.world.call(keyed(tool, "another", None)).await;
        assert_eq!(kind(&refused), ErrorKind::SessionInactive, "{tool}");
    }
    assert_eq!(voice.world.acts("order"), 1);
}

/// Models count their calls anew in every turn; a caller's key says which one is meant.
#[tokio::test]
async fn the_same_id_under_another_key_is_another_call() {
    let text = In::mode(Mode::Text).await;
    let with = |tool: &str, id: Option<&str>, key: Option<&str>| {
        let mut call = text.call(tool, "lamp");
        (call.id, call.key) = (id.map(Into::into), key.map(str::to_owned));
        call
    };
    let first = with("order", Some("c0"), Some("k1"));
    assert!(text.world.call(first.clone()).await.is_ok());
    assert!(text.world.call(first).await.meta.cached);
    text.over().await;
    text.message("one more, please").await;
    for key in [Some("k2"), None] {
        let other = text.world.call(with("order", Some("c0"), key)).await;
        assert_eq!((kind(&other), text.world.acts("order")), (ErrorKind::Conflict, 1), "{key:?}");
    }
    // Under an id of its own the key stands for one act, and reads go by their id alone.
    for cached in [false, true] {
        let own = text.world.call(with("order", Some("c1"), Some("k2"))).await;
        assert_eq!((own.is_ok(), own.meta.cached), (true, cached));
    }
    assert!(text.world.call(with("order", None, Some("k2"))).await.meta.cached);
    for (key, cached) in [(Some("k3"), false), (Some("k4"), true), (None, true)] {
        let read = text.world.call(with("get", Some("r0"), key)).await;
        assert_eq!(read.meta.cached, cached, "{key:?}");
    }
    assert_eq!((text.world.acts("order"), text.world.acts("get")), (2, 1));
}

/// Its contract says that it is the same act; its answer is not that of what is asked for now.
#[tokio::test]
async fn whoever_gets_the_answer_of_an_act_with_other_arguments_is_told_so() {
    let text = In::mode(Mode::Text).await;
    let charge = |count: u64| {
        let mut charge = text.call("charge", "lamp");
        charge.arguments = json!({ "item": "lamp", "count": count }).into();
        charge
    };
    assert!(text.world.call(charge(5)).await.is_ok());
    let told = |envelope: &Envelope| {
        let codes = envelope.meta.warnings.iter().map(|one| one.code.as_str());
        codes.filter(|code| *code == "other_arguments").count()
    };
    let same = text.world.call(charge(5)).await;
    assert!(same.meta.cached && told(&same) == 0, "{same:?}");
    let mut dry = charge(9);
    dry.dry_run = true;
    let foreseen = text.world.call(dry).await.result.unwrap();
    assert_eq!(foreseen["earlier"]["sameArguments"], false);
    let other = text.world.call(charge(9)).await;
    assert!(other.meta.cached && told(&other) == 1, "{other:?}");
    assert_eq!(text.world.acts("charge"), 1);
}

/// The session keeps what it was answered; what has become of it since the ledger knows.
#[tokio::test]
async fn a_call_that_is_sent_again_after_it_was_undone_is_told_so() {
    let text = In::mode(Mode::Text).await;
    let mut rent = text.call("rent", "lamp");
    rent.id = Some("c1".into());
    let effect = text.world.call(rent.clone()).await.meta.record_id.to_string();
    let operator = Caller { actor: Principal::user("mara"), ..caller() };
    let target = haft_runtime::effects::UndoTarget::Call(effect);
    text.world.runtime.undo(&operator, &target).await.unwrap();
    let again = text.world.call(rent).await;
    assert!(again.is_ok() && again.meta.cached, "{again:?}");
    assert_eq!(again.meta.warnings.iter().filter(|one| one.code == "undone").count(), 1);
}

#[tokio::test]
async fn a_call_that_is_on_its_way_is_waited_for_whatever_comes_meanwhile() {
    let text = In::world(superseding(Supersede::Absorb), Mode::Text).await;
    text.message("order a lamp").await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    text.world.next("order", Does::Waits(begun.clone(), go.clone()));
    let with_id = || {
        let mut call = text.call("order", "lamp");
        call.id = Some("c1".into());
        call
    };
    let (runtime, first) = (text.world.runtime.clone(), with_id());
    let running = tokio::spawn(async move { runtime.invoke(first).await });
    begun.notified().await;
    text.message("stop!").await;
    let (runtime, again) = (text.world.runtime.clone(), with_id());
    let waiting = tokio::spawn(async move { runtime.invoke(again).await });
    go.notify_one();
    assert!(running.await.unwrap().is_ok() && waiting.await.unwrap().is_ok());
    assert_eq!(text.world.acts("order"), 1);
}

/// Two processes on one store: what one says gave way is not begun by the other.
#[tokio::test]
async fn a_call_that_gave_way_elsewhere_is_not_begun_here() {
    for rule in [Supersede::Abort, Supersede::Absorb] {
        let world = superseding(rule);
        let store = Faulty::on(world.store.clone());
        let (here, elsewhere) = (world.on(store.clone()), world.on(world.store.clone()));
        let id = here.open(&caller(), Mode::Text).await.unwrap().id;
        let mut order = Call::new(caller(), "order", json!({ "item": "lamp" }));
        (order.session, order.id) = (Some(id.clone()), Some("c1".into()));
        here.message(&caller(), &id, json!("order a lamp")).await.unwrap();
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        *store.held.lock() = Some((begun.clone(), go.clone()));
        let (runtime, first) = (here.clone(), order.clone());
        let running = tokio::spawn(async move { runtime.invoke(first).await });
        begun.notified().await;
        here.message(&caller(), &id, json!("stop!")).await.unwrap();
        assert_eq!(kind(&elsewhere.invoke(order).await), ErrorKind::Superseded, "{rule:?}");
        go.notify_one();
        assert_eq!(kind(&running.await.unwrap()), ErrorKind::Superseded, "{rule:?}");
        assert_eq!(world.acts("order"), 0);
    }
}

#[tokio::test]
async fn what_was_decided_on_together_gives_way_together() {
    let text = In::world(superseding(Supersede::Absorb), Mode::Text).await;
    let planned = |id: &str, tool: &str, item: &str| {
        let mut call = text.call(tool, item);
        call.id = Some(id.into());
        Planned { call, critical: false }
    };
    let all = || {
        [("c1", "order", "lamp"), ("c2", "get", "lamp"), ("c3", "order", "chair")]
            .map(|(id, tool, item)| planned(id, tool, item))
            .to_vec()
    };
    text.message("a lamp and a chair").await;
    text.message("stop!").await;
    // However often they are sent: the messages come with the first of them.
    for _ in 0..2 {
        let steps = text.world.runtime.batch(all()).await.unwrap();
        let told: Vec<_> = steps
            .iter()
            .map(|step| {
                let Step::Ended(envelope) = step else { panic!("it was passed over") };
                let error = envelope.result.as_ref().err()?;
                Some(error.details.as_ref().unwrap()["messages"].clone())
            })
            .collect();
        assert_eq!(told, [Some(json!(["stop!"])), None, Some(json!([]))]);
    }
    assert_eq!(text.world.acts("order"), 0);
    // Decided on anew, with the messages in mind.
    let again = vec![planned("d1", "order", "lamp"), planned("d2", "order", "chair")];
    text.world.runtime.batch(again).await.unwrap();
    assert_eq!(text.world.acts("order"), 2);
}

/// The session was written by another process just before this one wrote that the call gave way.
#[tokio::test]
async fn a_call_that_gives_way_at_the_second_try_brings_the_messages() {
    let world = superseding(Supersede::Absorb);
    let store = Faulty::on(world.store.clone());
    let runtime = world.on(store.clone());
    let id = runtime.open(&caller(), Mode::Text).await.unwrap().id;
    for message in ["order a lamp", "stop!"] {
        runtime.message(&caller(), &id, json!(message)).await.unwrap();
    }
    let mut call = Call::new(caller(), "order", json!({ "item": "lamp" }));
    (call.session, call.id) = (Some(id), Some("c1".into()));
    store.outrun.store(1, Ordering::SeqCst);
    let steps = runtime.batch(vec![Planned { call, critical: false }]).await.unwrap();
    let [Step::Ended(envelope)] = &*steps else { panic!("{steps:?}") };
    let told = envelope.result.as_ref().unwrap_err();
    assert_eq!(told.kind, ErrorKind::Superseded);
    assert_eq!(told.details.as_ref().unwrap()["messages"], json!(["stop!"]));
}

/// What people were asked.
async fn asked(text: &In) -> Vec<Confirmation> {
    let tenant = "default".into();
    let filter = ConfirmationFilter { tenant, limit: 10, ..ConfirmationFilter::default() };
    text.world.store.confirmations(filter).await.unwrap()
}

/// As if larger answers had been kept since.
async fn forget_answers(text: &In) {
    let session = text.world.store.session("default", &text.id).await.unwrap();
    let large = json!("x".repeat(ANSWERS_BYTES));
    text.world.store.save_answer(session, "large", &large).await.unwrap();
}

#[tokio::test]
async fn a_confirmed_call_whose_answer_is_not_kept_is_asked_about_once_more() {
    let text = In::mode(Mode::Text).await;
    let mut call = text.call("asked", "lamp");
    call.id = Some("c1".into());
    let jo = haft_core::Principal::user("jo");
    for runs in 1..3 {
        let refused = text.world.call(call.clone()).await;
        assert_eq!(kind(&refused), ErrorKind::ConfirmationRequired);
        let waiting = asked(&text).await;
        let pending = |one: &&Confirmation| one.status == ConfirmationStatus::Pending;
        let id = &waiting.iter().find(pending).unwrap().id;
        text.world.runtime.confirm("default", id, true, &jo).await.unwrap();
        assert!(text.world.call(call.clone()).await.is_ok());
        assert_eq!(text.world.acts("asked"), runs);
        forget_answers(&text).await;
    }
}

#[tokio::test]
async fn an_approval_is_not_used_up_by_a_turn_that_has_no_room() {
    let one = Spending { calls_per_turn: Some(1), ..Spending::default() };
    let rules = Rules {
        allow: vec!["shop__*".into()],
        modes: [(Mode::Text, one)].into(),
        ..Rules::default()
    };
    let text = In::world(World::with(rules, |builder| builder), Mode::Text).await;
    text.message("look it up").await;
    let asks = text.make("asked", "lamp").await;
    assert_eq!(kind(&asks), ErrorKind::ConfirmationRequired);
    let jo = haft_core::Principal::user("jo");
    let id = asked(&text).await[0].id.clone();
    text.world.runtime.confirm("default", &id, true, &jo).await.unwrap();
    assert!(text.make("get", "lamp").await.is_ok());
    assert_eq!(kind(&text.make("asked", "lamp").await), ErrorKind::BudgetExceeded);
    assert_eq!(asked(&text).await[0].status, ConfirmationStatus::Approved);
    // The next turn has room, and nobody is asked once more. Then it is spent.
    text.over().await;
    text.message("and now?").await;
    assert!(text.make("asked", "lamp").await.is_ok());
    assert_eq!(
        (asked(&text).await[0].status, text.world.acts("asked")),
        (ConfirmationStatus::Spent, 1)
    );
}

#[tokio::test]
async fn a_confirmed_call_without_effects_is_answered_again_under_its_id() {
    let text = In::mode(Mode::Text).await;
    let with = |id: &str, item: &str| {
        let mut call = text.call("asked", item);
        call.id = Some(id.into());
        call
    };
    assert_eq!(kind(&text.world.call(with("c1", "lamp")).await), ErrorKind::ConfirmationRequired);
    let waiting = asked(&text).await;
    let jo = haft_core::Principal::user("jo");
    text.world.runtime.confirm("default", &waiting[0].id, true, &jo).await.unwrap();
    let first = text.world.call(with("c1", "lamp")).await;
    assert!(first.is_ok());
    let again = text.world.call(with("c1", "lamp")).await;
    assert_eq!((&again.result, again.meta.cached), (&first.result, true));
    assert_eq!(text.world.acts("asked"), 1);
    // Another call needs an approval of its own, also under the same id.
    assert_eq!(kind(&text.world.call(with("c2", "lamp")).await), ErrorKind::ConfirmationRequired);
    assert_eq!(kind(&text.world.call(with("c1", "sofa")).await), ErrorKind::ConfirmationRequired);
    assert_eq!(text.world.acts("asked"), 1);
}

#[tokio::test]
async fn what_a_handler_asked_of_the_session_outlives_the_process_that_recorded_it() {
    let voice = In::mode(Mode::Voice).await;
    let quiet = Intent::SuppressAudio { value: true };
    let with = |id: Option<&str>| {
        let mut call = voice.call("order", "lamp");
        call.id = id.map(str::to_owned);
        call
    };
    let is_quiet = || async {
        voice.world.runtime.session(&caller(), &voice.id).await.unwrap().suppress_audio
    };
    for id in [Some("c1"), None] {
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let ended = Ended::Returned { data: json!({}), intents: vec![quiet.clone()] };
        voice.world.next("order", Does::WaitsThen(begun.clone(), go.clone(), ended));
        let mut cut_off = with(id);
        cut_off.arguments = json!({ "item": format!("{id:?}") }).into();
        let twin = voice.world.twin();
        let running = tokio::spawn(async move { twin.invoke(cut_off).await });
        begun.notified().await;
        // As if the process had died between the ledger and the session.
        let mut before = voice.world.store.session("default", &voice.id).await.unwrap();
        go.notify_one();
        assert_eq!(running.await.unwrap().intents[0].status, IntentStatus::Applied);
        let after = voice.world.store.session("default", &voice.id).await.unwrap();
        before.revision = after.revision;
        voice.world.store.save(before).await.unwrap();
        assert!(!is_quiet().await);
        let mut again = with(id);
        again.arguments = json!({ "item": format!("{id:?}") }).into();
        let told = voice.world.call(again.clone()).await;
        assert!(told.meta.cached && told.is_ok());
        assert_eq!(told.intents[0].status, IntentStatus::Applied);
        assert!(is_quiet().await);
        // Once: what the session has changed since stays.
        voice.world.next(
            "order",
            Does::ActsThen(Ended::Returned {
                data: json!({}),
                intents: vec![Intent::SuppressAudio { value: false }],
            }),
        );
        assert!(voice.make("order", &format!("loud {id:?}")).await.is_ok());
        assert!(voice.world.call(again).await.intents.is_empty());
        assert!(!is_quiet().await);
    }
    assert_eq!(voice.world.acts("order"), 4);
}

/// What nobody knows of a call is no reason to forget its id: the ledger answers under it, also in a later turn.
#[tokio::test]
async fn an_id_goes_on_standing_for_a_call_of_unknown_outcome() {
    for tool in ["order", "put"] {
        let text = In::mode(Mode::Text).await;
        let with_id = || {
            let mut call = text.call(tool, "lamp");
            call.id = Some("c1".into());
            call
        };
        for _ in 0..2 {
            text.world.next(tool, Does::ActsThen(lost()));
        }
        let lost = text.world.call(with_id()).await;
        assert_eq!(kind(&lost), ErrorKind::UnknownOutcome);
        text.over().await;
        text.message("and now?").await;
        let keys = text.world.script.keys.lock().clone();
        if tool == "put" {
            // It may be asked for again, with the key that its provider knows.
            assert!(text.world.call(with_id()).await.is_ok());
            assert_eq!(text.world.script.keys.lock().last(), keys.first());
            continue;
        }
        let operator = Caller { actor: Principal::user("mara"), ..caller() };
        let (call, found) = (lost.meta.record_id.to_string(), Found::bare(true));
        text.world.runtime.settle(&operator, &call, found, "seen").await.unwrap();
        for _ in 0..3 {
            assert_eq!(kind(&text.world.call(with_id()).await), ErrorKind::ResultExpired);
        }
        assert_eq!(text.world.acts(tool), 1);
    }
}

/// Another key means another call, which needs another id: nobody waits under it for what is not its own.
#[tokio::test]
async fn a_call_that_is_on_its_way_is_not_begun_under_another_key() {
    let text = In::mode(Mode::Text).await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    text.world.next("order", Does::Waits(begun.clone(), go.clone()));
    let under = |key: Option<&str>| {
        let mut call = text.call("order", "lamp");
        (call.id, call.key) = (Some("c1".into()), key.map(str::to_owned));
        call
    };
    let (runtime, first) = (text.world.runtime.clone(), under(Some("a")));
    let running = tokio::spawn(async move { runtime.invoke(first).await });
    begun.notified().await;
    for other in [Some("b"), None] {
        assert_eq!(kind(&text.world.call(under(other)).await), ErrorKind::Conflict, "{other:?}");
    }
    // The same among others is not told apart before it is on record.
    let mut among = under(Some("a"));
    among.keyed = Keyed::Batch;
    assert_eq!(kind(&text.world.call(among).await), ErrorKind::InFlight);
    go.notify_one();
    assert!(running.await.unwrap().is_ok());
    assert!(text.world.call(under(Some("a"))).await.meta.cached);
    assert_eq!(text.world.acts("order"), 1);
}
