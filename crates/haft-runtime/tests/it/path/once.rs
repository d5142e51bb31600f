//! Done once: keys, duplicates, unknown outcomes, retries.

use std::sync::Arc;
use std::time::Duration;

use haft_core::call::{Keyed, Principal};
use haft_core::contract::{Capability, Mode};
use haft_core::ledger::State;
use haft_core::port::{Boxed, Ended, Invoke as _, Ledger as _, Provide, Scope};
use haft_core::record::EventKind;
use haft_core::{Caller, ErrorKind, ToolError};
use haft_runtime::Settings;
use haft_runtime::effects::Found;
use haft_runtime::policy::Rules;
use haft_runtime::toolbox::{Directory, Records, Shelf, Stock};
use serde_json::json;
use tokio::sync::Notify;

use super::world::{Does, World, call, caller, failed, kind, lost, not_begun, tools};

#[tokio::test]
async fn a_repetition_is_answered_and_not_done_again() {
    let world = World::new();
    let first = world.call(call("order", "k1")).await;
    let second = world.call(call("order", "k1")).await;
    assert_eq!(first.result, second.result);
    assert!(!first.meta.cached && second.meta.cached);
    assert_eq!((first.meta.replay_of, second.meta.replay_of), (None, Some(first.meta.record_id)));
    assert_eq!(world.acts("order"), 1);
}

/// A call of a client that has no key, and sends again what it thinks lost.
fn recent() -> haft_core::Call {
    let mut recent = call("order", "");
    recent.key = None;
    recent.same_within = Some(Duration::from_secs(15 * 60));
    recent
}

#[tokio::test]
async fn without_a_key_the_same_act_is_the_same_call_for_a_quarter_of_an_hour() {
    const MINUTE: i64 = 60_000;
    // Wherever in the span of the clock the first call falls.
    for phase in 0..15 {
        let world = World::new();
        world.clock.advance(phase * MINUTE + 1_000);
        assert!(!world.call(recent()).await.meta.cached);
        for minutes in [0, 1, 13] {
            world.clock.advance(minutes * MINUTE);
            assert!(world.call(recent()).await.meta.cached, "phase {phase}, {minutes} later");
        }
        world.clock.advance(2 * MINUTE);
        assert!(!world.call(recent()).await.meta.cached, "phase {phase}: that was long ago");
        assert!(world.call(recent()).await.meta.cached, "phase {phase}: and counts anew");
        assert_eq!(world.acts("order"), 2);
    }
}

#[tokio::test]
async fn without_a_key_another_act_and_a_deliberate_repetition_are_done() {
    let world = World::new();
    world.call(recent()).await;
    let mut other = recent();
    other.arguments = json!({ "item": "chair" }).into();
    world.call(other).await;
    let mut again = recent();
    again.occurrence = 2;
    world.call(again).await;
    assert_eq!(world.acts("order"), 3);
}

#[tokio::test]
async fn without_a_key_an_unknown_outcome_stays_unknown_however_long_ago() {
    let world = World::new();
    world.next("order", Does::Ends(lost()));
    assert_eq!(kind(&world.call(recent()).await), ErrorKind::UnknownOutcome);
    for minutes in [1, 20] {
        world.clock.advance(minutes * 60_000);
        assert_eq!(kind(&world.call(recent()).await), ErrorKind::UnknownOutcome, "{minutes}");
    }
    assert_eq!(world.acts("order"), 0);
}

/// Neither sees the other before it asks for its place, and still only one gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn alone_and_among_others_at_the_same_moment_is_done_once() {
    const KEYS: usize = 200;
    let world = Arc::new(World::new());
    for n in 0..KEYS {
        let sent = [Keyed::Request, Keyed::Batch].map(|keyed| {
            let (world, mut call) = (world.clone(), call("order", &format!("k{n}")));
            call.keyed = keyed;
            tokio::spawn(async move { world.call(call).await })
        });
        for one in sent {
            let told = one.await.unwrap();
            assert!(told.result.is_ok(), "{told:?}");
        }
    }
    assert_eq!(world.acts("order"), KEYS);
}

#[tokio::test]
async fn what_was_sent_alone_does_not_stand_in_the_way_of_other_calls_of_a_batch() {
    let world = World::new();
    let among = |item: &str| {
        let mut call = call("order", "k");
        (call.keyed, call.arguments) = (Keyed::Batch, json!({ "item": item }).into());
        call
    };
    let mut alone = call("order", "k");
    alone.keyed = Keyed::Request;
    assert!(!world.call(alone).await.meta.cached);
    for (item, cached) in [("lamp", true), ("chair", false), ("lamp", true), ("chair", true)] {
        let told = world.call(among(item)).await;
        assert!(told.result.is_ok() && told.meta.cached == cached, "{item}: {told:?}");
    }
    assert_eq!(world.acts("order"), 2);
}

#[tokio::test]
async fn the_same_key_with_other_arguments_is_a_conflict_that_reveals_nothing() {
    let world = World::new();
    world.call(call("order", "k1")).await;
    let mut other = call("order", "k1");
    other.arguments = json!({ "item": "chair" }).into();
    let refused = world.call(other).await;
    assert_eq!(kind(&refused), ErrorKind::Conflict);
    assert!(!serde_json::to_string(&refused).unwrap().contains("lamp"));
    assert_eq!(world.acts("order"), 1);
}

#[tokio::test]
async fn a_key_belongs_to_one_principal_and_tenant() {
    let world = World::new();
    world.call(call("order", "k1")).await;
    let mut other = call("order", "k1");
    other.caller.actor = Principal::user("jo");
    assert!(!world.call(other).await.meta.cached);
    assert_eq!(world.acts("order"), 2);
    // Another tenant has an agent of the same name, and sends the same key with the same arguments.
    let mut records = Records::of_one("default", "default");
    let theirs = Records::of_one("other", "default");
    records.tenants.extend(theirs.tenants);
    records.agents.extend(theirs.agents);
    let stock = Stock::new(&[Shelf::own(&tools())]).unwrap();
    world.runtime.direct(Directory::load(&records, &stock, "test").unwrap());
    for cached in [false, true] {
        let mut theirs = call("order", "k1");
        theirs.caller = Caller::agent("other", "default");
        let answer = world.call(theirs).await;
        assert_eq!((answer.is_ok(), answer.meta.cached), (true, cached));
        assert!(world.store.effect("default", &answer.meta.record_id).await.is_err());
    }
    assert_eq!(world.acts("order"), 3);
}

#[tokio::test]
async fn what_came_is_kept_beside_what_was_used() {
    let world = World::new();
    let text = r#"{"item" : "lamp"}"#;
    for (key, came, kept) in [
        ("text", text.into(), Some(json!(text))),
        ("value", json!({ "item": "lamp" }).into(), Some(json!({ "item": "lamp" }))),
        ("whole", json!({ "item": "lamp", "count": 1 }).into(), None),
    ] {
        let mut call = call("order", key);
        call.arguments = came;
        let answer = world.call(call).await;
        let record = world.store.effect("default", &answer.meta.record_id).await.unwrap();
        assert_eq!(record.effect.arguments, json!({ "item": "lamp", "count": 1 }), "{key}");
        assert_eq!(record.effect.raw_arguments, kept, "{key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_at_once_are_one() {
    let world = Arc::new(World::new());
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.next("order", Does::Waits(begun.clone(), go.clone()));
    let leader = tokio::spawn({
        let world = world.clone();
        async move { world.call(call("order", "k")).await }
    });
    begun.notified().await;
    let others: Vec<_> = (0..99)
        .map(|_| {
            let world = world.clone();
            tokio::spawn(async move { world.call(call("order", "k")).await })
        })
        .collect();
    tokio::task::yield_now().await;
    go.notify_one();
    let first = leader.await.unwrap();
    for other in others {
        assert_eq!(other.await.unwrap().result, first.result);
    }
    assert_eq!(world.acts("order"), 1);
}

#[tokio::test]
async fn what_certainly_failed_may_be_tried_again_under_its_key() {
    let world = World::new();
    world.next("order", Does::Ends(failed(ErrorKind::Permanent)));
    assert_eq!(kind(&world.call(call("order", "k")).await), ErrorKind::Permanent);
    assert!(world.call(call("order", "k")).await.is_ok());
    assert_eq!(world.acts("order"), 1);
}

#[tokio::test]
async fn refusals_leave_the_key_free() {
    let world = World::new();
    let mut wrong = call("order", "k");
    wrong.arguments = json!({ "item": 7 }).into();
    assert_eq!(kind(&world.call(wrong).await), ErrorKind::InvalidArguments);
    assert!(world.call(call("order", "k")).await.is_ok());
}

#[tokio::test]
async fn an_effect_of_unknown_outcome_is_never_repeated() {
    for tool in ["order", "book"] {
        let world = World::new();
        world.next(tool, Does::ActsThen(lost()));
        let first = world.call(call(tool, "k")).await;
        assert_eq!(kind(&first), ErrorKind::UnknownOutcome);
        assert_eq!(kind(&world.call(call(tool, "k")).await), ErrorKind::UnknownOutcome);
        // The model's reflex: the same again under a new key.
        assert_eq!(kind(&world.call(call(tool, "other")).await), ErrorKind::UnknownOutcome);
        assert_eq!(world.acts(tool), 1);
        // A person may overrule it.
        let mut knowing = call(tool, "other");
        knowing.overrule.similar_unknown = true;
        assert!(world.call(knowing).await.is_ok());
        assert_eq!(world.acts(tool), 2);
    }
}

#[tokio::test]
async fn what_does_no_harm_twice_is_asked_for_again_under_its_provider_key() {
    let world = World::new();
    world.next("put", Does::ActsThen(lost()));
    world.next("put", Does::ActsThen(lost()));
    // Tried twice by itself in text mode; then the caller is told that nobody knows.
    assert_eq!(kind(&world.call(call("put", "k")).await), ErrorKind::UnknownOutcome);
    assert!(world.call(call("put", "k")).await.is_ok());
    let keys = world.script.keys.lock().clone();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]));
}

#[tokio::test]
async fn a_failure_after_a_part_was_done_is_unknown() {
    let world = World::new();
    let mut error = ToolError::new(ErrorKind::Transient, "half of it");
    error.partial_side_effects = true;
    world.next("order", Does::ActsThen(Ended::Failed(error)));
    assert_eq!(kind(&world.call(call("order", "k")).await), ErrorKind::UnknownOutcome);
}

#[tokio::test(start_paused = true)]
async fn a_writing_tool_that_passes_its_deadline_is_unknown() {
    let world = World::new();
    world.next("order", Does::Hangs);
    assert_eq!(kind(&world.call(call("order", "k")).await), ErrorKind::UnknownOutcome);
}

#[tokio::test(start_paused = true)]
async fn a_reading_tool_that_passes_its_deadline_has_timed_out() {
    let world = World::new();
    // Once more in text mode, since reading twice does no harm.
    world.next("slow", Does::Hangs);
    world.next("slow", Does::Hangs);
    let late = world.call(call("slow", "k")).await;
    assert_eq!(kind(&late), ErrorKind::Timeout);
    assert_eq!(late.meta.attempts, 2);
}

#[tokio::test]
async fn retries_go_by_class_and_error() {
    // tool, how it ends, how often it is run
    let cases = [
        ("find", failed(ErrorKind::Transient), 2),
        ("find", failed(ErrorKind::Permanent), 1),
        ("put", failed(ErrorKind::Transient), 2),
        ("put", lost(), 2),
        ("order", failed(ErrorKind::Transient), 1),
        ("order", lost(), 1),
        ("order", not_begun(), 2),
        ("book", not_begun(), 2),
    ];
    for (tool, ended, runs) in cases {
        let world = World::new();
        let what = format!("{tool} {ended:?}");
        world.next(tool, Does::Ends(ended));
        world.call(call(tool, "k")).await;
        assert_eq!(world.script.keys.lock().len(), runs, "{what}");
    }
}

#[tokio::test]
async fn every_attempt_under_a_key_has_the_same_provider_key() {
    let world = World::new();
    world.next("put", Does::Ends(failed(ErrorKind::Transient)));
    world.call(call("put", "k")).await;
    let keys = world.script.keys.lock().clone();
    assert_eq!(keys.len(), 2);
    assert!(keys[0].is_some() && keys[0] == keys[1]);
    // What is asked for under it when nobody knows of this any more is something else, to a provider that does.
    world.clock.advance(2 * 24 * 60 * 60 * 1000);
    world.runtime.tend().await.unwrap();
    assert!(!world.call(call("put", "k")).await.meta.cached);
    let later = world.script.keys.lock().last().cloned().unwrap();
    assert!(later.is_some() && later != keys[0], "{later:?}");
}

#[tokio::test]
async fn an_answer_that_breaks_its_contract_is_done_and_withheld() {
    let world = World::new();
    let answer = world.call(call("typed", "k")).await;
    assert_eq!(kind(&answer), ErrorKind::InvalidOutput);
    let record = world.store.effect("default", &answer.meta.record_id).await.unwrap();
    assert_eq!(record.state, State::Succeeded);
    assert_eq!(kind(&world.call(call("typed", "k")).await), ErrorKind::InvalidOutput);
    assert_eq!(world.acts("typed"), 1);
}

#[tokio::test]
async fn a_deliberate_repetition_says_so() {
    let world = World::new();
    world.call(call("order", "k")).await;
    let mut again = call("order", "k");
    again.occurrence = 2;
    assert!(!world.call(again).await.meta.cached);
    assert_eq!(world.acts("order"), 2);
}

#[tokio::test]
async fn a_writing_call_needs_a_key_or_a_session() {
    let world = World::new();
    let mut bare = call("order", "k");
    bare.key = None;
    assert_eq!(kind(&world.call(bare).await), ErrorKind::IdempotencyKeyRequired);
    for key in ["", "a b", "a\nb", "\u{0}", "ключ", &"x".repeat(256)] {
        assert_eq!(
            kind(&world.call(call("order", key)).await),
            ErrorKind::InvalidArguments,
            "{key:?}"
        );
    }
    assert!(world.call(call("order", "a:b")).await.is_ok());
}

#[tokio::test]
async fn an_old_request_is_not_begun() {
    let world = World::new();
    let mut old = call("order", "k");
    old.issued_at_ms = Some(super::world::NOW - 15 * 60 * 1000 - 1);
    assert_eq!(kind(&world.call(old).await), ErrorKind::RequestExpired);
    let mut fresh = call("order", "k");
    fresh.issued_at_ms = Some(super::world::NOW - 15 * 60 * 1000);
    assert!(world.call(fresh).await.is_ok());
    // A clock that is ahead is borne with, up to a point.
    let mut ahead = call("order", "l");
    ahead.issued_at_ms = Some(super::world::NOW + 5 * 60 * 1000);
    assert!(world.call(ahead.clone()).await.is_ok());
    ahead.key = Some("m".to_owned());
    ahead.issued_at_ms = Some(super::world::NOW + 5 * 60 * 1000 + 1_000);
    assert_eq!(kind(&world.call(ahead).await), ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn an_answer_that_is_no_longer_kept_is_not_made_again() {
    let world = World::new();
    world.call(call("order", "k")).await;
    world.clock.advance(25 * 3600 * 1000);
    world.store.purge().await.unwrap();
    assert_eq!(kind(&world.call(call("order", "k")).await), ErrorKind::ResultExpired);
    assert_eq!(world.acts("order"), 1);
}

/// What a handler does through other tools is on record under keys that are made of its own.
#[tokio::test]
async fn a_key_is_kept_as_long_as_those_that_are_made_of_it() {
    for (tool, kept) in [("put", false), ("again", true)] {
        let world = World::new();
        world.call(call(tool, "k")).await;
        world.clock.advance(25 * 3600 * 1000);
        world.store.purge().await.unwrap();
        let told = world.call(call(tool, "k")).await;
        let expired =
            told.result.as_ref().is_err_and(|error| error.kind == ErrorKind::ResultExpired);
        assert_eq!((expired, world.acts(tool)), (kept, if kept { 1 } else { 2 }), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_does_not_stop_an_effect() {
    let world = Arc::new(World::new());
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.next("order", Does::Waits(begun.clone(), go.clone()));
    let caller = tokio::spawn({
        let world = world.clone();
        async move { world.call(call("order", "k")).await }
    });
    begun.notified().await;
    caller.abort();
    let _ = caller.await;
    go.notify_one();
    // The repetition attaches to what runs, or finds its answer.
    assert!(world.call(call("order", "k")).await.is_ok());
    assert_eq!(world.acts("order"), 1);
    assert_eq!(world.runtime.drain(std::time::Duration::from_secs(5)).await, 0);
}

#[tokio::test]
async fn what_a_killed_process_left_is_unknown_and_not_repeated() {
    // tool, what the next process says, how often it acted in the end
    for (tool, again, acts) in [("order", Some(ErrorKind::UnknownOutcome), 0), ("put", None, 1)] {
        let world = World::new();
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        world.next(tool, Does::Waits(begun.clone(), go));
        // A second process on the same store dies while its handler runs.
        let gone = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let other = world.twin();
        gone.spawn(async move { other.invoke(call(tool, "k")).await });
        begun.notified().await;
        gone.shutdown_background();
        world.left().await;
        let found = world.call(call(tool, "k")).await;
        assert_eq!(found.result.err().map(|error| error.kind), again, "{tool}");
        assert_eq!(world.acts(tool), acts, "{tool}");
    }
}

#[tokio::test]
async fn a_failure_after_an_attempt_in_doubt_is_unknown() {
    for second in [not_begun(), failed(ErrorKind::Permanent)] {
        let world = World::new();
        world.next("put", Does::ActsThen(lost()));
        world.next("put", Does::Ends(second));
        let first = world.call(call("put", "k")).await;
        assert_eq!(kind(&first), ErrorKind::UnknownOutcome);
        let error = first.result.unwrap_err();
        assert!(error.retryable && error.idempotency_required, "{error:?}");
        // And the next attempt knows no better.
        world.next("put", Does::Ends(failed(ErrorKind::Permanent)));
        assert_eq!(kind(&world.call(call("put", "k")).await), ErrorKind::UnknownOutcome);
        assert!(world.call(call("put", "k")).await.is_ok());
    }
}

#[tokio::test]
async fn a_handler_that_fails_after_something_was_done_has_not_failed() {
    let world = World::new();
    world.next(
        "relay",
        Does::UsesThenFails(Capability::CallTool, "order", json!({ "item": "lamp" })),
    );
    assert_eq!(kind(&world.call(call("relay", "k")).await), ErrorKind::UnknownOutcome);
    assert_eq!(world.acts("order"), 1);
    // What it used refused to act, so nothing was done.
    let world = World::new();
    world.next("relay", Does::UsesThenFails(Capability::CallTool, "order", json!({ "item": 7 })));
    assert_eq!(kind(&world.call(call("relay", "k2")).await), ErrorKind::Permanent);
}

#[tokio::test]
async fn nested_calls_have_the_same_key_in_whatever_order() {
    let world = World::new();
    let order = |item: &str| (Capability::CallTool, "order", json!({ "item": item }));
    let mut both = vec![order("a"), order("b")];
    world.next("again", Does::UsesAll(both.clone(), lost()));
    both.reverse();
    world.next("again", Does::UsesAll(both, lost()));
    world.call(call("again", "k")).await;
    assert_eq!(world.script.keys.lock().len(), 4, "two runs of the handler, two orders");
    assert_eq!(world.acts("order"), 2);
}

#[tokio::test]
async fn a_handler_that_tries_until_it_succeeds_and_is_run_again_has_done_it_once() {
    let world = World::new();
    let lamp = || json!({ "item": "lamp" });
    world.next("order", Does::Ends(failed(ErrorKind::Permanent)));
    world.next("again", Does::LetsPass(vec![("order", lamp()), ("order", lamp())]));
    assert_eq!(kind(&world.call(call("again", "k")).await), ErrorKind::UnknownOutcome);
    assert_eq!(world.acts("order"), 1);
    world.next("again", Does::Uses(Capability::CallTool, "order", lamp()));
    assert!(world.call(call("again", "k")).await.is_ok());
    assert_eq!(world.acts("order"), 1);
    // What it does twice on purpose it has done twice.
    let twice = || vec![("order", lamp()), ("order", lamp())];
    for _ in 0..2 {
        let all = twice().into_iter().map(|(tool, lamp)| (Capability::CallTool, tool, lamp));
        world.next("again", Does::UsesAll(all.collect(), lost()));
    }
    world.call(call("again", "k2")).await;
    assert_eq!(world.acts("order"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_does_not_call_off_what_others_wait_for() {
    let world = Arc::new(World::new());
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.next("order", Does::Waits(begun.clone(), go.clone()));
    let leader = tokio::spawn({
        let world = world.clone();
        async move { world.call(call("order", "k")).await }
    });
    begun.notified().await;
    let follower = tokio::spawn({
        let world = world.clone();
        async move { world.call(call("order", "k")).await }
    });
    leader.abort();
    let _ = leader.await;
    go.notify_one();
    assert!(follower.await.unwrap().is_ok());
}

#[tokio::test]
async fn what_others_may_have_given_up_is_not_begun_any_more() {
    // As if the process had been stopped between its claim and the first byte.
    let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
    let held_up =
        Settings { lease_grace: Duration::ZERO, backoff: Duration::ZERO, ..Settings::default() };
    let world = World::with(rules, |builder| builder.settings(held_up));
    for tool in ["order", "book"] {
        // In voice there is no time for a second try, so the lease is as long as one.
        let mut late = call(tool, "k");
        late.mode = Mode::Voice;
        let ended = world.call(late).await;
        assert_eq!(kind(&ended), ErrorKind::Cancelled);
        assert_eq!(world.acts(tool), 0, "{tool}");
        let record = world.store.effect("default", &ended.meta.record_id).await.unwrap();
        assert_eq!(record.state, State::Failed, "it certainly did nothing");
    }
}

#[tokio::test]
async fn what_took_long_not_to_begin_is_tried_again_within_its_lease() {
    // Connecting takes longer than the grace: that says nothing about the lease.
    let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
    let short = Settings {
        lease_grace: Duration::from_millis(1),
        backoff: Duration::from_millis(5),
        ..Settings::default()
    };
    let world = World::with(rules.clone(), |builder| builder.settings(short));
    world.next("order", Does::Ends(not_begun()));
    let ended = world.call(call("order", "k")).await;
    assert_eq!((ended.is_ok(), ended.meta.attempts), (true, 2));
    // Where there is no time for another try, the one that was made says what was wrong.
    let none = Settings {
        default_timeout: Duration::from_millis(400),
        lease_grace: Duration::ZERO,
        backoff: Duration::ZERO,
        ..Settings::default()
    };
    let world = World::with(rules, |builder| builder.settings(none));
    world.next("order", Does::HoldsUp(Duration::from_millis(500), not_begun()));
    let ended = world.call(call("order", "k")).await;
    assert_eq!((kind(&ended), ended.meta.attempts), (ErrorKind::Transient, 1));
    assert!(ended.result.unwrap_err().retryable);
    let record = world.store.effect("default", &ended.meta.record_id).await.unwrap();
    assert_eq!((record.state, world.acts("order")), (State::Failed, 0));
}

#[tokio::test]
async fn what_the_provider_may_have_forgotten_is_for_people() {
    const HOUR: i64 = 3_600_000;
    let world = World::new();
    let unknown = || {
        // The first attempt and its retry.
        world.next("put", Does::ActsThen(lost()));
        world.next("put", Does::ActsThen(lost()));
    };
    unknown();
    assert_eq!(kind(&world.call(call("put", "k")).await), ErrorKind::UnknownOutcome);
    // Within a day, less a tenth, the provider knows the key: it is asked again, in vain.
    world.clock.advance(21 * HOUR);
    unknown();
    assert_eq!(kind(&world.call(call("put", "k")).await), ErrorKind::UnknownOutcome);
    assert_eq!(world.acts("put"), 4);
    let keys: std::collections::HashSet<_> = world.script.keys.lock().iter().cloned().collect();
    assert_eq!(keys.len(), 1, "the provider has seen one key");
    // Counted from the first attempt: by now it may have forgotten it.
    world.clock.advance(HOUR);
    let refused = world.call(call("put", "k")).await;
    assert_eq!((kind(&refused), world.acts("put")), (ErrorKind::UnknownOutcome, 4));
    // A person says that it did not happen, and it may be done.
    let waiting = refused.result.unwrap_err().details.clone().unwrap()["call"].clone();
    let mara = Caller { actor: Principal::user("mara"), ..caller() };
    let settle = world
        .runtime
        .settle(&mara, waiting.as_str().unwrap(), Found::bare(false), "asked them")
        .await;
    assert_eq!(settle.unwrap().state, State::NotHappened);
    assert!(world.call(call("put", "k")).await.is_ok());
    // A contract says how long its provider remembers.
    for (advance, acts) in [(0, 2), (44_000, 4), (10_000, 4)] {
        world.clock.advance(advance);
        world.next("brief", Does::ActsThen(lost()));
        world.next("brief", Does::ActsThen(lost()));
        let answer = world.call(call("brief", "k")).await;
        assert_eq!(kind(&answer), ErrorKind::UnknownOutcome);
        assert_eq!(world.acts("brief"), acts, "{advance}");
    }
}

#[tokio::test]
async fn an_attempt_is_over_when_the_provider_may_have_forgotten_the_first() {
    let world = World::new();
    world.next("brief", Does::ActsThen(lost()));
    world.next("brief", Does::ActsThen(lost()));
    assert_eq!(kind(&world.call(call("brief", "k")).await), ErrorKind::UnknownOutcome);
    // 54 of the provider's 60 seconds count, from that first attempt.
    world.clock.advance(53_700);
    world.next("brief", Does::Hangs);
    let began = std::time::Instant::now();
    let ended = world.call(call("brief", "k")).await;
    assert_eq!((kind(&ended), ended.meta.attempts), (ErrorKind::UnknownOutcome, 1));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(world.acts("brief"), 3, "and none is begun after that");
}

#[tokio::test]
async fn a_handler_that_is_late_reaches_nothing_any_more() {
    let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
    let short = Settings { default_timeout: Duration::from_millis(200), ..Settings::default() };
    let world = World::with(rules, |builder| builder.settings(short));
    let block = json!({ "seconds": 60, "reason": "late" });
    world.next("relay", Does::HoldsUpThenUses(Duration::from_millis(400), block));
    let ended = world.call(call("relay", "k")).await;
    let error = ended.result.unwrap_err();
    assert!(format!("{error:?}").contains("the time of the call is over"), "{error:?}");
    // Whoever was not blocked can go on.
    assert!(world.call(call("order", "k2")).await.is_ok());
}

#[tokio::test]
async fn a_done_effect_whose_answer_cannot_be_made_safe_is_done() {
    let world = World::new();
    // Deeper than anything is searched for secrets.
    let deep = (0..200).fold(json!("x"), |inside, _| json!([inside]));
    world.next("order", Does::Returns(deep));
    let answer = world.call(call("order", "k")).await;
    assert_eq!(kind(&answer), ErrorKind::RedactionFailed);
    let error = answer.result.unwrap_err();
    assert_eq!(error.details, Some(json!({ "done": true })));
    assert!(error.message.starts_with("it was done"), "{}", error.message);
    let record = world.store.effect("default", &answer.meta.record_id).await.unwrap();
    assert_eq!((record.state, record.result), (State::Succeeded, None), "nothing unsafe is kept");
    let heard: Vec<_> = world.heard.0.lock().iter().map(|event| event.kind).collect();
    assert!(heard.contains(&EventKind::ToolSideEffectCompleted), "{heard:?}");
    // Asked again, it says the same, and does nothing.
    let again = world.call(call("order", "k")).await;
    assert_eq!((kind(&again), world.acts("order")), (ErrorKind::RedactionFailed, 1));
}

/// Counts the requests that it takes for sent.
#[derive(Default)]
struct Sends(std::sync::atomic::AtomicUsize);

impl Provide for Sends {
    fn provide<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a str,
        _: serde_json::Value,
    ) -> Boxed<'a, Result<serde_json::Value, ToolError>> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async { Ok(json!({ "status": 200 })) })
    }

    fn writes(&self, method: &str) -> bool {
        method != "get"
    }
}

#[tokio::test]
async fn a_tool_that_does_not_write_changes_nothing_and_sends_nothing_twice() {
    use Capability::{Http, Moderation};

    // What it uses, how often that is asked for, and how often the tool is run.
    for (capability, method, sent, attempts) in [
        (Http, "get", 2, 2),
        (Http, "post", 1, 1),
        (Http, "put", 0, 2),
        (Http, "delete", 0, 2),
        (Moderation, "block", 0, 2),
    ] {
        let sends = Arc::new(Sends::default());
        let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
        let world = World::with(rules, |builder| builder.provide(Http, sends.clone()));
        for _ in 0..2 {
            let words = json!({ "seconds": 60 });
            world.next("compute", Does::UsesThenEnds(capability, method, words, lost()));
        }
        let ended = world.call(call("compute", "k")).await;
        assert!(!ended.is_ok(), "{method}");
        assert_eq!(ended.meta.attempts, attempts, "{method}");
        assert_eq!(sends.0.load(std::sync::atomic::Ordering::SeqCst), sent, "{method}");
        // And nobody was blocked.
        assert!(world.call(call("get", "k")).await.is_ok(), "{method}");
    }
    // Its author is told what to do.
    let world = World::new();
    world.next("compute", Does::Uses(Moderation, "block", json!({ "seconds": 60 })));
    let error = world.call(call("compute", "k")).await.result.unwrap_err();
    assert!(error.message.contains("say `\"sideEffects\": \"writes\"`"), "{error:?}");
}
