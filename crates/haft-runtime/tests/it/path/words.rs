//! What is on record of a call that did not end well, in words: nothing that redaction hides.

use std::sync::Arc;

use haft_core::call::RawArguments;
use haft_core::contract::Mode;
use haft_core::ledger::State;
use haft_core::port::{CallFilter, Ended, Journal as _, Ledger as _};
use haft_core::record::EventKind;
use haft_core::{Call, Caller, Envelope, ErrorKind, Principal, ToolError};
use haft_runtime::effects::{UndoTarget, UndoneStatus};
use serde_json::json;
use tokio::sync::Notify;

use super::sessions::In;
use super::world::{Does, World, call, caller, kind};

const CARD: &str = "4111-1111-1111-1111";

fn fails() -> Does {
    let words = format!("no account for lamp with card {CARD}");
    Does::Ends(Ended::Failed(ToolError::new(ErrorKind::NotFound, words)))
}

/// Everything that anybody but the caller can read.
async fn seen(world: &World) -> (String, String) {
    let filter = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    let calls = world.store.calls(filter).await.unwrap();
    let message = calls.first().and_then(|call| call.message.clone()).unwrap_or_default();
    let trail = world.store.audit(0, 100).await.unwrap();
    let events = world.heard.0.lock().clone();
    (message, format!("{calls:?} {trail:?} {events:?}"))
}

fn told(envelope: Envelope) -> String {
    envelope.result.unwrap_err().into_fault().message
}

fn with_card(tool: &str) -> Call {
    let mut call = call(tool, "k");
    call.arguments = json!({ "item": "lamp", "secret": CARD }).into();
    call
}

#[tokio::test]
async fn what_a_handler_quotes_is_told_to_its_caller_alone() {
    for tool in ["find", "order"] {
        let world = World::new();
        world.next(tool, fails());
        let answer = told(world.call(with_card(tool)).await);
        assert!(answer.contains(CARD), "the caller knows it: {answer}");
        let (message, all) = seen(&world).await;
        assert_eq!(message, "no account for lamp with card [redacted]", "{tool}");
        assert!(!all.contains(CARD), "{all}");
    }
}

#[tokio::test]
async fn why_an_effect_is_stuck_quotes_nothing_on_record() {
    let world = World::new();
    let id = world.call(with_card("hire")).await.meta.record_id.to_string();
    world.next("unbook", fails());
    let by = Caller { actor: Principal::user("mara"), ..caller() };
    let undone = world.runtime.undo(&by, &UndoTarget::Call(id.clone())).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Stuck, "{undone:?}");
    let stuck = world.store.effect("default", &id).await.unwrap().compensation_result;
    let why = "undoing it failed: no account for lamp with card [redacted]";
    assert_eq!(stuck, Some(json!({ "stuck": why })));
    let (_, all) = seen(&world).await;
    assert!(!all.contains(CARD), "{all}");
}

#[tokio::test]
async fn an_answer_that_was_kept_is_no_way_around_it() {
    let text = In::mode(Mode::Text).await;
    text.world.next("find", fails());
    let again = || {
        let mut call = with_card("find");
        (call.key, call.id, call.session) = (None, Some("c1".into()), Some(text.id.clone()));
        call
    };
    let first = told(text.world.call(again()).await);
    let second = text.world.call(again()).await;
    assert!(second.meta.cached);
    assert_eq!(told(second), first);
    let (_, all) = seen(&text.world).await;
    assert!(!all.contains(CARD), "{all}");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_not_quoted() {
    let refused = |arguments: RawArguments| async move {
        let world = World::new();
        let mut call = call("order", "k");
        call.arguments = arguments;
        let answer = world.call(call).await;
        assert_eq!(kind(&answer), ErrorKind::InvalidArguments);
        let (message, all) = seen(&world).await;
        assert!(!all.contains("4111") && !all.contains("mara@"), "{all}");
        (told(answer), message)
    };
    let (told, message) =
        refused(json!({ "item": "x", "count": 4_111_111_111_111_111_117_i64 }).into()).await;
    assert!(told.contains("4111111111111111117"), "{told}");
    assert!(message.contains(" at `/count`"), "{message}");
    let (_, message) = refused(json!({ "item": "x", "mara@example.org": 1 }).into()).await;
    assert!(message.ends_with("parameters: unknown_parameter at `/*`"), "{message}");
    let (_, message) = refused("{\"item\": 4111 4111}".into()).await;
    assert!(message.starts_with("the arguments cannot be read: "), "{message}");
}

#[tokio::test]
async fn what_was_done_stays_done_although_its_answer_is_of_no_use() {
    let world = World::new();
    let unusable = ToolError::new(ErrorKind::InvalidOutput, "the answer has 3000000 bytes");
    world.next("order", Does::ActsThen(Ended::Unusable(unusable)));
    let first = world.call(call("order", "k")).await;
    let error = first.result.unwrap_err();
    assert_eq!(
        (error.kind, error.details.clone()),
        (ErrorKind::InvalidOutput, Some(json!({ "done": true })))
    );
    let record = world.store.effect("default", &first.meta.record_id).await.unwrap();
    assert_eq!(record.state, State::Succeeded);
    assert!(world.call(call("order", "k")).await.meta.cached);
    assert_eq!(world.acts("order"), 1);
}

#[tokio::test]
async fn a_read_whose_caller_goes_away_is_on_record() {
    let world = World::new();
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    world.next("find", Does::Waits(begun.clone(), go));
    tokio::select! {
        _ = world.call(call("find", "k")) => panic!("it waits"),
        () = begun.notified() => {}
    }
    let filter = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    let calls = world.store.calls(filter).await.unwrap();
    let ends: Vec<_> = calls.iter().map(|call| (call.error, &*call.tool, call.attempts)).collect();
    assert_eq!(ends, [(Some(ErrorKind::Cancelled), "shop__find", 1)]);
    let kinds: Vec<_> = world.heard.0.lock().iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::ToolCallStart, EventKind::ToolCallResult]);
}
