//! After the fact: probe, settle, undo, nested calls, batches, events.

use std::sync::Arc;

use haft_core::call::Keyed;
use haft_core::contract::Capability;
use haft_core::ledger::State;
use haft_core::port::{EffectFilter, Invoke as _, Ledger as _, Undo};
use haft_core::record::EventKind;
use haft_core::{Caller, ErrorKind, Principal};
use haft_runtime::batch::{Planned, Step};
use haft_runtime::effects::{Found, UndoTarget, UndoneStatus};
use serde_json::json;
use tokio::sync::Notify;

use super::world::{Does, World, call, caller, failed, kind, lost, tools_with};

fn operator() -> Caller {
    Caller { actor: Principal::user("mara"), ..caller() }
}

async fn state(world: &World, call: &str) -> State {
    world.store.effect("default", call).await.unwrap().state
}

/// A booking whose outcome nobody knows.
async fn unknown(world: &World) -> String {
    world.next("book", Does::ActsThen(lost()));
    world.call(call("book", "k")).await.meta.record_id.to_string()
}

#[tokio::test]
async fn a_probe_settles_what_was_unknown() {
    for (found, expected) in [(true, State::Happened), (false, State::NotHappened)] {
        let world = World::new();
        let id = unknown(&world).await;
        world.next("booked", Does::Returns(json!({ "found": found })));
        let probed = world.runtime.probe(&operator(), &id).await.unwrap();
        assert_eq!(probed.effect.state, expected);
        let again = world.call(call("book", "k")).await;
        assert_eq!(world.acts("book"), if found { 1 } else { 2 }, "{again:?}");
        if found {
            let error = again.result.unwrap_err();
            assert_eq!(error.kind, ErrorKind::ResultExpired);
            assert_eq!(error.message, "the call was carried out; what it answered is not known");
        }
        // Known is known.
        let twice = world.runtime.probe(&operator(), &id).await.unwrap_err();
        assert!(matches!(twice.kind, ErrorKind::Conflict | ErrorKind::NotFound), "{twice}");
    }
}

/// What a probe has not found may be on its way still.
#[tokio::test]
async fn a_no_counts_once_nothing_can_be_on_its_way_any_more() {
    for (declared, early_ms, wait_ms, said) in [
        (None, 17_500, 42_500, "probe again in 43 s"),
        (None, 0, 60_000, "probe again in 60 s"),
        (Some(5_000), 4_999, 1, "probe again in 1 s"),
    ] {
        let world = World::new();
        let runtime = world.with_tools(tools_with("book", |book| {
            book.contract.probe.as_mut().unwrap().settled_after_ms = declared;
        }));
        world.next("book", Does::ActsThen(lost()));
        let id = runtime.invoke(call("book", "k")).await.meta.record_id.to_string();
        world.clock.advance(early_ms);
        (0..3).for_each(|_| world.next("booked", Does::Returns(json!({ "found": false }))));
        let early = runtime.probe(&operator(), &id).await.unwrap_err();
        assert_eq!((early.kind, early.retryable), (ErrorKind::InFlight, true));
        assert!(early.message.starts_with("`booked` has not found it yet"), "{}", early.message);
        assert!(early.message.ends_with(said), "{}", early.message);
        assert_eq!(early.details.as_ref().unwrap()["retryAfterMs"], wait_ms);
        let undone = runtime.undo(&operator(), &UndoTarget::Call(id.clone())).await.unwrap();
        assert_eq!(undone[0].status, UndoneStatus::Unknown);
        assert!(undone[0].message.ends_with(said), "{}", undone[0].message);
        // The same key is not begun again meanwhile.
        assert_eq!(kind(&runtime.invoke(call("book", "k")).await), ErrorKind::UnknownOutcome);
        assert_eq!((state(&world, &id).await, world.acts("book")), (State::Unknown, 1));
        world.clock.advance(wait_ms);
        let probed = runtime.probe(&operator(), &id).await.unwrap();
        assert_eq!(probed.effect.state, State::NotHappened);
    }
}

/// A yes is one at any time, and a person decides when they like.
#[tokio::test]
async fn what_is_found_counts_at_once_and_so_does_what_a_person_says() {
    for (by_probe, expected) in [(true, State::Happened), (false, State::NotHappened)] {
        let world = World::new();
        let runtime = world.with_tools(tools_with("book", |book| {
            book.contract.probe.as_mut().unwrap().settled_after_ms = None;
        }));
        world.next("book", Does::ActsThen(lost()));
        let id = runtime.invoke(call("book", "k")).await.meta.record_id.to_string();
        world.next("booked", Does::Returns(json!({ "found": true })));
        let settled = match by_probe {
            true => runtime.probe(&operator(), &id).await.unwrap().effect,
            false => {
                let found = Found::bare(false);
                runtime.settle(&operator(), &id, found, "called them").await.unwrap()
            }
        };
        assert_eq!(settled.state, expected);
    }
}

#[tokio::test]
async fn a_person_settles_what_no_probe_can() {
    let world = World::new();
    world.next("order", Does::ActsThen(lost()));
    let id = world.call(call("order", "k")).await.meta.record_id.to_string();
    assert_eq!(world.runtime.probe(&operator(), &id).await.unwrap_err().kind, ErrorKind::NotFound);
    let settled = world
        .runtime
        .settle(&operator(), &id, Found::bare(false), "not in the books")
        .await
        .unwrap();
    assert_eq!(settled.state, State::NotHappened);
    assert_eq!(settled.resolution.unwrap().by, "user:mara");
    assert!(world.call(call("order", "k")).await.is_ok());
}

#[tokio::test]
async fn an_agent_neither_probes_nor_settles() {
    let world = World::new();
    let id = unknown(&world).await;
    world.next("booked", Does::Returns(json!({ "found": true })));
    assert_eq!(world.runtime.probe(&caller(), &id).await.unwrap_err().kind, ErrorKind::Denied);
    let settled = world.runtime.settle(&caller(), &id, Found::bare(true), "seen").await;
    assert_eq!(settled.unwrap_err().kind, ErrorKind::Denied);
    assert_eq!(state(&world, &id).await, State::Unknown);
    assert_eq!(world.acts("booked"), 0, "it was not asked");
}

#[tokio::test]
async fn whoever_settles_says_how_that_is_known() {
    let world = World::new();
    let id = unknown(&world).await;
    for note in ["", " \n\t", "\u{200b}\u{2060}"] {
        let refused = world.runtime.settle(&operator(), &id, Found::bare(true), note).await;
        let error = refused.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArguments, "{note:?}");
        assert_eq!(error.message, "the note is empty");
    }
    assert_eq!(state(&world, &id).await, State::Unknown);
}

/// What somebody is told to do works as it stands: all that it needs is in it, and nothing that the tool lacks.
#[tokio::test]
async fn what_is_advised_about_an_open_effect_can_be_done() {
    for (tool, has_probe) in [("book", true), ("order", false)] {
        let world = World::new();
        world.next(tool, Does::ActsThen(lost()));
        let id = world.call(call(tool, "k")).await.meta.record_id.to_string();
        let error = world.call(call(tool, "other")).await.result.unwrap_err();
        let told = &error.suggestion;
        let settle = format!("`haft effects settle {id} --happened yes|no --note TEXT`");
        assert!(told.contains(&settle), "{told}");
        assert_eq!(told.contains(&format!("`haft effects probe {id}`")), has_probe, "{told}");
    }
}

#[tokio::test]
async fn an_undoing_that_nobody_knows_of_names_what_can_be_done() {
    let world = World::new();
    let id = world.call(call("book", "k")).await.meta.record_id.to_string();
    // However often it is tried.
    (0..20).for_each(|_| world.next("unbook", Does::ActsThen(lost())));
    let undone = world.runtime.undo(&operator(), &UndoTarget::Call(id)).await.unwrap();
    let told = &undone[0].message;
    assert!(told.contains("--happened yes|no --note TEXT`, then undoes it again"), "{told}");
    assert!(!told.contains("haft effects probe"), "it declares no probe: {told}");
}

#[tokio::test]
async fn that_nobody_knows_is_said_once() {
    let world = World::new();
    let nested = json!({ "item": "lamp" });
    world.next("relay", Does::Uses(Capability::CallTool, "order", nested));
    world.next("order", Does::ActsThen(lost()));
    let error = world.call(call("relay", "k")).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::UnknownOutcome);
    assert_eq!(error.message.matches("nobody knows whether").count(), 1, "{}", error.message);
}

/// A loan whose outcome nobody knows; its answer would name what has to be given back.
async fn borrowed(world: &World) -> String {
    world.next("borrow", Does::ActsThen(lost()));
    world.call(call("borrow", "k")).await.meta.record_id.to_string()
}

/// What becomes of undoing a loan, and what was given back.
async fn given_back(world: &World, id: &str) -> (UndoneStatus, Vec<serde_json::Value>) {
    let undone = world.runtime.undo(&operator(), &UndoTarget::Call(id.to_owned())).await.unwrap();
    let acts = world.script.acts.lock();
    let back = acts.iter().filter(|(tool, _)| tool == "shop__unbook");
    (undone[0].status, back.map(|(_, arguments)| arguments["item"].clone()).collect())
}

#[tokio::test]
async fn what_a_probe_knows_of_the_answer_is_what_it_is_undone_with() {
    let world = World::new();
    let id = borrowed(&world).await;
    let says = json!({ "found": true, "lent": { "id": "h-7" } });
    world.next("booked", Does::Returns(says));
    let probed = world.runtime.probe(&operator(), &id).await.unwrap().effect;
    assert_eq!((probed.state, probed.result), (State::Happened, Some(json!({ "id": "h-7" }))));
    let again = world.call(call("borrow", "k")).await;
    assert_eq!((again.meta.cached, again.result.unwrap()), (true, json!({ "id": "h-7" })));
    assert_eq!(given_back(&world, &id).await, (UndoneStatus::Undone, vec![json!("h-7")]));
    assert_eq!(world.acts("borrow"), 1);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_left_out_and_can_be_said_later() {
    let world = World::new();
    let id = borrowed(&world).await;
    world.next("booked", Does::Returns(json!({ "found": true, "lent": { "id": 7 } })));
    let probed = world.runtime.probe(&operator(), &id).await.unwrap().effect;
    assert_eq!((probed.state, probed.result), (State::Happened, None));
    let note = probed.resolution.unwrap().note;
    assert!(note.contains("does not fit the tool's contract"), "{note}");
    assert_eq!(given_back(&world, &id).await, (UndoneStatus::CannotBeUndone, Vec::new()));

    let answered = |answer| Found::Happened { answer: Some(answer) };
    let wrong = answered(json!({ "id": 7 }));
    let refused = world.runtime.settle(&operator(), &id, wrong, "read").await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidArguments, "{refused}");
    let agent = caller();
    let right = answered(json!({ "id": "h-7" }));
    let refused = world.runtime.settle(&agent, &id, right.clone(), "read").await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Denied);
    world.runtime.settle(&operator(), &id, right.clone(), "read").await.unwrap();
    let twice = world.runtime.settle(&operator(), &id, right, "read").await.unwrap_err();
    assert_eq!(twice.kind, ErrorKind::Conflict, "what was said stays");
    assert_eq!(given_back(&world, &id).await, (UndoneStatus::Undone, vec![json!("h-7")]));
}

#[tokio::test]
async fn what_was_done_and_answered_nothing_of_use_is_undone_once_that_is_known() {
    let world = World::new();
    world.next("borrow", Does::Returns(json!({ "id": 7 })));
    let done = world.call(call("borrow", "k")).await;
    assert_eq!(kind(&done), ErrorKind::InvalidOutput);
    let id = done.meta.record_id.to_string();
    assert_eq!(given_back(&world, &id).await, (UndoneStatus::CannotBeUndone, Vec::new()));
    let answer = Found::Happened { answer: Some(json!({ "id": "h-7" })) };
    let settled = world.runtime.settle(&operator(), &id, answer, "in their list").await.unwrap();
    assert_eq!(settled.state, State::Succeeded);
    assert_eq!(given_back(&world, &id).await, (UndoneStatus::Undone, vec![json!("h-7")]));
}

#[tokio::test]
async fn whoever_repeats_what_was_undone_is_told_so() {
    let world = World::new();
    let first = world.call(call("book", "k")).await;
    let plain = world.call(call("book", "k")).await;
    assert_eq!((plain.meta.cached, plain.meta.warnings.len()), (true, 0));
    let target = UndoTarget::Call(first.meta.record_id.to_string());
    world.runtime.undo(&operator(), &target).await.unwrap();
    let again = world.call(call("book", "k")).await;
    assert_eq!(again.result, first.result);
    let codes: Vec<_> = again.meta.warnings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!((again.meta.cached, codes), (true, vec!["undone"]));
    assert_eq!(world.acts("book"), 1);
}

#[tokio::test]
async fn what_was_settled_as_done_and_undone_since_is_not_told_as_done() {
    let world = World::new();
    let id = unknown(&world).await;
    world.runtime.settle(&operator(), &id, Found::bare(true), "in their list").await.unwrap();
    let before = world.call(call("book", "k")).await.result.unwrap_err();
    assert!(before.suggestion.starts_with("it was done"), "{before:?}");
    let undone = world.runtime.undo(&operator(), &UndoTarget::Call(id)).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Undone);
    let again = world.call(call("book", "k")).await.result.unwrap_err();
    assert_eq!(again.kind, ErrorKind::ResultExpired);
    assert_eq!(again.message, "this was done, and has been undone since");
    assert!(!again.suggestion.contains("it was done"), "{again:?}");
}

#[tokio::test]
async fn what_does_no_harm_twice_is_undone_where_it_says_how() {
    let world = World::new();
    let done = world.call(call("reserve", "k")).await.meta.record_id.to_string();
    let target = UndoTarget::Call(done.clone());
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!((undone[0].status, world.acts("unbook")), (UndoneStatus::Undone, 1), "{undone:?}");
    assert_eq!(state(&world, &done).await, State::Compensated);
}

#[tokio::test]
async fn an_effect_names_the_call_that_undid_it() {
    let world = World::new();
    let undid = async |done: &str| {
        let effect = world.store.effect("default", done).await.unwrap();
        let by = effect.compensation_id.unwrap();
        let other = world.store.effect("default", &by).await.unwrap();
        assert_eq!(other.effect.compensates.as_deref(), Some(done));
        assert_eq!((&*other.effect.tool, other.state), ("shop__unbook", State::Succeeded));
        by
    };
    let done = world.call(call("book", "k")).await.meta.record_id.to_string();
    world.runtime.undo(&operator(), &UndoTarget::Call(done.clone())).await.unwrap();
    undid(&done).await;
    // A process undid the next one, and died before it could say so.
    let done = world.call(call("book", "k2")).await.meta.record_id.to_string();
    let mut undo = call("unbook", &format!("comp:{done}"));
    (undo.compensates, undo.keyed) = (Some(done.clone()), Keyed::Own);
    let question = world.call(undo.clone()).await.result.unwrap_err().details.clone().unwrap();
    let question = question["confirmation"]["id"].as_str().unwrap();
    world.runtime.confirm("default", question, true, &Principal::user("mara")).await.unwrap();
    let earlier = world.call(undo).await.meta.record_id.to_string();
    let by = "user:mara".to_owned();
    world.store.undo("default", &done, Undo::Begin { by }).await.unwrap();
    world.runtime.undo(&operator(), &UndoTarget::Call(done.clone())).await.unwrap();
    assert_eq!((undid(&done).await, world.acts("unbook")), (earlier, 2));
}

#[tokio::test]
async fn undoing_goes_backwards_and_once() {
    let world = World::new();
    let session = world.runtime.open(&caller(), haft_core::contract::Mode::Text).await.unwrap();
    for item in ["a", "b"] {
        let mut one = call("book", "k");
        (one.key, one.session) = (None, Some(session.id.clone()));
        one.arguments = json!({ "item": item }).into();
        assert!(world.call(one).await.is_ok());
        world.clock.advance(1);
    }
    let mut order = call("order", "k");
    (order.key, order.session) = (None, Some(session.id.clone()));
    world.call(order).await;
    let target = UndoTarget::TurnGroup(session.turn.group.clone());
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    let statuses: Vec<_> = undone.iter().map(|one| one.status).collect();
    assert_eq!(
        statuses,
        [UndoneStatus::CannotBeUndone, UndoneStatus::Undone, UndoneStatus::Undone],
        "{undone:?}"
    );
    let order: Vec<_> = world
        .script
        .acts
        .lock()
        .iter()
        .filter(|(tool, _)| tool == "shop__unbook")
        .map(|(_, arguments)| arguments["item"].clone())
        .collect();
    assert_eq!(order, [json!("b"), json!("a")]);
    let again = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!(again[1].status, UndoneStatus::AlreadyUndone);
    assert_eq!(world.acts("unbook"), 2);
}

#[tokio::test]
async fn what_is_unknown_is_probed_before_it_is_undone() {
    let world = World::new();
    let id = unknown(&world).await;
    let target = UndoTarget::Call(id.clone());
    // The probe cannot tell: nothing is undone blindly.
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Unknown);
    assert_eq!(world.acts("unbook"), 0);
    world.next("booked", Does::Returns(json!({ "found": true })));
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Undone);
    assert_eq!(state(&world, &id).await, State::Compensated);
}

#[tokio::test]
async fn an_undoing_that_somebody_says_has_happened_has() {
    // Whether it did, and how often it is done after that.
    for (happened, times) in [(true, 0), (false, 1)] {
        let world = World::new();
        let id = world.call(call("rent", "k")).await.meta.record_id.to_string();
        let target = UndoTarget::Call(id.clone());
        for _ in 0..60 {
            world.next("unrent", Does::ActsThen(lost()));
        }
        let undone = world.runtime.undo(&operator(), &target).await.unwrap();
        assert_eq!(undone[0].status, UndoneStatus::Stuck);
        let acts = world.acts("unrent");
        world.script.forget("unrent");
        let filter = EffectFilter {
            tenant: "default".into(),
            tool: Some("shop__unrent".into()),
            limit: 1,
            ..EffectFilter::default()
        };
        let undoing = world.store.effects(filter).await.unwrap().remove(0);
        assert_eq!(undoing.state, State::Unknown);
        let (call, note) = (&undoing.effect.call, "on the phone");
        world.runtime.settle(&operator(), call, Found::bare(happened), note).await.unwrap();
        let undone = world.runtime.undo(&operator(), &target).await.unwrap();
        assert_eq!(undone[0].status, UndoneStatus::Undone, "{undone:?}");
        let now = (state(&world, &id).await, world.acts("unrent") - acts);
        assert_eq!(now, (State::Compensated, times));
    }
}

#[tokio::test]
async fn undoing_that_fails_is_stuck_and_can_be_tried_again() {
    let world = World::new();
    let id = world.call(call("book", "k")).await.meta.record_id.to_string();
    world.next("unbook", Does::Ends(failed(ErrorKind::Permanent)));
    let target = UndoTarget::Call(id.clone());
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Stuck);
    assert_eq!(state(&world, &id).await, State::Stuck);
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Undone, "{undone:?}");
}

#[tokio::test]
async fn tools_that_call_tools_go_the_same_way() {
    let world = World::new();
    let uses = |tool| Does::Uses(Capability::CallTool, tool, json!({ "item": "lamp" }));
    world.next("relay", uses("order"));
    let answer = world.call(call("relay", "k")).await.result.unwrap();
    assert_eq!(answer["got"]["did"]["item"], "lamp");
    // Run again under the same key it repeats nothing.
    assert!(world.call(call("relay", "k")).await.meta.cached);
    assert_eq!(world.acts("order"), 1);
    // A tool that only reads does not write through another.
    world.next("compute", uses("order"));
    assert_eq!(kind(&world.call(call("compute", "k")).await), ErrorKind::Denied);
    // Nor does a tool call itself, or what it was called by.
    world.next("compute", uses("compute"));
    assert_eq!(kind(&world.call(call("compute", "k")).await), ErrorKind::Denied);
    // Nor are they called through more of them than the settings allow.
    let through = |tools: usize| {
        let mut call = call("order", &format!("through-{tools}"));
        call.through = (0..tools).map(|n| format!("shop__t{n}").into()).collect();
        call
    };
    assert_eq!(kind(&world.call(through(5)).await), ErrorKind::Denied);
    assert_eq!(world.acts("order"), 1);
    assert!(world.call(through(4)).await.is_ok());
    assert_eq!(world.acts("order"), 2);
}

#[tokio::test]
async fn a_capability_that_the_contract_does_not_list_is_out_of_reach() {
    let world = World::new();
    world.next("find", Does::Uses(Capability::Moderation, "block", json!({ "seconds": 60 })));
    assert_eq!(kind(&world.call(call("find", "k")).await), ErrorKind::Internal);
}

#[tokio::test]
async fn a_batch_stops_at_a_critical_failure() {
    let world = World::new();
    world.next("get", Does::Ends(failed(ErrorKind::Permanent)));
    let mut optional = Planned::from(call("get", "1"));
    optional.critical = false;
    let steps = vec![
        optional,
        call("order", "2").into(),
        call("odrer", "3").into(),
        call("order", "4").into(),
    ];
    let ended = world.runtime.batch(steps).await.unwrap();
    let ok: Vec<_> = ended
        .iter()
        .map(|step| match step {
            Step::Ended(envelope) => Some(envelope.is_ok()),
            Step::Skipped => None,
        })
        .collect();
    assert_eq!(ok, [Some(false), Some(true), Some(false), None]);
    let many = vec![Planned::from(call("get", "k")); 11];
    assert_eq!(world.runtime.batch(many).await.unwrap_err().kind, ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn events_tell_the_story_in_order() {
    let world = World::new();
    world.call(call("order", "k")).await;
    let kinds: Vec<_> = world.heard.0.lock().iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            EventKind::ToolCallStart,
            EventKind::ToolSideEffectStarted,
            EventKind::ToolSideEffectCompleted,
            EventKind::ToolCallResult,
        ]
    );
    let calls: std::collections::HashSet<_> =
        world.heard.0.lock().iter().map(|event| event.call.clone()).collect();
    assert_eq!(calls.len(), 1);
    let filter = EffectFilter { tenant: "default".into(), ..EffectFilter::default() };
    assert_eq!(world.store.effects(filter).await.unwrap().len(), 1);
}

/// What was said of effects: the call, its state and who says so.
fn said(world: &World) -> Vec<(String, serde_json::Value, serde_json::Value)> {
    let heard = world.heard.0.lock();
    let changes = heard.iter().filter(|event| event.kind == EventKind::EffectChanged);
    changes
        .map(|event| {
            let payload = &event.payload;
            (event.call.clone(), payload["state"].clone(), payload["by"].clone())
        })
        .collect()
}

#[tokio::test]
async fn whoever_watches_hears_what_becomes_of_an_effect_after_the_fact() {
    let world = World::new();
    let id = unknown(&world).await;
    world.runtime.settle(&operator(), &id, Found::bare(true), "it is in the books").await.unwrap();
    world.next("unbook", Does::Ends(failed(ErrorKind::Permanent)));
    let target = UndoTarget::Call(id.clone());
    let undone = world.runtime.undo(&operator(), &target).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Stuck);
    assert!(world.runtime.undo(&operator(), &target).await.unwrap()[0].message.contains("undone"));
    let by = json!("user:mara");
    let expected = [
        (id.clone(), json!("unknown"), json!(null)),
        (id.clone(), json!("happened"), by.clone()),
        (id.clone(), json!("stuck"), by.clone()),
        (id, json!("compensated"), by),
    ];
    assert_eq!(said(&world), expected);
    let seen = format!("{:?}", world.heard.0.lock());
    assert!(!seen.contains("in the books"), "notes are in the trail alone");
}

#[tokio::test]
async fn effects_that_a_process_left_are_announced_when_they_are_taken_over() {
    let world = World::new();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.next("order", Does::Waits(begun.clone(), go));
    // A second process on the same store dies while its handler runs.
    let gone = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let twin = world.twin();
    gone.spawn(async move { twin.invoke(call("order", "k")).await });
    begun.notified().await;
    gone.shutdown_background();
    world.left().await;
    let left = world.runtime.tend().await.unwrap();
    assert_eq!(left.len(), 1);
    let id = left[0].effect.call.clone();
    assert_eq!(said(&world), [(id, json!("unknown"), json!(null))]);
}

#[tokio::test]
async fn that_a_handler_wrote_a_note_is_an_event_and_what_it_says_is_not() {
    let world = World::new();
    world.next("relay", Does::Uses(Capability::Audit, "log", json!({ "seen": "the-note" })));
    assert!(world.call(call("relay", "k")).await.is_ok());
    let heard = world.heard.0.lock();
    let notes: Vec<_> = heard.iter().filter(|one| one.kind == EventKind::AuditNote).collect();
    assert_eq!((notes.len(), notes[0].tool.as_str()), (1, "shop__relay"));
    assert!(!format!("{notes:?}").contains("the-note"));
}
