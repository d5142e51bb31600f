//! The tools that tell about tools: through the path, and never of more than the caller sees.

use std::path::Path;

use haft_build::build::{Reuse, check};
use haft_core::port::{CallFilter, Journal as _};
use haft_core::{Call, ErrorKind, Registry};
use haft_runtime::guide::{self, DESCRIBE, SEARCH};
use haft_runtime::policy::Rules;
use haft_runtime::toolbox::{Activation, Agent, Overrides, Records, Tenant};
use serde_json::{Value, json};

use crate::path::world::{World, caller, kind};

fn world(rules: Rules) -> World {
    World::with(rules, haft_runtime::runtime::Builder::guide)
}

fn allow(tools: &[&str]) -> Rules {
    Rules { allow: tools.iter().map(|tool| (*tool).to_owned()).collect(), ..Rules::default() }
}

async fn found(world: &World, query: &str) -> Vec<String> {
    let call = Call::new(caller(), "reg_search", json!({ "query": query, "limit": 20 }));
    let answer = world.call(call).await.result.unwrap();
    let name = |tool: &Value| tool["tool"].as_str().unwrap().to_owned();
    answer["tools"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn the_contracts_are_those_of_the_folders() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/guide/toolset");
    let checked = check(&folder, Reuse::Nothing, &|_, _| ()).unwrap();
    assert_eq!(checked.diagnostics, []);
    let built: Registry = checked.registry().unwrap();
    assert_eq!(
        built.digest,
        guide::registry().unwrap().digest,
        "run `haft -t crates/haft-runtime/src/guide/toolset build -o crates/haft-runtime/src/guide/registry.json`"
    );
}

#[tokio::test]
async fn a_tool_is_described_and_the_call_is_on_record() {
    let world = world(allow(&["shop__*"]));
    let call = Call::new(caller(), "reg_describe", json!({ "tool": "gift" }));
    let answer = world.call(call).await.result.unwrap();
    assert_eq!(answer["tool"], "shop__gift");
    assert_eq!(answer["asksFirst"], "always");
    assert_eq!(answer["changes"], "what cannot be undone");
    assert_eq!(answer["parameters"]["required"], json!(["item"]));
    let filter = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    let calls = world.store.calls(filter).await.unwrap();
    assert_eq!(&*calls[0].tool, DESCRIBE);
    assert_eq!(calls[0].arguments, Some(json!({ "tool": "gift" }).into()));
    assert_eq!(calls[0].result, Some(json!({ "tool": "shop__gift", "version": "1.0.0" }).into()));
}

#[tokio::test]
async fn what_may_not_be_seen_is_neither_described_nor_found() {
    let world = world(allow(&["shop__find", "shop__get"]));
    let ask = async |tool: &str| {
        let call = Call::new(caller(), DESCRIBE, json!({ "tool": tool }));
        world.call(call).await.result.unwrap_err()
    };
    // Word for word what a call would have been told.
    let described = ask("order").await;
    let called = world.call(Call::new(caller(), "order", json!({}))).await.result.unwrap_err();
    assert_eq!(described.kind, ErrorKind::NotFound);
    assert_eq!(
        (described.message.clone(), described.suggestion.clone()),
        (called.message.clone(), called.suggestion.clone())
    );
    let mut both = found(&world, "find get order gift shop").await;
    both.sort();
    assert_eq!(both, ["shop__find", "shop__get"]);
}

#[tokio::test]
async fn a_stranger_learns_nothing() {
    let world = world(allow(&["shop__*"]));
    for tool in ["reg_describe", "reg_search"] {
        let mut call = Call::new(caller(), tool, json!({ "tool": "order", "query": "order" }));
        call.caller.tenant = "other".into();
        assert_eq!(kind(&world.call(call).await), ErrorKind::Unavailable, "{tool}");
    }
}

#[tokio::test]
async fn a_narrowed_run_finds_only_its_own() {
    let world = world(allow(&["shop__*"]));
    let mut call = Call::new(caller(), SEARCH, json!({ "query": "shop", "limit": 20 }));
    call.only = Some(vec![SEARCH.into(), "shop__get".into()]);
    let answer = world.call(call).await.result.unwrap();
    assert_eq!(answer["tools"][0]["tool"], "shop__get");
    assert_eq!(answer["tools"].as_array().unwrap().len(), 1);
    assert_eq!(answer["known"], 1);
    let mut call = Call::new(caller(), DESCRIBE, json!({ "tool": "order" }));
    call.only = Some(vec![DESCRIBE.into(), "shop__get".into()]);
    assert_eq!(kind(&world.call(call).await), ErrorKind::NotFound);
}

#[tokio::test]
async fn they_can_be_taken_away() {
    let denied = world(Rules { deny: vec!["reg_search".into()], ..allow(&["shop__*"]) });
    let search = || Call::new(caller(), "reg_search", json!({ "query": "x" }));
    let describe = || Call::new(caller(), "reg_describe", json!({ "tool": "find" }));
    assert_eq!(kind(&denied.call(search()).await), ErrorKind::Unavailable);
    assert!(denied.call(describe()).await.is_ok());

    let off = Activation {
        tool: "reg_describe".into(),
        enabled: false,
        overrides: Overrides::default(),
        approved_by: None,
    };
    let agent = Agent {
        id: "default".into(),
        tenant: "default".into(),
        // A list of tools need not name them.
        tools: Some(vec!["shop__find".into()]),
        activations: vec![off],
        ..Agent::default()
    };
    let records = Records {
        tenants: vec![Tenant { id: "default".into(), ..Tenant::default() }],
        agents: vec![agent],
        ..Records::default()
    };
    let world = World::with(allow(&["shop__*"]), |builder| builder.guide().records(records));
    assert_eq!(kind(&world.call(describe()).await), ErrorKind::Unavailable);
    assert_eq!(found(&world, "find").await, ["shop__find"]);
}

#[tokio::test]
async fn without_being_asked_for_they_are_not_there() {
    let world = World::new();
    let call = Call::new(caller(), "reg_describe", json!({ "tool": "find" }));
    assert_eq!(kind(&world.call(call).await), ErrorKind::Unavailable);
}
