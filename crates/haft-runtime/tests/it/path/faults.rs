//! What becomes of calls when the store fails, the clock jumps, or a process loses what it was doing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use haft_core::call::Principal;
use haft_core::ledger::State;
use haft_core::port::{
    CallFilter, EffectFilter, Invoke as _, Journal as _, Ledger as _, Store as _,
};
use haft_core::record::InvocationRecord;
use haft_core::{Caller, ErrorKind};
use haft_runtime::Runtime;
use haft_runtime::effects::Found;
use serde_json::json;
use tokio::sync::Notify;

use super::faulty::{Fault, Faulty};
use super::world::{Does, NOW, World, call, caller, failed, kind, lost};

const DAY: i64 = 86_400_000;
const YEAR: i64 = 365 * DAY;

/// A world, its tools on a store that fails, and that store.
fn faulty() -> (World, Runtime, Arc<Faulty>) {
    let world = World::new();
    let store = Faulty::on(world.store.clone());
    let runtime = world.on(store.clone());
    (world, runtime, store)
}

pub(super) fn operator() -> Caller {
    Caller { actor: Principal::user("mara"), ..caller() }
}

async fn records(world: &World) -> Vec<InvocationRecord> {
    let filter = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    world.store.calls(filter).await.unwrap()
}

/// Somebody asks, and goes away while the call is on its way into the ledger; what lets it go on.
async fn left(runtime: &Runtime, store: &Faulty, tool: &'static str) -> Arc<Notify> {
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    *store.held.lock() = Some((begun.clone(), go.clone()));
    let runtime = runtime.clone();
    let asked = tokio::spawn(async move { runtime.invoke(call(tool, "k")).await });
    begun.notified().await;
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    go
}

#[tokio::test]
async fn without_a_claim_nothing_is_done() {
    let (world, runtime, store) = faulty();
    store.claims.lock().push_back(Fault::Refuses);
    let refused = runtime.invoke(call("order", "k")).await;
    assert_eq!(kind(&refused), ErrorKind::StoreUnavailable);
    assert!(refused.result.is_err_and(|error| error.message.contains("nothing was done")));
    assert_eq!(world.acts("order"), 0);
    assert!(runtime.invoke(call("order", "k")).await.is_ok(), "the key is free");
    assert_eq!(world.acts("order"), 1);
}

/// A store that takes nothing can still tell what was done under the key.
#[tokio::test]
async fn nobody_is_told_that_nothing_was_done_of_what_was() {
    let (world, runtime, store) = faulty();
    assert!(runtime.invoke(call("order", "done")).await.is_ok());
    world.next("order", Does::ActsThen(lost()));
    let mut unknown = call("order", "doubt");
    unknown.arguments = json!({ "item": "sofa" }).into();
    assert_eq!(kind(&runtime.invoke(unknown.clone()).await), ErrorKind::UnknownOutcome);
    store.claims.lock().extend([Fault::Refuses, Fault::Refuses]);
    let again = runtime.invoke(call("order", "done")).await;
    assert!(again.is_ok() && again.meta.cached, "{again:?}");
    assert_eq!(kind(&runtime.invoke(unknown).await), ErrorKind::UnknownOutcome);
    assert_eq!(world.acts("order"), 2);
}

#[tokio::test]
async fn a_claim_in_doubt_is_asked_again_and_done_once() {
    for fault in [Fault::LosesIt, Fault::LosesTheAnswer] {
        let (world, runtime, store) = faulty();
        store.claims.lock().push_back(fault);
        assert!(runtime.invoke(call("order", "k")).await.is_ok(), "{fault:?}");
        assert_eq!(store.claimed.load(Ordering::SeqCst), 2, "{fault:?}");
        assert!(runtime.invoke(call("order", "k")).await.meta.cached, "{fault:?}");
        assert_eq!(world.acts("order"), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn a_claim_that_stays_in_doubt_does_nothing() {
    let (world, runtime, store) = faulty();
    store.claims.lock().extend([Fault::LosesTheAnswer, Fault::LosesTheAnswer]);
    assert_eq!(kind(&runtime.invoke(call("order", "k")).await), ErrorKind::StoreUnavailable);
    assert_eq!(world.acts("order"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_recorded_as_soon_as_the_store_takes_it() {
    for fault in [Fault::Refuses, Fault::LosesIt, Fault::LosesTheAnswer] {
        let (world, runtime, store) = faulty();
        store.settles.lock().extend([fault, Fault::Refuses]);
        assert!(runtime.invoke(call("order", "k")).await.is_ok(), "{fault:?}");
        assert_eq!(store.settled.load(Ordering::SeqCst), 3, "{fault:?}");
        assert!(runtime.invoke(call("order", "k")).await.meta.cached, "{fault:?}");
        assert_eq!(world.acts("order"), 1, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_recorded_is_unknown_and_can_be_settled() {
    for ends in [None, Some(ErrorKind::Permanent)] {
        let (world, runtime, store) = faulty();
        if let Some(kind) = ends {
            world.next("book", Does::ActsThen(failed(kind)));
        }
        store.takes_no_outcome.store(true, Ordering::SeqCst);
        let began = tokio::time::Instant::now();
        let told = runtime.invoke(call("book", "k")).await;
        assert_eq!(kind(&told), ErrorKind::UnknownOutcome, "{ends:?}: never that it failed");
        assert!(began.elapsed() >= Duration::from_secs(10), "it was tried until the lease ended");
        let id = told.meta.record_id.clone();
        let state = || async { world.store.effect("default", &id).await.unwrap().state };
        assert_eq!(state().await, State::Started);
        let early = runtime.probe(&operator(), &id).await.unwrap_err();
        assert!(early.message.contains("being carried out"), "{}", early.message);
        world.clock.advance(600_000);
        let left = runtime.tend().await.unwrap();
        assert_eq!((left.len(), state().await), (1, State::Unknown), "{ends:?}");
        let found = records(&world).await;
        assert_eq!(found.len(), 1, "the call is on record");
        assert_eq!((&*found[0].call, found[0].error), (&*id, Some(ErrorKind::UnknownOutcome)));
        let settled = runtime.settle(&operator(), &id, Found::bare(true), "seen").await.unwrap();
        assert_eq!(settled.state, State::Happened);
        assert_eq!(world.acts("book"), 1);
    }
}

/// A disk that has room again before others have given the effect up.
#[tokio::test(start_paused = true)]
async fn an_outcome_is_recorded_even_after_its_caller_was_told_that_nobody_knows() {
    for ends in [None, Some(ErrorKind::Permanent)] {
        let (world, runtime, store) = faulty();
        if let Some(kind) = ends {
            world.next("book", Does::Ends(failed(kind)));
        }
        store.takes_no_outcome.store(true, Ordering::SeqCst);
        let told = runtime.invoke(call("book", "k")).await;
        assert_eq!(kind(&told), ErrorKind::UnknownOutcome, "{ends:?}");
        store.takes_no_outcome.store(false, Ordering::SeqCst);
        assert_eq!(runtime.drain(Duration::from_secs(5)).await, 0, "a drain waits for it");
        let effect = world.store.effect("default", &told.meta.record_id).await.unwrap();
        let state = if ends.is_some() { State::Failed } else { State::Succeeded };
        assert_eq!(effect.state, state, "{ends:?}");
        assert_eq!(records(&world).await.len(), 1, "once, as its caller was told");
        let again = runtime.invoke(call("book", "k")).await;
        assert_eq!((again.is_ok(), again.meta.cached), (true, ends.is_none()), "{ends:?}");
        assert_eq!(world.acts("book"), 1, "{ends:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_given_up_once_others_take_it_over() {
    let (world, runtime, store) = faulty();
    store.takes_no_outcome.store(true, Ordering::SeqCst);
    assert_eq!(kind(&runtime.invoke(call("book", "k")).await), ErrorKind::UnknownOutcome);
    assert_eq!(runtime.drain(Duration::from_secs(3_600)).await, 0, "it ends with the lease");
    assert_eq!(world.acts("book"), 1);
}

/// What an embedding program brings along, and what it reaches, may panic.
#[tokio::test]
async fn an_executor_that_panics_ends_its_call_and_what_it_did_can_be_settled() {
    let world = World::new();
    world.next("get", Does::Panics);
    assert_eq!(kind(&world.call(call("get", "k")).await), ErrorKind::Internal);
    world.next("book", Does::Panics);
    let told = world.call(call("book", "k")).await;
    assert_eq!(kind(&told), ErrorKind::UnknownOutcome);
    let id = told.meta.record_id;
    let found: Vec<_> = records(&world).await.iter().map(|one| one.error).collect();
    assert_eq!(found, [Some(ErrorKind::UnknownOutcome), Some(ErrorKind::Internal)]);
    assert_eq!(world.store.effect("default", &id).await.unwrap().state, State::Unknown);
    let settled =
        world.runtime.settle(&operator(), &id, Found::bare(false), "looked").await.unwrap();
    assert_eq!(settled.state, State::NotHappened);
    world.next("book", Does::Panics);
    let again = world.call(call("book", "k")).await.meta.record_id;
    world.next("booked", Does::Returns(serde_json::json!({ "found": true })));
    let probed = world.runtime.probe(&operator(), &again).await.unwrap();
    assert_eq!(probed.effect.state, State::Happened);
}

#[tokio::test]
async fn whoever_goes_away_before_anything_was_done_wanted_nothing() {
    let (world, runtime, store) = faulty();
    let go = left(&runtime, &store, "order").await;
    go.notify_one();
    assert_eq!(runtime.drain(Duration::from_secs(5)).await, 0);
    assert_eq!(world.acts("order"), 0);
    let found = records(&world).await;
    assert_eq!((found.len(), found[0].error), (1, Some(ErrorKind::Cancelled)));
    assert!(runtime.invoke(call("order", "k")).await.is_ok(), "the key is free");
    assert_eq!(world.acts("order"), 1);
}

/// Whoever went away has sent it again before it was on record that nothing was done for them.
#[tokio::test]
async fn whoever_sends_again_what_is_being_called_off_has_it_done() {
    for elsewhere in [false, true] {
        let (world, runtime, store) = faulty();
        let (ending, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        *store.held_outcome.lock() = Some((ending.clone(), end.clone()));
        left(&runtime, &store, "order").await.notify_one();
        ending.notified().await;
        let other = Faulty::on(world.store.clone());
        let (again, claims) = match elsewhere {
            true => (world.on(other.clone()), &other.claimed),
            false => (runtime.clone(), &store.claimed),
        };
        let before = claims.load(Ordering::SeqCst);
        let again = tokio::spawn(async move { again.invoke(call("order", "k")).await });
        // It has been told that the same call is on its way, and waits for that.
        while claims.load(Ordering::SeqCst) == before {
            tokio::task::yield_now().await;
        }
        end.notify_one();
        let again = again.await.unwrap();
        assert!(again.is_ok() && !again.meta.cached, "{elsewhere}: {again:?}");
        assert_eq!((again.meta.replay_of, world.acts("order")), (None, 1), "{elsewhere}");
    }
}

#[tokio::test]
async fn whoever_goes_away_from_another_attempt_does_not_make_the_first_one_a_failure() {
    let (world, runtime, store) = faulty();
    world.next("put", Does::ActsThen(lost()));
    world.next("put", Does::Ends(lost()));
    assert_eq!(kind(&runtime.invoke(call("put", "k")).await), ErrorKind::UnknownOutcome);
    let go = left(&runtime, &store, "put").await;
    world.next("put", Does::Ends(lost()));
    world.next("put", Does::Ends(lost()));
    go.notify_one();
    assert_eq!(runtime.drain(Duration::from_secs(5)).await, 0);
    let all = EffectFilter { tenant: "default".into(), ..EffectFilter::default() };
    let effects = world.store.effects(all).await.unwrap();
    assert_eq!(effects.iter().map(|one| one.state).collect::<Vec<_>>(), [State::Unknown]);
}

/// Where a caller leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leaves {
    OnTheWayIntoTheLedger,
    WhileItIsDone,
    OnTheWayOut,
}

#[tokio::test]
async fn a_caller_that_leaves_anywhere_calls_off_nothing_or_all_of_it() {
    let each = [
        (Leaves::OnTheWayIntoTheLedger, 0, Some(ErrorKind::Cancelled)),
        (Leaves::WhileItIsDone, 1, None),
        (Leaves::OnTheWayOut, 1, None),
    ];
    for tool in ["put", "book", "order"] {
        for (leaves, acts, ended) in each {
            let (world, runtime, store) = faulty();
            let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let held = Some((begun.clone(), go.clone()));
            match leaves {
                Leaves::OnTheWayIntoTheLedger => *store.held.lock() = held,
                Leaves::WhileItIsDone => world.next(tool, Does::Waits(begun.clone(), go.clone())),
                Leaves::OnTheWayOut => *store.held_outcome.lock() = held,
            }
            let asked = tokio::spawn({
                let runtime = runtime.clone();
                async move { runtime.invoke(call(tool, "k")).await }
            });
            begun.notified().await;
            asked.abort();
            assert!(asked.await.unwrap_err().is_cancelled());
            go.notify_one();
            assert_eq!(runtime.drain(Duration::from_secs(5)).await, 0);
            assert_eq!(world.acts(tool), acts, "{tool} {leaves:?}");
            let found = records(&world).await;
            assert_eq!((found.len(), found[0].error), (1, ended), "{tool} {leaves:?}");
            // The same key attaches to what was done, and does what was not.
            let again = runtime.invoke(call(tool, "k")).await;
            assert_eq!((again.is_ok(), again.meta.cached), (true, acts == 1), "{tool} {leaves:?}");
            assert_eq!(world.acts(tool), 1, "{tool} {leaves:?}");
        }
    }
}

#[tokio::test]
async fn a_duplicate_follows_the_attempt_that_was_begun_anew() {
    let world = World::new();
    let twin = world.twin();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let fails = Does::WaitsThen(begun.clone(), go.clone(), failed(ErrorKind::Permanent));
    world.next("order", fails);
    let first = tokio::spawn({
        let runtime = world.runtime.clone();
        async move { runtime.invoke(call("order", "k")).await }
    });
    begun.notified().await;
    let began = Instant::now();
    let mut duplicate = std::pin::pin!(twin.invoke(call("order", "k")));
    // It has found the first attempt, and looks at it from time to time.
    let waits = tokio::time::timeout(Duration::from_millis(20), &mut duplicate).await;
    assert!(waits.is_err());
    go.notify_one();
    assert_eq!(kind(&first.await.unwrap()), ErrorKind::Permanent);
    assert!(world.call(call("order", "k")).await.is_ok());
    let told = duplicate.await;
    assert!(told.is_ok() && told.meta.cached, "{told:?}");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_clock_that_jumps_for_a_moment_repeats_nothing() {
    for jump in [100 * DAY, YEAR, -YEAR] {
        let world = World::new();
        assert!(world.call(call("order", "k")).await.is_ok());
        world.clock.set_wall(NOW + jump);
        world.runtime.tend().await.unwrap();
        match world.runtime.forget().await {
            Ok(went) => assert!(jump > 0 && !went.anything(), "{jump}"),
            // So far ahead of the machine's clock the store says that it does not know.
            Err(why) => assert!(jump < 0, "{jump}: {why}"),
        }
        assert!(world.call(call("order", "k")).await.meta.cached, "{jump}");
        world.clock.set_wall(NOW + 1000);
        world.runtime.tend().await.unwrap();
        assert!(world.call(call("order", "k")).await.meta.cached, "{jump}");
        assert_eq!(world.acts("order"), 1, "{jump}");
        assert_eq!(world.store.now_ms(), NOW + 1000, "{jump}");
        let mut dated = call("order", "dated");
        dated.issued_at_ms = Some(NOW + 1000);
        assert!(world.call(dated).await.is_ok(), "{jump}");
    }
}
