//! What changes between a decision and the deed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use haft_core::call::Credential;
use haft_core::config::{Change, Edition, Kind};
use haft_core::contract::{Capability, Mode};
use haft_core::port::{Ask, Decide, Decision, Invoke as _, Standing};
use haft_core::{Call, Digest, ErrorKind, Principal};
use haft_runtime::policy::{Policy, Rules, Source};
use haft_runtime::session::Signal;
use haft_runtime::toolbox::{Activation, Directory, Overrides, Records, Shelf, Stock};
use haft_runtime::{Runtime, Settings};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;

use super::sessions::In;
use super::world::{Does, NOW, World, call, caller, kind, not_begun, tools};

fn rules(allow: &[&str]) -> Rules {
    Rules { allow: allow.iter().map(ToString::to_string).collect(), ..Rules::default() }
}

fn policy(rules: &Rules) -> Arc<Policy> {
    let source = Source { rules: rules.clone(), ..Source::default() };
    Arc::new(Policy::load(&source, &[&tools()]).unwrap())
}

/// Puts rules into force under which nothing may be done.
fn revoke(runtime: &Runtime) {
    let nothing = rules(&["shop__get"]);
    runtime.govern(policy(&nothing), nothing);
}

/// A policy that is replaced right after it was asked.
struct Replaced {
    policy: Arc<Policy>,
    /// How many answers are given before.
    after: AtomicUsize,
    by: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Replaced {
    fn after(answers: usize, rules: &Rules) -> Arc<Self> {
        let (policy, after) = (policy(rules), AtomicUsize::new(answers));
        Arc::new(Self { policy, after, by: Mutex::default() })
    }
}

impl Decide for Replaced {
    fn version(&self) -> Digest {
        self.policy.version()
    }

    fn standing(&self, ask: &Ask<'_>) -> Standing {
        let standing = self.policy.standing(ask);
        // Catalogs ask about every tool; the gate about this one.
        if &*ask.tool.id == "shop__order" || &*ask.tool.id == "shop__gift" {
            let is_last = self.after.fetch_sub(1, Ordering::SeqCst) == 1;
            let by = self.by.lock().take_if(|_| is_last);
            if let Some(by) = by {
                by();
            }
        }
        standing
    }

    fn decide(&self, ask: &Ask<'_>) -> Arc<Decision> {
        self.policy.decide(ask)
    }

    fn holds(&self, condition: &str, ask: &Ask<'_>) -> Result<bool, String> {
        self.policy.holds(condition, ask)
    }
}

/// A world in which permission is taken away right after the gate has given it.
fn revoked_after_the_gate(answers: usize) -> World {
    let all = rules(&["shop__*"]);
    let replaced = Replaced::after(answers, &all);
    let world = World::with(all, |builder| builder.policy(replaced.clone()));
    let runtime = world.runtime.clone();
    *replaced.by.lock() = Some(Box::new(move || revoke(&runtime)));
    world
}

#[tokio::test]
async fn nothing_is_begun_under_rules_that_are_no_longer_in_force() {
    // The first answer goes into the catalog, the second is the gate's.
    let world = revoked_after_the_gate(2);
    let refused = world.call(call("order", "k")).await;
    assert_eq!((kind(&refused), world.acts("order")), (ErrorKind::Denied, 0));
    // Nothing was used up: allowed again, the same key is begun.
    let all = rules(&["shop__*"]);
    world.runtime.govern(policy(&all), all);
    assert!(world.call(call("order", "k")).await.is_ok());
}

fn turn_off(runtime: &Runtime) {
    activate(runtime, "order", false, Overrides::default());
}

/// Changes what the agent has of a tool.
fn activate(runtime: &Runtime, tool: &str, enabled: bool, overrides: Overrides) {
    let off = Activation { tool: tool.into(), enabled, overrides, approved_by: None };
    let mut records = Records::of_one("default", "default");
    records.agents.iter_mut().for_each(|agent| agent.activations.push(off.clone()));
    let registry = tools();
    let stock = Stock::new(&[Shelf::own(&registry)]).unwrap();
    runtime.direct(Directory::load(&records, &stock, "test").unwrap());
}

#[tokio::test]
async fn a_tool_that_is_turned_off_on_the_way_is_not_begun() {
    let all = rules(&["shop__*"]);
    let replaced = Replaced::after(2, &all);
    let world = World::with(all, |builder| builder.policy(replaced.clone()));
    let runtime = world.runtime.clone();
    *replaced.by.lock() = Some(Box::new(move || turn_off(&runtime)));
    let refused = world.call(call("order", "k")).await;
    assert_eq!((kind(&refused), world.acts("order")), (ErrorKind::Denied, 0), "{refused:?}");
    let refused = world.call(call("order", "k")).await;
    assert_eq!(kind(&refused), ErrorKind::Unavailable);
}

#[tokio::test]
async fn what_a_person_has_to_approve_from_now_on_is_not_begun_without() {
    let all = rules(&["shop__*"]);
    let replaced = Replaced::after(2, &all);
    let world = World::with(all, |builder| builder.policy(replaced.clone()));
    let runtime = world.runtime.clone();
    let asks = Overrides { requires_confirmation: Some(true), ..Overrides::default() };
    *replaced.by.lock() = Some(Box::new(move || activate(&runtime, "order", true, asks)));
    let asked = world.call(call("order", "k")).await;
    assert_eq!(kind(&asked), ErrorKind::ConfirmationRequired, "{asked:?}");
    assert_eq!(world.acts("order"), 0);
}

#[tokio::test]
async fn an_approval_is_void_once_the_rules_have_changed() {
    // changed before the approved call is made, and while it is on its way
    for answers in [0, 4] {
        let world = match answers {
            0 => World::new(),
            answers => revoked_after_the_gate(answers),
        };
        let asked = world.call(call("gift", "k")).await.result.unwrap_err();
        let id = asked.details.clone().unwrap()["confirmation"]["id"].as_str().unwrap().to_owned();
        let mara = Principal::user("mara");
        let token = world.runtime.confirm("default", &id, true, &mara).await.unwrap().token;
        if answers == 0 {
            revoke(&world.runtime);
        }
        let mut approved = call("gift", "k");
        approved.confirmation = token;
        let refused = world.call(approved).await;
        assert!(
            matches!(
                kind(&refused),
                ErrorKind::Denied
                    | ErrorKind::Unavailable
                    | ErrorKind::ConfirmationRefused
                    | ErrorKind::ConfirmationRequired
            ),
            "{refused:?}"
        );
        assert_eq!(world.acts("gift"), 0, "{answers}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_calls_that_wait_none_is_begun_after_permission_is_gone() {
    let world = Arc::new(World::new());
    let places = Arc::new(tokio::sync::Semaphore::new(16));
    let calls: Vec<_> = (0..1_000)
        .map(|n| {
            let (world, places) = (world.clone(), places.clone());
            tokio::spawn(async move {
                let _place = places.acquire().await.unwrap();
                let mut one = call("order", &format!("k{n}"));
                one.arguments = json!({ "item": n.to_string() }).into();
                let envelope = world.call(one).await;
                (envelope.is_ok(), Instant::now())
            })
        })
        .collect();
    while world.acts("order") < 100 {
        tokio::task::yield_now().await;
    }
    revoke(&world.runtime);
    let (gone, before) = (Instant::now(), world.acts("order"));
    let mut done = 0;
    for one in calls {
        let (ok, at) = one.await.unwrap();
        done += usize::from(ok);
        assert!(!ok || at < gone + Duration::from_secs(1), "begun long after");
    }
    assert_eq!(world.acts("order"), done, "what was said to be done, and nothing else");
    assert!((100..1_000).contains(&done), "{done}");
    // Only those that had been recorded when permission went may still have acted.
    assert!(done <= before + 16, "{done} of which {before} before");
}

#[tokio::test]
async fn a_call_that_comes_late_does_not_run_in_the_next_turn() {
    let text = In::world(World::new(), Mode::Text).await;
    let (runtime, id) = (text.world.runtime.clone(), text.id.clone());
    // The turn ends and the next begins while the call is on its way.
    *text.world.script.meanwhile.lock() = Some(Box::new(move || {
        let ends = async move {
            runtime.message(&caller(), &id, json!("order a lamp")).await.unwrap();
            runtime.message(&caller(), &id, json!("something else")).await.unwrap();
            runtime.signal(&caller(), &id, Signal::TurnComplete).await.unwrap();
        };
        let next = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::thread::spawn(move || next.block_on(ends)).join().unwrap();
    }));
    let mut late: Call = text.call("order", "lamp");
    late.id = Some("c1".into());
    let refused = text.world.call(late.clone()).await;
    assert_eq!((kind(&refused), text.world.acts("order")), (ErrorKind::Superseded, 0));
    let session = text.world.runtime.session(&caller(), &text.id).await.unwrap();
    assert_eq!((session.turn.number, session.turn.calls), (2, 0), "it took nothing of the turn");
    // Made again in this turn it is a call of this turn.
    assert!(text.world.call(late).await.is_ok());
}

/// A call that was let run may wait long for a place; what was let run once may not be tried again.
#[tokio::test]
async fn nothing_is_begun_after_a_wait_under_rules_that_are_no_longer_in_force() {
    for tool in ["order", "find"] {
        for is_off in [true, false] {
            let world = World::new();
            let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            world.next(tool, Does::WaitsForAPlace(begun.clone(), go.clone()));
            let (runtime, waits) = (world.runtime.clone(), call(tool, "k"));
            let running = tokio::spawn(async move { runtime.invoke(waits).await });
            begun.notified().await;
            let name = if is_off { tool } else { "get" };
            activate(&world.runtime, name, false, Overrides::default());
            go.notify_one();
            let ended = running.await.unwrap();
            let expected = if is_off { (false, 0) } else { (true, 1) };
            assert_eq!((ended.is_ok(), world.acts(tool)), expected, "{tool}: {ended:?}");
        }
    }
}

/// Other rules come into force again and again while a call waits for a place: its time goes on.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_decided_anew_waits_no_longer_for_that() {
    for tool in ["order", "put", "find"] {
        let world = World::new();
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let most = Settings::default().default_timeout;
        // Of those that may be tried again each attempt waits so.
        for _ in 0..10 {
            world.next(tool, Does::WaitsForAPlace(begun.clone(), go.clone()));
        }
        let (runtime, waits) = (world.runtime.clone(), call(tool, "k"));
        let since = tokio::time::Instant::now();
        let running = tokio::spawn(async move { runtime.invoke(waits).await });
        let changes = async {
            loop {
                begun.notified().await;
                tokio::time::sleep(most * 2 / 5).await;
                activate(&world.runtime, "get", false, Overrides::default());
                go.notify_one();
            }
        };
        let ended = tokio::select! {
            ended = running => ended.unwrap(),
            () = changes => unreachable!(),
        };
        let attempts = if tool == "order" { 1 } else { 2 };
        let took = since.elapsed();
        assert!(took <= most * attempts + Duration::from_secs(1), "{tool}: {took:?}, {ended:?}");
        assert_eq!((ended.is_ok(), world.acts(tool)), (false, 0), "{tool}: {ended:?}");
    }
}

/// Makes a key of the store, or changes it.
async fn keep_key(runtime: &Runtime, from: u64) -> Edition {
    let change = Change {
        kind: Kind::Key,
        tenant: "default".into(),
        id: "k".into(),
        from,
        to: Some(json!({ "revoked": from > 0 })),
        by: Principal::user("boss"),
    };
    runtime.change(change).await.unwrap().entry.edition()
}

fn with(credential: Credential, mut call: Call) -> Call {
    call.caller.credential = Some(Arc::new(credential));
    call
}

fn kept(key: &Edition) -> Credential {
    Credential::Key { kept: Some(key.clone()), ends_at_ms: None }
}

#[tokio::test]
async fn nothing_is_begun_for_a_key_that_was_revoked_on_the_way() {
    let all = rules(&["shop__*"]);
    let replaced = Replaced::after(2, &all);
    let records = Records::of_one("default", "default");
    let world =
        World::with(all, |builder| builder.policy(replaced.clone()).records(records.clone()));
    let (runtime, key) = (world.runtime.clone(), keep_key(&world.runtime, 0).await);
    let version = key.version;
    *replaced.by.lock() = Some(Box::new(move || {
        let own = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let revokes = move || own.block_on(keep_key(&runtime, version)).version;
        assert_ne!(std::thread::spawn(revokes).join().unwrap(), version);
    }));
    // After the gate, and before it.
    for _ in 0..2 {
        let error = world.call(with(kept(&key), call("order", "k"))).await.result.unwrap_err();
        assert_eq!((error.kind, world.acts("order")), (ErrorKind::Denied, 0), "{error:?}");
        assert!(error.message.contains("has been revoked"), "{error:?}");
    }
    // Whoever came in otherwise goes on, and the key of the act is free.
    assert!(world.call(call("order", "k")).await.is_ok());
}

/// A call that was let in may wait long for a place, or be tried again much later.
#[tokio::test]
async fn nothing_is_begun_after_a_wait_for_whoever_is_not_let_in_any_more() {
    for tool in ["order", "put", "find"] {
        for (revoked, again) in [(true, true), (true, false), (false, true), (false, false)] {
            let records = Records::of_one("default", "default");
            let world = World::with(rules(&["shop__*"]), |builder| builder.records(records));
            let key = keep_key(&world.runtime, 0).await;
            let ends = Credential::Key { kept: None, ends_at_ms: Some(NOW + 1_000) };
            let credential = if revoked { kept(&key) } else { ends };
            let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
            let waits = match again {
                // Only the first attempt acts.
                true => Does::WaitsThen(begun.clone(), go.clone(), not_begun()),
                false => Does::WaitsForAPlace(begun.clone(), go.clone()),
            };
            world.next(tool, waits);
            let (runtime, made) = (world.runtime.clone(), with(credential, call(tool, "k")));
            let running = tokio::spawn(async move { runtime.invoke(made).await });
            begun.notified().await;
            match revoked {
                true => drop(keep_key(&world.runtime, key.version).await),
                false => world.clock.advance(1_000),
            }
            go.notify_one();
            let ended = running.await.unwrap();
            let expected = (ErrorKind::Denied, usize::from(again));
            let told = format!("{tool} {revoked} {again}: {ended:?}");
            assert_eq!((kind(&ended), world.acts(tool)), expected, "{told}");
        }
    }
}

/// Whoever waits for the call that runs waits as long as that does.
#[tokio::test]
async fn a_duplicate_whose_key_is_revoked_while_it_waits_is_told_nothing() {
    let records = Records::of_one("default", "default");
    let world = World::with(rules(&["shop__*"]), |builder| builder.records(records));
    let key = keep_key(&world.runtime, 0).await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.next("order", Does::Waits(begun.clone(), go.clone()));
    let world = Arc::new(world);
    let made = |call: Call| {
        let world = world.clone();
        tokio::spawn(async move { world.call(call).await })
    };
    let first = made(call("order", "k"));
    begun.notified().await;
    let second = made(with(kept(&key), call("order", "k")));
    // It has come to where it waits once nothing else is left to do.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    keep_key(&world.runtime, key.version).await;
    go.notify_one();
    assert!(first.await.unwrap().is_ok());
    let told = second.await.unwrap().result.unwrap_err();
    assert_eq!((told.kind, world.acts("order")), (ErrorKind::Denied, 1), "{told:?}");
}

#[tokio::test]
async fn a_handler_calls_no_tool_any_more_once_its_key_is_revoked() {
    let records = Records::of_one("default", "default");
    let world = World::with(rules(&["shop__*"]), |builder| builder.records(records));
    let key = keep_key(&world.runtime, 0).await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let orders = (Capability::CallTool, "order", json!({ "item": "lamp" }));
    world.next("relay", Does::WaitsThenUses(begun.clone(), go.clone(), orders));
    let world = Arc::new(world);
    let made = tokio::spawn({
        let (world, made) = (world.clone(), with(kept(&key), call("relay", "k")));
        async move { world.call(made).await }
    });
    begun.notified().await;
    keep_key(&world.runtime, key.version).await;
    go.notify_one();
    let ended = made.await.unwrap();
    assert_eq!((kind(&ended), world.acts("order")), (ErrorKind::Denied, 0), "{ended:?}");
}

#[tokio::test]
async fn nothing_is_begun_for_what_has_expired() {
    let world = World::new();
    let until = Credential::Key { kept: None, ends_at_ms: Some(NOW + 1_000) };
    let long_over = Credential::Token { last_s: 1 };
    let tried = async |credential: &Credential, key: &str| {
        let ended = world.call(with(credential.clone(), call("put", key))).await;
        ended.result.map_or_else(|error| error.kind.as_str(), |_| "ok")
    };
    assert_eq!(tried(&until, "a").await, "ok");
    assert_eq!(tried(&long_over, "b").await, "denied");
    world.clock.advance(1_000);
    assert_eq!(tried(&until, "c").await, "denied");
    assert_eq!(tried(&Credential::Token { last_s: u64::MAX }, "d").await, "ok");
    assert_eq!(world.acts("put"), 2);
}
