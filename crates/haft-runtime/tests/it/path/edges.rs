//! The edges: of an approval's time, of what is kept, of what a key may be, and of what a call may
//! say about itself.

use std::collections::HashSet;
use std::sync::Arc;

use haft_core::call::{Principal, RawArguments};
use haft_core::port::{Invoke as _, Ledger as _};
use haft_core::registry::Registry;
use haft_core::{Call, ErrorKind};
use haft_runtime::Runtime;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::confirm::{approve, asked};
use super::faulty::Faulty;
use super::world::{World, call, kind};
use crate::policy::world::{registry, tool};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn approved(token: &str) -> Call {
    let mut call = call("gift", "k");
    call.confirmation = Some(token.to_owned());
    call
}

#[tokio::test]
async fn an_approval_holds_up_to_its_last_millisecond_and_not_in_the_next() {
    // How late it is used, with a token or without one, and whether that is in time.
    for (late, handed, in_time) in [
        (15 * MINUTE - 1, true, true),
        (15 * MINUTE - 1, false, true),
        (15 * MINUTE, true, false),
        (15 * MINUTE, false, false),
        (15 * MINUTE + 1, true, false),
    ] {
        let world = World::new();
        let id = asked(&world.call(call("gift", "k")).await);
        let token = approve(&world.runtime, &id).await;
        world.clock.advance(late);
        let used = if handed { approved(&token) } else { call("gift", "k") };
        // Whichever process it is: the time is the store's.
        let told = world.twin().invoke(used).await;
        assert_eq!(told.is_ok(), in_time, "{late} {handed}: {told:?}");
        assert_eq!(world.acts("gift"), usize::from(in_time), "{late} {handed}");
    }
}

#[tokio::test]
async fn an_approval_that_ends_before_the_claim_begins_nothing() {
    for (late, acts) in [(1, 0), (0, 1)] {
        let world = World::new();
        let store = Faulty::on(world.store.clone());
        let runtime = world.on(store.clone());
        let id = asked(&runtime.invoke(call("gift", "k")).await);
        let token = approve(&runtime, &id).await;
        world.clock.advance(15 * MINUTE - 1);
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        *store.held.lock() = Some((begun.clone(), go.clone()));
        let used = tokio::spawn(async move { runtime.invoke(approved(&token)).await });
        // It was in time when it was looked at, and is on its way into the ledger.
        begun.notified().await;
        world.clock.advance(late);
        go.notify_one();
        let told = used.await.unwrap();
        assert_eq!((told.is_ok(), world.acts("gift")), (acts == 1, acts), "{late}: {told:?}");
    }
}

#[tokio::test]
async fn nobody_approves_what_nobody_can_use_any_more() {
    let world = World::new();
    let ids = [
        asked(&world.call(call("gift", "k")).await),
        asked(
            &world.call(Call { arguments: json!({"item": "b"}).into(), ..call("gift", "l") }).await,
        ),
    ];
    let mara = Principal::user("mara");
    world.clock.advance(15 * MINUTE - 1);
    assert!(world.runtime.confirm("default", &ids[0], true, &mara).await.is_ok());
    world.clock.advance(1);
    assert!(world.runtime.confirm("default", &ids[1], true, &mara).await.is_err());
}

#[tokio::test]
async fn answers_and_keys_are_kept_to_their_last_millisecond() {
    // The tool, how long its answer and its key are kept.
    for (tool, answer, key) in
        [("order", DAY, 30 * DAY), ("book", DAY, 30 * DAY), ("put", DAY, DAY)]
    {
        // How much later it is asked again, what it is told, and how often it was done.
        for (later, told, acts) in [
            (answer - 1, None, 1),
            (answer.min(key - 1), (answer < key).then_some(ErrorKind::ResultExpired), 1),
            (key - 1, (answer < key).then_some(ErrorKind::ResultExpired), 1),
            (key, None, 2),
        ] {
            let world = World::new();
            assert!(world.call(call(tool, "k")).await.is_ok());
            world.clock.advance(later);
            world.store.purge().await.unwrap();
            let again = world.call(call(tool, "k")).await;
            assert_eq!(again.result.as_ref().err().map(|error| error.kind), told, "{tool} {later}");
            assert_eq!(world.acts(tool), acts, "{tool} {later}");
        }
    }
}

/// The tool that is approved, and what it may become meanwhile.
fn gift(more: &Value) -> Registry {
    let mut contract = json!({
        "category": "action", "sideEffects": "writes", "effect": "state_change",
        "sideEffectPolicy": "irreversible", "idempotent": false, "requiresConfirmation": true,
        "arguments": {"mode": "strict", "fraction": "refuse"},
        "parameters": {"type": "object", "additionalProperties": false, "required": ["item"],
                       "properties": {"item": {"type": "string"}}},
    });
    contract.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    registry("shop", vec![tool("shop__gift", contract)])
}

#[tokio::test]
async fn an_approval_is_for_the_tool_as_it_was() {
    let gateway = |url: &str| json!({"gateway": {"kind": "http", "method": "POST", "url": url}});
    let schema = json!({"parameters": {"type": "object", "additionalProperties": false,
        "required": ["item"], "properties": {"item": {"type": "string"},
                                             "copy_to": {"type": "string", "default": "eve"}}}});
    for (before, after, still) in [
        (json!({}), json!({}), true),
        (json!({}), json!({"description": "Gives more."}), false),
        (json!({}), json!({"version": "1.0.1"}), false),
        (json!({}), schema, false),
        (json!({}), json!({"requiresConfirmation": {"when": "true"}}), false),
        (gateway("https://a.example/gifts"), gateway("https://b.example/gifts"), false),
    ] {
        let world = World::new();
        let first: Runtime = world.with_tools(gift(&before));
        let id = asked(&first.invoke(call("gift", "k")).await);
        let token = approve(&first, &id).await;
        let second = world.with_tools(gift(&after));
        let told = second.invoke(approved(&token)).await;
        assert_eq!(told.is_ok(), still, "{after}: {told:?}");
        if !still {
            assert_eq!(kind(&told), ErrorKind::ConfirmationRefused, "{after}");
            // Nor is it found without its token; and it is not burnt for what it was given for.
            assert_eq!(
                kind(&second.invoke(call("gift", "k")).await),
                ErrorKind::ConfirmationRequired
            );
            assert_eq!(world.acts("gift"), 0, "{after}");
            assert!(first.invoke(approved(&token)).await.is_ok(), "{after}");
        }
        assert_eq!(world.acts("gift"), 1, "{after}");
    }
}

#[tokio::test]
async fn keys_are_short_visible_ascii_and_no_two_are_one() {
    let world = World::new();
    let long = "x".repeat(4096);
    for wrong in ["", " ", "a b", "a\nb", "a\rb", "a\tb", "\0", "a\0", "\u{7f}", "é", "🔑", &long]
    {
        let refused = world.call(call("order", wrong)).await.result.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::InvalidArguments, "{wrong:?}");
        assert!(refused.message.contains("1 to 255"), "{}", refused.message);
        assert!(!refused.message.contains("xxx"), "nothing of it is repeated");
    }
    let longest = "x".repeat(255);
    let keys = ["a", "A", "a:b", "a::b", "b:a", "a/b", "\"a\"", "a,1", "[\"a\"]", "a\\", &longest];
    for key in keys {
        assert!(!world.call(call("order", key)).await.meta.cached, "{key}");
        assert!(world.call(call("order", key)).await.meta.cached, "{key}");
    }
    let provider: HashSet<_> = world.script.keys.lock().iter().cloned().collect();
    assert_eq!((world.acts("order"), provider.len()), (keys.len(), keys.len()));
}

#[tokio::test]
async fn no_argument_chooses_the_connection() {
    for name in
        ["connectionId", "connection_id", "connection", "connectionID", "_meta", "haft/connection"]
    {
        for arguments in [
            json!({ "item": "lamp", name: "conn_of_others" }),
            json!({ "item": "lamp", name: { "connectionId": "conn_of_others" } }),
            json!({ "item": { name: "conn_of_others" } }),
        ] {
            for came in [arguments.clone().into(), RawArguments::Text(arguments.to_string())] {
                for tool in ["order", "find"] {
                    let world = World::new();
                    let told =
                        world.call(Call { arguments: came.clone(), ..call(tool, "k") }).await;
                    assert_eq!(kind(&told), ErrorKind::InvalidArguments, "{tool} {arguments}");
                    assert!(world.script.keys.lock().is_empty(), "{tool} {arguments}: it ran");
                }
            }
        }
    }
}
