//! Five bookings of one turn, with a crash at every step on the way and on the way back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::call::Credential;
use haft_core::contract::Mode;
use haft_core::ledger::{EffectRecord, State};
use haft_core::port::{EffectFilter, Ended, Invoke as _, Ledger as _, Undo};
use haft_core::{Call, Caller, ErrorKind, Principal};
use haft_runtime::Runtime;
use haft_runtime::effects::{UndoTarget, Undone, UndoneStatus};
use serde_json::json;
use tokio::sync::Notify;

use super::world::{Does, NOW, World, caller, failed, lost};

const STEPS: usize = 5;

struct Saga {
    world: World,
    session: String,
    group: String,
}

impl Saga {
    async fn new() -> Self {
        let world = World::new();
        let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
        Self { world, session: session.id, group: session.turn.group }
    }

    fn book(&self, step: usize) -> Call {
        let mut call = Call::new(caller(), "book", json!({ "item": step.to_string() }));
        call.session = Some(self.session.clone());
        call
    }

    async fn booked(&self, steps: std::ops::Range<usize>) {
        for step in steps {
            assert!(self.world.call(self.book(step)).await.is_ok(), "{step}");
            self.world.clock.advance(1);
        }
    }

    async fn undo(&self) -> Vec<Undone> {
        let operator = Caller { actor: Principal::user("mara"), ..caller() };
        let target = UndoTarget::TurnGroup(self.group.clone());
        self.world.runtime.undo(&operator, &target).await.unwrap()
    }

    /// The bookings, oldest first.
    async fn effects(&self) -> Vec<EffectRecord> {
        let filter = EffectFilter { tenant: "default".into(), ..EffectFilter::default() };
        let mut all = self.world.store.effects(filter).await.unwrap();
        all.retain(|effect| effect.effect.tool == "shop__book");
        all.reverse();
        all
    }

    /// How often each item was acted on by a tool.
    fn acts(&self, tool: &str) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for (id, arguments) in self.world.script.acts.lock().iter() {
            if *id == format!("shop__{tool}") {
                *counts.entry(arguments["item"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
        counts
    }

    /// Does something in a process of its own, which is killed once a tool is being run.
    async fn killed<F, Fut>(&self, tool: &str, work: F)
    where
        F: FnOnce(Runtime) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let (begun, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        self.world.next(tool, Does::Waits(begun.clone(), never));
        let process = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        process.spawn(work(self.world.twin()));
        begun.notified().await;
        process.shutdown_background();
        self.world.left().await;
    }

    /// Nothing half done and nothing twice: all stand, all are undone, or a person is told of the
    /// rest.
    async fn is_whole(&self) {
        let states: HashSet<State> = self.effects().await.iter().map(|one| one.state).collect();
        let done = |one: &State| matches!(one, State::Succeeded | State::Happened);
        let undone =
            |one: &State| matches!(one, State::Compensated | State::NotHappened | State::Failed);
        let ends = states.iter().all(done)
            || states.iter().all(undone)
            || states.contains(&State::Stuck)
            || states.contains(&State::Unknown);
        assert!(ends, "{states:?}");
        for tool in ["book", "unbook"] {
            assert!(self.acts(tool).values().all(|times| *times == 1), "{:?}", self.acts(tool));
        }
    }
}

#[tokio::test]
async fn a_crash_on_the_way_leaves_what_can_be_undone_whole() {
    for step in 0..STEPS {
        let saga = Saga::new().await;
        saga.booked(0..step).await;
        let call = saga.book(step);
        let dies = move |runtime: Runtime| async move {
            runtime.invoke(call).await;
        };
        saga.killed("book", dies).await;
        saga.world.runtime.tend().await.unwrap();
        let effects = saga.effects().await;
        assert_eq!(effects.last().unwrap().state, State::Unknown, "step {step}");
        // Nobody can tell: that one is not undone blindly, and it is said so.
        let blind = saga.undo().await;
        assert_eq!(blind[0].status, UndoneStatus::Unknown, "step {step}");
        assert!(!saga.acts("unbook").contains_key(&step.to_string()));
        saga.is_whole().await;
        // The probe can: it did not happen.
        saga.world.next("booked", Does::Returns(json!({ "found": false })));
        let undone = saga.undo().await;
        assert_eq!(undone[0].status, UndoneStatus::NothingToUndo, "step {step}: {undone:?}");
        saga.is_whole().await;
        assert_eq!(saga.acts("unbook").len(), step);
    }
}

#[tokio::test]
async fn a_crash_on_the_way_back_is_taken_up_where_it_was() {
    for step in 0..STEPS {
        let saga = Saga::new().await;
        saga.booked(0..STEPS).await;
        // Some are undone, newest first; then the process dies while it undoes the next.
        let operator = Caller { actor: Principal::user("mara"), ..caller() };
        let effects = saga.effects().await;
        let newest: Vec<_> = effects.iter().rev().map(|one| one.effect.call.clone()).collect();
        for call in &newest[..step] {
            let target = UndoTarget::Call(call.clone());
            saga.world.runtime.undo(&operator, &target).await.unwrap();
        }
        let target = UndoTarget::TurnGroup(saga.group.clone());
        let by = operator.clone();
        let dies = move |runtime: Runtime| async move {
            let _ = runtime.undo(&by, &target).await;
        };
        saga.killed("unbook", dies).await;
        saga.world.runtime.tend().await.unwrap();
        assert_eq!(saga.acts("unbook").len(), step, "nothing of the one that died was done");
        let undone = saga.undo().await;
        let said =
            |one: &Undone| matches!(one.status, UndoneStatus::Undone | UndoneStatus::AlreadyUndone);
        assert!(undone.iter().all(said), "step {step}: {undone:?}");
        saga.is_whole().await;
        assert!(saga.effects().await.iter().all(|one| one.state == State::Compensated));
        let back: Vec<_> = saga
            .world
            .script
            .acts
            .lock()
            .iter()
            .filter(|(tool, _)| tool == "shop__unbook")
            .map(|(_, arguments)| arguments["item"].clone())
            .collect();
        assert_eq!(back, ["4", "3", "2", "1", "0"].map(|item| json!(item)), "step {step}");
    }
}

#[tokio::test]
async fn a_compensation_that_does_not_work_leaves_its_effect_stuck() {
    type Ends = fn() -> Ended;
    let endings: [(&str, Ends); 3] = [
        ("500", || failed(ErrorKind::Transient)),
        ("timeout", lost),
        ("not found", || failed(ErrorKind::NotFound)),
    ];
    for (what, ends) in endings {
        for step in 0..STEPS {
            let saga = Saga::new().await;
            saga.booked(0..STEPS).await;
            // Those before it in the way back work; this one fails whenever it is asked.
            for _ in 0..step {
                saga.world.next("unbook", Does::Returns(json!({})));
            }
            for _ in 0..60 {
                saga.world.next("unbook", Does::Ends(ends()));
            }
            let undone = saga.undo().await;
            let statuses: Vec<_> = undone.iter().map(|one| one.status).collect();
            let expected: Vec<_> = (0..STEPS)
                .map(|at| if at < step { UndoneStatus::Undone } else { UndoneStatus::Stuck })
                .collect();
            assert_eq!(statuses, expected, "{what} at {step}: {undone:?}");
            saga.is_whole().await;
            // A person sees it, and can have it tried again once the provider is well.
            let stuck = saga.effects().await;
            let stuck = stuck.iter().filter(|one| one.state == State::Stuck).count();
            assert_eq!(stuck, STEPS - step, "{what}");
            saga.world.script.forget("unbook");
            saga.undo().await;
            assert!(saga.effects().await.iter().all(|one| one.state == State::Compensated));
            saga.is_whole().await;
        }
    }
}

/// A chain takes as long as its services do; whoever asked for it may be gone before its end.
#[tokio::test]
async fn what_is_left_of_a_chain_is_not_undone_for_a_key_that_has_ended() {
    let saga = Saga::new().await;
    saga.booked(0..STEPS).await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    saga.world.next("unbook", Does::Waits(begun.clone(), go.clone()));
    let until = Credential::Key { kept: None, ends_at_ms: Some(NOW + 1_000) };
    let actor = Principal::user("mara");
    let by = Caller { actor, credential: Some(Arc::new(until)), ..caller() };
    let target = UndoTarget::TurnGroup(saga.group.clone());
    let ends = async {
        begun.notified().await;
        saga.world.clock.advance(1_000);
        go.notify_one();
    };
    let (undone, ()) = tokio::join!(saga.world.runtime.undo(&by, &target), ends);
    let undone = undone.unwrap();
    let statuses: Vec<_> = undone.iter().map(|one| one.status).collect();
    let mut expected = vec![UndoneStatus::Denied; STEPS];
    expected[0] = UndoneStatus::Undone;
    assert_eq!(statuses, expected, "what had begun goes on: {undone:?}");
    assert!(undone[1].message.contains("has expired"), "{undone:?}");
    assert_eq!(saga.acts("unbook").len(), 1);
    // For somebody else all of it is as it was.
    saga.undo().await;
    assert!(saga.effects().await.iter().all(|one| one.state == State::Compensated));
}

/// Whoever comes second finds what the first has done meanwhile, and neither says that it failed.
#[tokio::test]
async fn two_who_undo_the_same_at_once_are_both_told_that_it_is_undone() {
    let is_undone =
        |one: &Undone| matches!(one.status, UndoneStatus::Undone | UndoneStatus::AlreadyUndone);
    for held in 0..STEPS {
        let saga = Saga::new().await;
        saga.booked(0..STEPS).await;
        for _ in 0..held {
            saga.world.next("unbook", Does::Returns(json!({})));
        }
        // Both have read how the effects stand before the first has undone this one.
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        saga.world.next("unbook", Does::Waits(begun.clone(), go.clone()));
        let let_go = async {
            begun.notified().await;
            go.notify_one();
        };
        let (one, other, ()) = tokio::join!(saga.undo(), saga.undo(), let_go);
        assert!(one.iter().chain(&other).all(is_undone), "{held}: {one:?} {other:?}");
        assert!(saga.effects().await.iter().all(|one| one.state == State::Compensated));
        saga.is_whole().await;
    }
}

/// In two processes: neither waits for the other's task, and each finds the other's steps on record.
#[tokio::test]
async fn two_processes_that_undo_the_same_are_both_told_that_it_is_undone() {
    let is_undone =
        |one: &Undone| matches!(one.status, UndoneStatus::Undone | UndoneStatus::AlreadyUndone);
    let saga = Saga::new().await;
    saga.booked(0..STEPS).await;
    let operator = Caller { actor: Principal::user("mara"), ..caller() };
    let other = Caller { actor: Principal::user("jon"), ..caller() };
    let target = UndoTarget::TurnGroup(saga.group.clone());
    let twin = saga.world.twin();
    let (one, two) =
        tokio::join!(saga.world.runtime.undo(&operator, &target), twin.undo(&other, &target),);
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(one.iter().chain(&two).all(is_undone), "{one:?} {two:?}");
    assert!(saga.effects().await.iter().all(|one| one.state == State::Compensated));
    saga.is_whole().await;
}

/// One of two gives up while the other's attempt works: what was done is on record as done.
#[tokio::test]
async fn what_was_undone_is_on_record_though_somebody_has_given_it_up() {
    let saga = Saga::new().await;
    saga.booked(0..1).await;
    let id = saga.effects().await[0].effect.call.clone();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    saga.world.next("unbook", Does::Waits(begun.clone(), go.clone()));
    let store = saga.world.store.clone();
    let given_up = async {
        begun.notified().await;
        let why = "it did not work for me".to_owned();
        store.undo("default", &id, Undo::Stuck { why }).await.unwrap();
        go.notify_one();
    };
    let (undone, ()) = tokio::join!(saga.undo(), given_up);
    assert_eq!(undone[0].status, UndoneStatus::Undone, "{undone:?}");
    assert_eq!(saga.effects().await[0].state, State::Compensated);
}
