//! What is on record of a call that did not end well, in words: nothing that redaction hides.

use std::sync::Arc;

use haft_core::call::RawArguments;
use haft_core::contract::{Capability, Mode};
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

fn with(card: &str) -> serde_json::Value {
    json!({ "item": "lamp", "secret": card })
}

fn says(kind: ErrorKind, words: &str) -> Ended {
    Ended::Failed(ToolError::new(kind, words))
}

/// What others see of a call whose handler has called tools that hide a card.
async fn relayed(world: &World, tool: &str, does: Does, expected: &str) {
    world.next(tool, does);
    let answer = told(world.call(call(tool, "k")).await);
    assert!(answer.contains("4111"), "the caller is told: {answer}");
    let (message, all) = seen(world).await;
    assert_eq!(message, expected, "{tool}");
    assert!(!all.contains("4111-") && !all.contains("41111111"), "{all}");
}

#[tokio::test]
async fn what_a_called_tool_hides_its_caller_does_not_tell_others() {
    for tool in ["relay", "compute"] {
        let passes = || Does::LetsPass(vec![("find", with(CARD))]);
        let world = World::new();
        world.next("find", fails());
        relayed(&world, tool, passes(), "no account for lamp with card [redacted]").await;

        // In words of its own, of what the other said or of what it was called with.
        let ends = |words: &str| {
            let ended = says(ErrorKind::NotFound, words);
            Does::UsesThenEnds(Capability::CallTool, "find", with(CARD), ended)
        };
        let world = World::new();
        world.next("find", fails());
        let words = format!("cannot pay: no account for lamp with card {CARD}; 4111-1111…");
        let expected = "cannot pay: no account for lamp with card [redacted]; [redacted]";
        relayed(&world, tool, ends(&words), expected).await;
        relayed(&World::new(), tool, ends(&format!("{CARD} is lost")), "[redacted] is lost").await;
    }
}

#[tokio::test]
async fn what_does_not_fit_a_called_tool_is_not_quoted_either() {
    let world = World::new();
    let wrong = json!({ "item": "lamp", "count": 4_111_111_111_111_111_117_i64 });
    let expected = "the arguments do not fit the tool's parameters: integer_rounded at `/count`; maximum at `/count`";
    relayed(&world, "relay", Does::LetsPass(vec![("order", wrong)]), expected).await;
}

#[tokio::test]
async fn what_is_hidden_two_calls_further_down_stays_so() {
    let world = World::new();
    world.next("find", fails());
    world.next("again", Does::LetsPass(vec![("find", with(CARD))]));
    let words = format!("card {CARD}, says the shop");
    let nested = (Capability::CallTool, "again", json!({ "item": "lamp" }));
    let ended = says(ErrorKind::NotFound, &words);
    let does = Does::UsesThenEnds(nested.0, nested.1, nested.2, ended);
    relayed(&world, "relay", does, "card [redacted], says the shop").await;
}

#[tokio::test]
async fn a_doubt_about_a_called_tool_quotes_nothing() {
    let world = World::new();
    let broke = ToolError::new(ErrorKind::Transient, format!("no answer about {CARD}"));
    world.next("order", Does::ActsThen(Ended::Lost(broke)));
    let expected = "nobody knows whether this was done: no answer about [redacted]";
    relayed(&world, "relay", Does::LetsPass(vec![("order", with(CARD))]), expected).await;
}

#[tokio::test]
async fn more_than_is_remembered_is_withheld() {
    let world = World::new();
    let cards: Vec<String> = (0..65).map(|n| format!("{CARD}-{n}")).collect();
    for card in &cards {
        let words = format!("no account for card {card}");
        world.next("find", Does::Ends(says(ErrorKind::NotFound, &words)));
    }
    let all = cards.iter().map(|card| ("find", with(card))).collect();
    let expected =
        "the tool's words are withheld: they may quote what the tools that it called hide";
    relayed(&world, "relay", Does::LetsPass(all), expected).await;
}

#[tokio::test]
async fn a_kept_error_of_a_tool_that_calls_others_is_withheld() {
    let world = World::new();
    let unusable = Ended::Unusable(ToolError::new(ErrorKind::InvalidOutput, format!("{CARD}?")));
    world.next("relay", Does::UsesThenEnds(Capability::CallTool, "find", with(CARD), unusable));
    let first = told(world.call(call("relay", "k")).await);
    let again = world.call(call("relay", "k")).await;
    assert!(again.meta.cached);
    assert_eq!(told(again), first);
    let (message, all) = seen(&world).await;
    assert!(message.starts_with("the tool's words are withheld"), "{message}");
    assert!(!all.contains(CARD), "{all}");
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
