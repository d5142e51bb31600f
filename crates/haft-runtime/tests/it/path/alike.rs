//! A model that got no answer asks again, in nearly the same words and under a new key.

use std::sync::Arc;

use haft_core::contract::{Capability, Contract, Gateway, Mode};
use haft_core::ledger::State;
use haft_core::port::{Boxed, EffectFilter, Invoke as _, Ledger as _, Provide, Scope};
use haft_core::registry::{Entry, Implementation, Registry};
use haft_core::{Call, Digest, ErrorKind, ToolError};
use haft_runtime::effects::{Found, UndoTarget, UndoneStatus};
use haft_runtime::policy::Rules;
use serde_json::{Value, json};

use super::gate::foreseen;
use super::world::{Does, World, call, caller, kind, lost, tools, tools_with};
use crate::policy::world::registry;

fn asking(tool: &str, key: &str, arguments: &Value) -> Call {
    let mut call = call(tool, key);
    call.arguments = arguments.clone().into();
    call
}

/// After the first call nobody knows; then the second comes under a key of its own.
async fn check(tool: &str, first: Value, second: Value, same_act: bool) {
    let world = World::new();
    world.next(tool, Does::ActsThen(lost()));
    let unknown = world.call(asking(tool, "k1", &first)).await;
    assert_eq!(kind(&unknown), ErrorKind::UnknownOutcome);
    let open = unknown.meta.record_id.to_string();
    let would_run = foreseen(&world, asking(tool, "k2", &second)).await.0;
    assert_eq!(would_run, !same_act, "{first} {second}: a dry run says so too");
    let again = world.call(asking(tool, "k2", &second)).await;
    if !same_act {
        assert!(again.is_ok(), "{first} {second}: {again:?}");
        return;
    }
    let error = again.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::UnknownOutcome, "{first} {second}");
    assert_eq!(error.details.as_ref().unwrap()["call"], open, "which one is open");
    let advice = &error.suggestion;
    for way in [format!("settle {open} --happened"), "`despite_unknown`".to_owned()] {
        assert!(advice.contains(&way), "{advice}");
    }
    assert!(error.partial_side_effects && !error.retryable, "{error:?}");
    assert_eq!(world.acts(tool), 1, "{first} {second}");
}

#[tokio::test]
async fn nearly_the_same_is_the_same_act_while_nobody_knows() {
    let lamp = || json!({ "item": "lamp" });
    for tool in ["order", "book"] {
        for near in [
            json!({ "item": " lamp" }),
            json!({ "item": "Lamp\n" }),
            json!({ "item": "lamp", "count": 1 }),
            json!({ "item": "la\u{200b}mp" }),
            json!({ "item": "lamp", "secret": "" }),
        ] {
            check(tool, lamp(), near, true).await;
        }
        for other in [
            json!({ "item": "lamps" }),
            json!({ "item": "la mp" }),
            json!({ "item": "lamp", "count": 2 }),
            json!({ "item": "lamp", "secret": "x" }),
        ] {
            check(tool, lamp(), other, false).await;
        }
    }
    // Where the contract says which fields make the act, the others do not.
    check("charge", lamp(), json!({ "item": "LAMP", "count": 7, "secret": "x" }), true).await;
    check("charge", lamp(), json!({ "item": "desk" }), false).await;
    let order = |number: u32, sku: &str| json!({ "order": { "number": number, "lines": [{ "sku": sku }] } });
    check("ship", order(1, "a"), order(1, "A "), true).await;
    check("ship", order(1, "a"), order(2, "a"), false).await;
    check("ship", order(1, "a"), order(1, "b"), false).await;
    // A call that has none of them is told apart by all that it says.
    let note = |text: &str| json!({ "order": { "note": text } });
    check("ship", note("a"), note("A "), true).await;
    check("ship", note("a"), note("b"), false).await;
}

#[tokio::test]
async fn what_does_no_harm_twice_is_not_held_back() {
    let world = World::new();
    // The first attempt and its retry.
    world.next("put", Does::ActsThen(lost()));
    world.next("put", Does::ActsThen(lost()));
    assert_eq!(kind(&world.call(call("put", "k1")).await), ErrorKind::UnknownOutcome);
    assert!(world.call(asking("put", "k2", &json!({ "item": "Lamp" }))).await.is_ok());
}

/// A provider that goes by the key would do it once more under another.
#[tokio::test]
async fn what_its_provider_knows_by_its_key_is_held_back_under_another() {
    let header = json!({ "kind": "http", "method": "POST", "url": "https://pay.example/charges",
                         "idempotencyHeader": "Idempotency-Key" });
    let header: Gateway = serde_json::from_value(header).unwrap();
    let changes: [fn(&mut Contract, Gateway); 2] = [
        |contract, header| contract.gateway = Some(header),
        |contract, _| contract.limits.provider_key_window_ms = Some(3_600_000),
    ];
    for change in changes {
        let world = World::new();
        let tools = tools_with("put", |put| change(&mut put.contract, header.clone()));
        let runtime = world.with_tools(tools);
        // The first attempt and its retry.
        (0..2).for_each(|_| world.next("put", Does::ActsThen(lost())));
        let first = runtime.invoke(call("put", "k1")).await;
        assert_eq!(kind(&first), ErrorKind::UnknownOutcome);
        let near = || asking("put", "k2", &json!({ "item": "Lamp" }));
        let mut dry = near();
        dry.dry_run = true;
        let foreseen = runtime.invoke(dry).await.result.unwrap();
        assert_eq!(foreseen["wouldRun"], false, "{foreseen}");
        let held = runtime.invoke(near()).await.result.unwrap_err();
        assert_eq!(held.kind, ErrorKind::UnknownOutcome);
        assert_eq!(held.details.as_ref().unwrap()["call"], *first.meta.record_id);
        assert!(
            held.suggestion.contains("under the key that it had it may be sent again"),
            "{held:?}"
        );
        assert_eq!(world.acts("put"), 2);
        assert!(runtime.invoke(call("put", "k1")).await.is_ok());
        assert!(runtime.invoke(near()).await.is_ok(), "it is known by now");
    }
}

#[tokio::test]
async fn once_it_is_known_the_next_one_is_done() {
    let world = World::new();
    world.next("order", Does::ActsThen(lost()));
    let open = world.call(call("order", "k1")).await.meta.record_id.to_string();
    let near = |key: &str| asking("order", key, &json!({ "item": "LAMP" }));
    assert_eq!(kind(&world.call(near("k2")).await), ErrorKind::UnknownOutcome);
    // Knowingly, or after somebody has looked.
    let mut knowing = near("k2");
    knowing.overrule.similar_unknown = true;
    assert!(world.call(knowing).await.is_ok());
    assert_eq!(kind(&world.call(near("k3")).await), ErrorKind::UnknownOutcome);
    let settled =
        world.runtime.settle(&super::faults::operator(), &open, Found::bare(true), "seen").await;
    assert_eq!(settled.unwrap().state, State::Happened);
    assert!(world.call(near("k3")).await.is_ok());
    assert_eq!(world.acts("order"), 3);
    assert_eq!(world.store.effect("default", &open).await.unwrap().state, State::Happened);
}

/// Contracts change: what an act goes by, and what is left out of it as a default, is that of the day.
#[tokio::test]
async fn the_same_is_the_same_act_under_another_contract_too() {
    let default = |count: Value| {
        tools_with("order", move |order| {
            order.contract.parameters["properties"]["count"]["default"] = count;
        })
    };
    let fields = tools_with("order", |order| {
        order.contract.idempotency_key_fields = Some(vec!["count".into()]);
    });
    let whole = || json!({ "item": "lamp", "count": 1 });
    for (changed, first, second, same_act) in [
        (default(json!(2)), whole(), whole(), true),
        (default(json!(2)), json!({ "item": "lamp" }), whole(), true),
        (default(json!(2)), whole(), json!({ "item": "lamp", "count": 3 }), false),
        (fields.clone(), whole(), whole(), true),
        (fields, whole(), json!({ "item": "sofa", "count": 7 }), false),
    ] {
        let world = World::new();
        world.next("order", Does::ActsThen(lost()));
        let unknown = world.call(asking("order", "k1", &first)).await;
        assert_eq!(kind(&unknown), ErrorKind::UnknownOutcome);
        let later = world.with_tools(changed);
        let mut dry = asking("order", "k2", &second);
        dry.dry_run = true;
        let foreseen = later.invoke(dry).await.result.unwrap();
        assert_eq!(foreseen["wouldRun"], !same_act, "{first} {second}");
        let again = later.invoke(asking("order", "k2", &second)).await;
        match same_act {
            true => assert_eq!(kind(&again), ErrorKind::UnknownOutcome, "{first} {second}"),
            false => assert!(again.is_ok(), "{first} {second}: {again:?}"),
        }
        assert_eq!(world.acts("order"), if same_act { 1 } else { 2 }, "{first} {second}");
    }
}

/// What runs as a program of its own learns of no connection that its contract does not ask for.
fn program() -> Implementation {
    Implementation::Process { file: "handler".to_owned(), digest: Digest::of_bytes(b"") }
}

/// The same tools, of which some are programs.
fn programs(names: &[&str]) -> Registry {
    let mut all = tools().tools;
    for tool in all.iter_mut().filter(|tool| names.contains(&&*tool.contract.tool_id)) {
        tool.handler = program();
        tool.digest = Entry::seal(tool).digest;
    }
    registry("shop", all)
}

fn through(mut call: Call, connection: &str) -> Call {
    call.connection = Some(connection.to_owned());
    call.connections = vec![connection.to_owned()];
    call
}

/// A tool that uses no connection does the same with any.
#[tokio::test]
async fn a_connection_that_a_tool_does_not_use_makes_no_other_act() {
    let world = World::new();
    world.runtime.load(programs(&["order", "put"])).unwrap();
    world.next("order", Does::ActsThen(lost()));
    assert_eq!(kind(&world.call(call("order", "k1")).await), ErrorKind::UnknownOutcome);
    for key in ["k1", "k2"] {
        let refused = world.call(through(call("order", key), "foo")).await;
        assert_eq!(kind(&refused), ErrorKind::UnknownOutcome, "{key}: {refused:?}");
        assert!(!foreseen(&world, through(call("order", key), "foo")).await.0, "{key}");
    }
    assert_eq!(world.acts("order"), 1);
    // Nor under a key that stands for what was done.
    let done = world.call(call("put", "k3")).await;
    let again = world.call(through(call("put", "k3"), "foo")).await;
    assert_eq!((again.meta.cached, again.result, world.acts("put")), (true, done.result, 1));
}

/// The provider of a program that embeds haft, which is told the name of the connection.
struct Accounts;

impl Provide for Accounts {
    fn provide<'a>(
        &'a self,
        scope: &'a Scope,
        _: &'a str,
        _: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async { Ok(json!(scope.connection)) })
    }

    fn writes(&self, _: &str) -> bool {
        true
    }
}

#[tokio::test]
async fn to_a_program_s_own_code_another_connection_is_another_act() {
    let rules = || Rules { allow: vec!["shop__*".into()], ..Rules::default() };
    let own =
        World::with(rules(), |builder| builder.provide(Capability::Calendar, Arc::new(Accounts)));
    let by_provider = tools_with("order", |order| {
        order.handler = program();
        order.contract.capabilities = vec![Capability::Calendar];
    });
    own.runtime.load(by_provider).unwrap();
    for (world, provided) in [(World::new(), false), (own, true)] {
        let session = world.runtime.open(&caller(), Mode::Text).await.unwrap().id;
        for account in ["acct-a", "acct-b", "acct-a"] {
            let uses = Does::Uses(Capability::Calendar, "book", json!({}));
            if provided {
                world.next("order", uses);
            }
            let mut call = through(call("order", ""), account);
            (call.key, call.session) = (None, Some(session.clone()));
            let done = world.call(call).await.result.unwrap();
            assert!(!provided || done == json!({ "got": account }), "{done}");
        }
        let all = EffectFilter { tenant: "default".into(), ..EffectFilter::default() };
        assert_eq!(world.store.effects(all).await.unwrap().len(), 2, "{provided}");
    }
}

/// A tool may need none itself and be undone by one that does.
#[tokio::test]
async fn what_was_called_through_a_connection_is_undone_through_it() {
    let world = World::new();
    world.runtime.load(programs(&["rent", "unrent"])).unwrap();
    let rented = world.call(through(call("rent", "k"), "acct")).await.meta.record_id;
    let operator = super::faults::operator();
    let undone =
        world.runtime.undo(&operator, &UndoTarget::Call(rented.to_string())).await.unwrap();
    assert_eq!(undone[0].status, UndoneStatus::Undone, "{undone:?}");
    let rented = world.store.effect("default", &rented).await.unwrap();
    let by = world.store.effect("default", &rented.compensation_id.unwrap()).await.unwrap();
    assert_eq!(by.effect.connection.as_deref(), Some("acct"));
}

/// What was begun while its tool used no connection, whichever was named.
#[tokio::test]
async fn what_was_begun_through_no_connection_is_not_begun_again_through_one() {
    let world = World::new();
    world.runtime.load(programs(&["order"])).unwrap();
    world.next("order", Does::ActsThen(lost()));
    let by = |key: &str| through(call("order", key), "foo");
    assert_eq!(kind(&world.call(by("k1")).await), ErrorKind::UnknownOutcome);
    // To a native function the connection makes a difference.
    let now = world.with_tools(tools());
    assert_eq!(kind(&now.invoke(by("k2")).await), ErrorKind::UnknownOutcome);
    assert_eq!(world.acts("order"), 1);
}
