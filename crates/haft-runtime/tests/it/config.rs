//! What is declared and what is stored, together: who is stopped when something does not fit, and
//! who is not.

use haft_core::config::{Change, Kind};
use haft_core::port::Configs as _;
use haft_core::{Call, Caller, ErrorKind, Principal};
use haft_runtime::config::{ChangeError, activation_id};
use haft_runtime::policy::{Rules, Source};
use haft_runtime::toolbox::Records;
use serde_json::{Value, json};

use crate::path::world::{World, kind};

/// Two tenants with one agent each, and rules that can be made anew.
fn world() -> World {
    let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    World::with(rules, |builder| {
        let mut records = Records::of_one("ours", "helper");
        let theirs = Records::of_one("theirs", "spy");
        records.tenants.extend(theirs.tenants);
        records.agents.extend(theirs.agents);
        builder.records(records).source(source)
    })
}

fn change(kind: Kind, id: &str, from: u64, to: Value) -> Change {
    let (tenant, id, by) = ("ours".to_owned(), id.to_owned(), Principal::user("boss"));
    Change { kind, tenant, id, from, to: Some(to), by }
}

/// How a call of `get` ends for an agent.
async fn get(world: &World, tenant: &str, agent: &str) -> Result<(), ErrorKind> {
    let call = Call::new(Caller::agent(tenant, agent), "get", json!({"item": "lamp"}));
    let envelope = world.call(call).await;
    if envelope.is_ok() { Ok(()) } else { Err(kind(&envelope)) }
}

#[tokio::test]
async fn a_tenant_whose_things_do_not_fit_is_stopped_alone() {
    let forbid = r#"forbid (principal, action == Haft::Action::"shop__gone", resource);"#;
    for (kind, id, body) in [
        // Nobody can write these through the front door: a newer haft or a removed tool can.
        (Kind::Policy, "p", json!({"cedar": forbid})),
        (Kind::Policy, "p", json!({"from_the_future": true})),
        (Kind::Activation, "helper/shop__get", json!({"enabled": "perhaps"})),
        (
            Kind::Activation,
            "helper/shop__gift",
            json!({"enabled": true, "overrides": {"requires_confirmation": false}}),
        ),
    ] {
        let world = world();
        assert_eq!(get(&world, "ours", "helper").await, Ok(()));
        world.store.change(change(kind, id, 0, body.clone())).await.unwrap();
        assert!(world.runtime.refresh().await.unwrap());
        assert!(!world.runtime.configured().problems.is_empty(), "{body}");
        assert!(get(&world, "ours", "helper").await.is_err(), "{body}");
        assert_eq!(get(&world, "theirs", "spy").await, Ok(()), "{body}");
        // Mended, it goes on.
        let mended = Change { to: None, ..change(kind, id, 1, json!(null)) };
        world.runtime.change(mended).await.unwrap();
        assert_eq!(get(&world, "ours", "helper").await, Ok(()), "{body}");
    }
}

#[tokio::test]
async fn what_belongs_to_nothing_does_nothing() {
    let world = world();
    let gone = activation_id("helper", "shop__gone");
    world
        .store
        .change(change(Kind::Activation, &gone, 0, json!({"enabled": false})))
        .await
        .unwrap();
    let nobody = activation_id("nobody", "shop__get");
    world
        .store
        .change(change(Kind::Activation, &nobody, 0, json!({"enabled": false})))
        .await
        .unwrap();
    let mut stray = change(Kind::Agent, "lost", 0, json!({}));
    stray.tenant = "nowhere".into();
    world.store.change(stray).await.unwrap();
    world.runtime.refresh().await.unwrap();
    assert_eq!(get(&world, "ours", "helper").await, Ok(()));
    assert!(!world.runtime.has_agent("nowhere", "lost"));
    let said: Vec<_> =
        world.runtime.configured().problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
}

#[tokio::test]
async fn what_is_declared_counts_whatever_is_stored() {
    let world = world();
    let shadow = json!({"tools": []});
    world.store.change(change(Kind::Agent, "helper", 0, shadow.clone())).await.unwrap();
    world.runtime.refresh().await.unwrap();
    assert_eq!(get(&world, "ours", "helper").await, Ok(()));
    let refused = world.runtime.change(change(Kind::Agent, "helper", 1, shadow)).await;
    assert_eq!(refused, Err(ChangeError::Declared));
}

/// As those do that are declared.
#[tokio::test]
async fn a_stored_agent_has_connections_of_its_own() {
    let world = world();
    let body = json!({"connections": {"github": "work"}});
    world.runtime.change(change(Kind::Agent, "night", 0, body)).await.unwrap();
    let configured = world.runtime.configured();
    let night = configured.records.agents.iter().find(|one| one.id == "night").unwrap();
    assert_eq!(night.connections.get("github").map(String::as_str), Some("work"));
    let nameless = json!({"connections": {"github": ""}});
    let refused = world.runtime.change(change(Kind::Agent, "dawn", 0, nameless)).await;
    assert!(matches!(refused, Err(ChangeError::Invalid(_))), "{refused:?}");
}

#[tokio::test]
async fn two_who_change_the_same_do_not_overwrite_each_other() {
    let world = world();
    let one = world.runtime.change(change(Kind::Agent, "night", 0, json!({}))).await.unwrap();
    assert_eq!(one.entry.version, 1);
    let late = world.runtime.change(change(Kind::Agent, "night", 0, json!({}))).await;
    assert_eq!(late, Err(ChangeError::Stale));
    let none = world.runtime.change(change(Kind::Agent, "dawn", 3, json!({}))).await;
    assert_eq!(none, Err(ChangeError::Missing));
}

#[tokio::test]
async fn nothing_is_read_while_nothing_has_changed() {
    let world = world();
    assert!(!world.runtime.refresh().await.unwrap());
    world.runtime.change(change(Kind::Agent, "night", 0, json!({}))).await.unwrap();
    assert!(!world.runtime.refresh().await.unwrap(), "its own changes are in force already");
}
