//! What is done about effects is done whatever their agent and their user may do, and within what
//! their tenant may.

use haft_core::contract::{Argument, Capability, Mode, SideEffectPolicy};
use haft_core::ledger::State;
use haft_core::port::{
    ConfirmationFilter, Confirmations as _, EffectFilter, Ended, Ledger as _, Sessions as _,
};
use haft_core::{Caller, ErrorKind, Principal, Registry};
use haft_runtime::effects::{Found, UndoTarget, Undone, UndoneStatus};
use haft_runtime::policy::{Policy, Rules, Source};
use haft_runtime::toolbox::{Agent, Records};
use serde_json::json;

use super::world::{Does, World, call, caller, kind, lost, tools, tools_with};

fn operator() -> Caller {
    Caller { actor: Principal::user("mara"), ..caller() }
}

fn rules() -> Rules {
    Rules { allow: vec!["shop__*".into()], ..Rules::default() }
}

/// An agent that may rent, and nothing about it: neither undo it nor look.
fn world() -> World {
    let mut records = Records::of_one("default", "default");
    let tools = ["rent", "book", "relay"].map(|one| format!("shop__{one}")).to_vec();
    let agent = Agent { tools: Some(tools), ..records.agents.remove(0) };
    records.agents.push(agent);
    World::with(rules(), |builder| builder.records(records))
}

async fn rented(world: &World, mode: Mode) -> String {
    let mut rent = call("rent", "k");
    rent.mode = mode;
    rent.arguments = json!({ "item": "lamp", "count": 5 }).into();
    world.call(rent).await.meta.record_id.to_string()
}

async fn undone(world: &World, effect: &str) -> Undone {
    let target = UndoTarget::Call(effect.to_owned());
    world.runtime.undo(&operator(), &target).await.unwrap().remove(0)
}

#[tokio::test]
async fn what_an_agent_did_is_looked_into_and_undone_with_tools_that_it_does_not_have() {
    for mode in [Mode::Text, Mode::Voice] {
        let world = world();
        assert_eq!(kind(&world.call(call("unrent", "x")).await), ErrorKind::Unavailable);
        world.next("rent", Does::ActsThen(lost()));
        let effect = rented(&world, mode).await;
        world.next("rented", Does::Returns(json!({ "found": true })));
        // The handler of the compensation reaches what it needs as well.
        world.next("unrent", Does::Uses(Capability::CallTool, "get", json!({ "item": "lamp" })));
        let undone = undone(&world, &effect).await;
        assert_eq!(undone.status, UndoneStatus::Undone, "{mode:?}: {undone:?}");
        assert_eq!((world.acts("rented"), world.acts("get")), (1, 1), "{mode:?}");
        assert_eq!(kind(&world.call(call("get", "x")).await), ErrorKind::Unavailable);
    }
}

#[tokio::test]
async fn nothing_is_reduced_and_nobody_hurries_when_something_is_undone() {
    let world = World::new();
    let mut book = call("book", "k");
    book.mode = Mode::Voice;
    let effect = world.call(book).await.meta.record_id.to_string();
    assert_eq!(undone(&world, &effect).await.status, UndoneStatus::Undone);
    let effect = world.store.effect("default", &effect).await.unwrap();
    let undid = world.store.effect("default", &effect.compensation_id.unwrap()).await.unwrap();
    assert_eq!((effect.effect.mode, undid.effect.mode), (Mode::Voice, Mode::Text));
}

#[tokio::test]
async fn whoever_undoes_approves_whatever_is_asked_for_that() {
    let world = world();
    // A compensation that asks, and that the agent does not have.
    let effect = world.call(call("book", "k")).await.meta.record_id.to_string();
    let told = undone(&world, &effect).await;
    assert_eq!((told.status, world.acts("unbook")), (UndoneStatus::Undone, 1), "{told:?}");
    // One whose handler calls it.
    let effect = rented(&world, Mode::Text).await;
    let unbook = || json!({ "item": "lamp" });
    world.next("unrent", Does::LetsPass(vec![("unbook", unbook())]));
    world.next("unrent", Does::Uses(Capability::CallTool, "unbook", unbook()));
    let told = undone(&world, &effect).await;
    assert_eq!((told.status, world.acts("unbook")), (UndoneStatus::Undone, 2), "{told:?}");
}

/// A contract's own condition says when a model may wish for its tool.
#[tokio::test]
async fn what_was_done_is_undone_whenever_a_model_may_do_so() {
    let world = World::new();
    for tool in ["unlease", "leased"] {
        let denied = kind(&world.call(call(tool, "x")).await);
        assert!(matches!(denied, ErrorKind::Denied | ErrorKind::Unavailable), "{tool}: {denied:?}");
    }
    world.next("lease", Does::ActsThen(lost()));
    let effect = world.call(call("lease", "k")).await.meta.record_id.to_string();
    world.next("leased", Does::Returns(json!({ "found": true })));
    let undone = undone(&world, &effect).await;
    assert_eq!(undone.status, UndoneStatus::Undone, "{undone:?}");
    assert_eq!((world.acts("leased"), world.acts("unlease")), (1, 1));
    // That it was done for this is not remembered for whoever asks otherwise.
    for tool in ["unlease", "leased"] {
        let denied = kind(&world.call(call(tool, "y")).await);
        assert!(matches!(denied, ErrorKind::Denied | ErrorKind::Unavailable), "{tool}: {denied:?}");
    }
}

/// Contracts change; what happened is looked into and undone as the one said under which it happened.
#[tokio::test]
async fn what_was_done_is_judged_by_the_contract_of_then() {
    let changes: [(&str, Registry); 2] = [
        (
            "other ways",
            tools_with("rent", |rent| {
                let contract = &mut rent.contract;
                contract.probe.as_mut().unwrap().tool = "get".into();
                let value = json!("something else");
                let undo = contract.compensation.as_mut().unwrap();
                undo.arguments = [("item".to_owned(), Argument::Value { value })].into();
            }),
        ),
        (
            "none",
            tools_with("rent", |rent| {
                (rent.contract.probe, rent.contract.compensation) = (None, None);
                rent.contract.side_effect_policy = SideEffectPolicy::Irreversible;
            }),
        ),
    ];
    for (what, changed) in changes {
        let world = World::new();
        world.next("rent", Does::ActsThen(lost()));
        let effect = rented(&world, Mode::Text).await;
        let later = world.with_tools(changed);
        world.next("get", Does::Returns(json!({ "found": false })));
        world.next("rented", Does::Returns(json!({ "found": true })));
        let undone = later.undo(&operator(), &UndoTarget::Call(effect)).await.unwrap().remove(0);
        assert_eq!(undone.status, UndoneStatus::Undone, "{what}: {undone:?}");
        assert_eq!((world.acts("rented"), world.acts("get")), (1, 0), "{what}");
        let undid = world.script.acts.lock().last().unwrap().clone();
        assert_eq!(
            undid,
            ("shop__unrent".to_owned(), json!({ "item": "lamp", "count": 5 })),
            "{what}"
        );
    }
}

/// An earlier version of haft has not written down what the contract said.
#[tokio::test]
async fn what_a_contract_said_that_nobody_has_is_not_guessed() {
    let world = World::new();
    world.next("rent", Does::ActsThen(lost()));
    let effect = rented(&world, Mode::Text).await;
    let mut record = world.store.effect("default", &effect).await.unwrap();
    record.effect.after = None;
    assert_eq!(world.runtime.after(&record).await.unwrap().probe.unwrap().tool, "rented");
    let later = world.with_tools(tools_with("rent", |rent| rent.doc = "another".into()));
    assert_eq!(later.after(&record).await, None);
}

#[tokio::test]
async fn what_a_blocked_user_did_is_undone() {
    let world = world();
    let effect = rented(&world, Mode::Text).await;
    let block = json!({ "seconds": 60, "reason": "spam" });
    world.next("relay", Does::Uses(Capability::Moderation, "block", block));
    assert!(world.call(call("relay", "b")).await.is_ok());
    assert_eq!(kind(&world.call(call("rent", "c")).await), ErrorKind::Blocked);
    world.next("unrent", Does::Uses(Capability::CallTool, "get", json!({ "item": "lamp" })));
    let undone = undone(&world, &effect).await;
    assert_eq!((undone.status, world.acts("get")), (UndoneStatus::Undone, 1), "{undone:?}");
    assert_eq!(kind(&world.call(call("rent", "c")).await), ErrorKind::Blocked);
}

#[tokio::test]
async fn what_policy_denies_is_not_done_to_undo_something_either() {
    let world = world();
    let effect = rented(&world, Mode::Text).await;
    let govern = |rules: Rules| {
        let source = Source { rules: rules.clone(), ..Source::default() };
        let policy = Policy::load(&source, &[&tools()]).unwrap();
        world.runtime.govern(std::sync::Arc::new(policy), rules);
    };
    govern(Rules { deny: vec!["shop__unrent".into()], ..rules() });
    assert_eq!(undone(&world, &effect).await.status, UndoneStatus::Stuck);
    assert_eq!(world.acts("unrent"), 0);
    govern(rules());
    assert_eq!(undone(&world, &effect).await.status, UndoneStatus::Undone);
}

#[tokio::test]
async fn nobody_can_take_the_key_of_an_undoing() {
    let world = World::new();
    let effect = rented(&world, Mode::Text).await;
    let mut squat = call("unrent", &format!("comp:{effect}"));
    squat.arguments = json!({ "item": "lamp", "count": 5 }).into();
    assert!(world.call(squat).await.is_ok());
    let undone = undone(&world, &effect).await;
    assert_eq!((undone.status, world.acts("unrent")), (UndoneStatus::Undone, 2), "{undone:?}");
    let effect = world.store.effect("default", &effect).await.unwrap();
    assert_eq!(effect.state, State::Compensated);
}

#[tokio::test]
async fn nobody_can_take_the_key_of_a_nested_call() {
    let world = World::new();
    let nested = || Does::Uses(Capability::CallTool, "order", json!({ "item": "lamp" }));
    // What the key is called is no secret: the ledger of a runtime with the same tools tells.
    world.next("relay", nested());
    assert!(world.call(call("relay", "a")).await.is_ok());
    let parent = world.script.keys.lock().first().cloned().flatten().unwrap();
    // Providers are sent it with a word for this life of the key behind it.
    let (parent, _) = parent.rsplit_once('-').unwrap();
    let digest = haft_core::Digest::of_json(&json!([parent, "order", { "item": "lamp" }]));
    let world = World::new();
    let mut squat = call("order", &format!("nested-{}-1", digest.hex()));
    squat.arguments = json!({ "item": "chair" }).into();
    assert!(world.call(squat).await.is_ok());
    world.next("relay", nested());
    let relayed = world.call(call("relay", "a")).await;
    assert!(relayed.is_ok(), "{relayed:?}");
    assert_eq!(world.acts("order"), 2);
}

/// The compensation of what a handler did as a whole takes back what it did on the way.
#[tokio::test]
async fn what_a_handler_did_is_undone_once_with_the_whole() {
    let lamp = || json!({ "item": "lamp" });
    for whole_only in [true, false] {
        let world = World::new();
        let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
        let mut furnish = call("furnish", "k");
        (furnish.key, furnish.session) = (None, Some(session.id));
        world.next("furnish", Does::Uses(Capability::CallTool, "rent", lamp()));
        let effect = world.call(furnish).await.meta.record_id.to_string();
        let whole = world.store.effect("default", &effect).await.unwrap();
        let filter = EffectFilter {
            tenant: "default".into(),
            tool: Some("shop__rent".into()),
            limit: 9,
            ..EffectFilter::default()
        };
        let part = world.store.effects(filter).await.unwrap().remove(0).effect;
        assert_eq!(
            (part.within.as_ref(), &part.turn_group),
            (Some(&effect), &whole.effect.turn_group)
        );
        let alone = undone(&world, &part.call).await;
        assert_eq!(alone.status, UndoneStatus::CannotBeUndone, "{alone:?}");
        world.next("unfurnish", Does::Uses(Capability::CallTool, "unrent", lamp()));
        let target = match whole_only {
            true => UndoTarget::Call(effect),
            false => UndoTarget::TurnGroup(whole.effect.turn_group.unwrap()),
        };
        let all = world.runtime.undo(&operator(), &target).await.unwrap();
        let status = |one: &Undone| one.status;
        let expected = [UndoneStatus::Undone, UndoneStatus::AlreadyUndone];
        let expected = expected.get(..if whole_only { 1 } else { 2 }).unwrap();
        assert_eq!(all.iter().map(status).collect::<Vec<_>>(), expected, "{all:?}");
        assert_eq!(undone(&world, &part.call).await.status, UndoneStatus::AlreadyUndone);
        assert_eq!(world.acts("unrent"), 1);
    }
}

#[tokio::test]
async fn a_long_chain_is_undone_to_its_end() {
    let world = World::new();
    let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
    for n in 0..620 {
        let mut rent = call("rent", "k");
        (rent.key, rent.session) = (None, Some(session.id.clone()));
        rent.arguments = json!({ "item": format!("lamp {n}") }).into();
        assert!(world.call(rent).await.is_ok());
    }
    let session = world.store.session("default", &session.id).await.unwrap();
    let target = UndoTarget::TurnGroup(session.turn.group);
    let all = world.runtime.undo(&operator(), &target).await.unwrap();
    assert!(all.iter().all(|one| one.status == UndoneStatus::Undone));
    assert_eq!((all.len(), world.acts("unrent")), (620, 620));
}

/// An agent cannot keep what it did from being undone by asking much.
#[tokio::test]
async fn questions_that_wait_are_in_the_way_of_no_undoing() {
    let world = World::new();
    let effect = world.call(call("book", "k")).await.meta.record_id.to_string();
    let mut asked = 0;
    for n in 0..100 {
        let mut gift = call("gift", &format!("g{n}"));
        gift.arguments = json!({ "item": format!("{n}") }).into();
        asked += usize::from(kind(&world.call(gift).await) == ErrorKind::ConfirmationRequired);
    }
    assert!(asked < 100, "there is no bound");
    assert_eq!(undone(&world, &effect).await.status, UndoneStatus::Undone);
}

/// An answer that a compensation is made from is there for as long as the effect can be undone.
#[tokio::test]
async fn what_is_undone_with_its_answer_keeps_it() {
    for reads in [true, false] {
        let world = World::new();
        let from = if reads { "/result/did/item" } else { "/arguments/item" };
        let changed = tools_with("rent", |rent| {
            let item = Argument::From { from: from.into() };
            let undo = rent.contract.compensation.as_mut().unwrap();
            undo.arguments = [("item".to_owned(), item)].into();
        });
        world.runtime.load(changed).unwrap();
        let effect = rented(&world, Mode::Text).await;
        world.clock.advance(2 * 24 * 60 * 60 * 1000);
        world.store.purge().await.unwrap();
        let kept = world.store.effect("default", &effect).await.unwrap();
        assert_eq!(kept.result.is_some(), reads, "{from}");
        assert_eq!(undone(&world, &effect).await.status, UndoneStatus::Undone, "{from}");
        let undid = world.script.acts.lock().last().unwrap().clone();
        assert_eq!(undid.1["item"], "lamp", "{from}");
    }
}

/// What nobody can approve any more, and what somebody else waits for, takes no room.
#[tokio::test]
async fn only_questions_that_can_be_answered_take_room() {
    let world = World::new();
    let ask = async |by: &Caller, n: usize| {
        let mut gift = call("gift", &format!("g{n}"));
        gift.caller = by.clone();
        gift.arguments = json!({ "item": format!("{n}") }).into();
        kind(&world.call(gift).await)
    };
    let full = async |by: &Caller| {
        let mut n = 0;
        while ask(by, n).await == ErrorKind::ConfirmationRequired {
            n += 1;
            assert!(n < 100, "there is no bound");
        }
    };
    full(&caller()).await;
    let other = Caller { actor: Principal::user("ann"), ..caller() };
    assert_eq!(ask(&other, 200).await, ErrorKind::ConfirmationRequired, "somebody else");
    let rules = Rules { deny: vec!["shop__order".into()], ..rules() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    let policy = Policy::load(&source, &[&tools()]).unwrap();
    world.runtime.govern(std::sync::Arc::new(policy), rules);
    assert_eq!(ask(&caller(), 300).await, ErrorKind::ConfirmationRequired, "under other rules");
}

/// An approval of the compensation is not theirs to give.
#[tokio::test]
async fn whoever_caused_an_effect_has_somebody_else_undo_it() {
    let world = World::new();
    let mut book = call("book", "k");
    book.caller = operator();
    let effect = world.call(book).await.meta.record_id.to_string();
    let told = undone(&world, &effect).await;
    assert_eq!((told.status, world.acts("unbook")), (UndoneStatus::Stuck, 0));
    assert!(told.message.contains("somebody else has to undo it"), "{told:?}");
    let other = Caller { actor: Principal::user("ines"), ..caller() };
    let all = world.runtime.undo(&other, &UndoTarget::Call(effect)).await.unwrap();
    assert_eq!((all[0].status, world.acts("unbook")), (UndoneStatus::Undone, 1), "{all:?}");
}

#[tokio::test]
async fn what_a_handler_did_is_undone_with_a_call_that_nothing_undoes_as_a_whole() {
    let world = World::new();
    let makes = |tool| (Capability::CallTool, tool, json!({ "item": "lamp" }));
    let ended = Ended::Returned { data: json!({}), intents: Vec::new() };
    world.next("relay", Does::UsesAll(vec![makes("book"), makes("order")], ended));
    let whole = world.call(call("relay", "k")).await.meta.record_id.to_string();
    // Nobody's part, though it came later.
    world.call(call("book", "another")).await;
    let target = UndoTarget::Call(whole.clone());
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    let told: Vec<_> = undone.iter().map(|one| (one.tool.as_str(), one.status)).collect();
    let (undone, cannot) = (UndoneStatus::Undone, UndoneStatus::CannotBeUndone);
    let expected = [("shop__order", cannot), ("shop__book", undone), ("shop__relay", cannot)];
    assert_eq!((told.as_slice(), world.acts("unbook")), (expected.as_slice(), 1));
    let again = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!(again[1].status, UndoneStatus::AlreadyUndone, "{again:?}");
    assert_eq!(world.acts("unbook"), 1);
}

/// An approval that undoing gives is for that: no agent takes it, and what an agent was denied is in nobody's way.
#[tokio::test]
async fn what_is_approved_to_undo_something_is_approved_for_nothing_else() {
    for answer in [None, Some(false)] {
        let world = World::new();
        let effect = world.call(call("book", "k")).await.meta.record_id.to_string();
        // The agent asks for the very same by itself.
        let asked = world.call(call("unbook", "own")).await;
        assert_eq!(kind(&asked), ErrorKind::ConfirmationRequired);
        let filter =
            ConfirmationFilter { tenant: "default".into(), ..ConfirmationFilter::default() };
        let open = world.store.confirmations(filter).await.unwrap();
        if let Some(approve) = answer {
            world.store.decide("default", &open[0].id, approve, &operator().actor).await.unwrap();
        }
        let told = undone(&world, &effect).await;
        assert_eq!((told.status, world.acts("unbook")), (UndoneStatus::Undone, 1), "{told:?}");
        let again = kind(&world.call(call("unbook", "own")).await);
        let refused = match answer {
            None => ErrorKind::ConfirmationRequired,
            Some(_) => ErrorKind::ConfirmationRefused,
        };
        assert_eq!((again, world.acts("unbook")), (refused, 1));
    }
}

/// A handler that is run again is not told that what was taken back meanwhile is done.
#[tokio::test]
async fn what_was_undone_is_not_done_for_a_handler() {
    let world = World::new();
    let makes = |ended| {
        let books = (Capability::CallTool, "book", json!({ "item": "lamp" }));
        Does::UsesAll(vec![books], ended)
    };
    world.next("relay", makes(lost()));
    let whole = world.call(call("relay", "k")).await;
    assert_eq!(kind(&whole), ErrorKind::UnknownOutcome);
    let filter = EffectFilter {
        tenant: "default".into(),
        tool: Some("shop__book".into()),
        ..EffectFilter::default()
    };
    let part = world.store.effects(filter).await.unwrap().remove(0).effect.call;
    assert_eq!(undone(&world, &part).await.status, UndoneStatus::Undone);
    let whole = whole.meta.record_id.to_string();
    world.runtime.settle(&operator(), &whole, Found::DidNotHappen, "asked").await.unwrap();
    world.next("relay", Does::Uses(Capability::CallTool, "book", json!({ "item": "lamp" })));
    let again = world.call(call("relay", "k")).await.result.unwrap_err();
    assert!(again.message.contains("has been undone since"), "{again:?}");
    assert_eq!(world.acts("book"), 1);
}
