//! Tools that tenants bring along, declared and stored: beside which registry, for whom, and for how
//! long.

use std::sync::Arc;

use haft_build::Drafts;
use haft_core::config::{Change, Kind};
use haft_core::contract::Mode;
use haft_core::port::{Configs as _, Define, Draft, Flaw};
use haft_core::{Call, Caller, ErrorKind, Principal, Registry, Tool};
use haft_runtime::config::ChangeError;
use haft_runtime::policy::{Rules, Source};
use haft_runtime::runtime::{BuildError, Builder};
use haft_runtime::toolbox::{Definition, Records};
use serde_json::{Value, json};

use crate::path::world::{World, kind, tools};
use crate::policy::world::{registry, tool};

fn contract(own: &str, version: &str) -> Value {
    json!({
        "toolId": own, "version": version, "description": "Weigh a parcel of ours.",
        "category": "retrieval", "sideEffects": "read_only", "idempotent": true,
        "requiresConfirmation": false, "allowedModes": ["text"], "latencyBudgetMs": 500,
        "parameters": {"type": "object", "additionalProperties": false, "properties": {
            "parcel": {"type": "string", "description": "Which one."}}},
        "redaction": {"allow": []},
        "gateway": {"kind": "http", "method": "GET", "url": "https://scales.example.com/weigh"},
    })
}

fn records(declared: &[Definition]) -> Records {
    let mut records = Records::of_one("ours", "helper");
    let theirs = Records::of_one("theirs", "spy");
    records.tenants.extend(theirs.tenants);
    records.agents.extend(theirs.agents);
    records.tenants[0].definitions = declared.to_vec();
    records
}

fn built(builder: Builder, rules: &Rules, declared: &[Definition]) -> Builder {
    let source = Source { rules: rules.clone(), ..Source::default() };
    builder.records(records(declared)).source(source).define(Arc::new(Drafts)).guide()
}

async fn world(declared: &[Definition]) -> World {
    let rules = Rules { allow: vec!["shop__*".into(), "post__*".into()], ..Rules::default() };
    let world = World::with(rules.clone(), |builder| built(builder, &rules, declared));
    world.runtime.refresh().await.unwrap();
    world
}

fn definition(id: &str, contract: Value) -> Definition {
    Definition { contract: Some(contract), ..Definition::of(id) }
}

fn change(id: &str, from: u64, to: Option<Value>) -> Change {
    let (tenant, id, by) = ("ours".to_owned(), id.to_owned(), Principal::user("boss"));
    Change { kind: Kind::Definition, tenant, id, from, to, by }
}

fn stored(own: &str, version: &str) -> Option<Value> {
    Some(json!({ "contract": contract(own, version) }))
}

async fn weigh(world: &World, tenant: &str, agent: &str, tool: &str) -> Result<(), ErrorKind> {
    let call = Call::new(Caller::agent(tenant, agent), tool, json!({"parcel": "p"}));
    let envelope = world.call(call).await;
    if envelope.is_ok() { Ok(()) } else { Err(kind(&envelope)) }
}

async fn found(world: &World, tenant: &str, agent: &str) -> Vec<String> {
    let words = json!({ "query": "weigh a parcel", "limit": 20 });
    let call = Call::new(Caller::agent(tenant, agent), "reg_search", words);
    let answer = world.call(call).await.result.unwrap();
    let name = |tool: &Value| tool["tool"].as_str().unwrap().to_owned();
    answer["tools"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn what_is_declared_is_there_from_the_start_and_read_only() {
    let world = world(&[definition("post__weigh", contract("weigh", "1.0.0"))]).await;
    assert_eq!(weigh(&world, "ours", "helper", "post__weigh").await, Ok(()));
    assert_eq!(weigh(&world, "ours", "helper", "weigh").await, Ok(()));
    let refused = weigh(&world, "theirs", "spy", "post__weigh").await;
    assert_eq!(refused, Err(ErrorKind::Unavailable));
    assert_eq!(found(&world, "ours", "helper").await, ["post__weigh"]);
    assert_eq!(found(&world, "theirs", "spy").await, [""; 0]);
    let described = |tenant: &str, agent: &str| {
        let call =
            Call::new(Caller::agent(tenant, agent), "reg_describe", json!({"tool": "weigh"}));
        world.call(call)
    };
    assert!(described("ours", "helper").await.is_ok());
    assert_eq!(kind(&described("theirs", "spy").await), ErrorKind::NotFound);
    let refused = world.runtime.change(change("post__weigh", 0, stored("weigh", "2.0.0"))).await;
    assert_eq!(refused, Err(ChangeError::Declared));
    // And what the store holds under its name does not count.
    world.store.change(change("post__weigh", 0, stored("weigh", "2.0.0"))).await.unwrap();
    world.runtime.refresh().await.unwrap();
    let catalog = world.runtime.catalog(&Caller::agent("ours", "helper"), Mode::Text);
    assert_eq!(catalog.get("post__weigh").unwrap().tool.contract.version.to_string(), "1.0.0");
}

#[tokio::test]
async fn what_is_declared_and_wrong_keeps_a_runtime_from_starting() {
    let mut bad = contract("weigh", "1.0.0");
    bad["gateway"]["url"] = json!("https://{parcel}.example.com");
    for (id, contract, word) in [
        ("post__weigh", bad, "/contract/gateway/url: "),
        ("shop__weigh", contract("weigh", "1.0.0"), "not for tools of a tenant"),
        ("post__order", contract("order", "1.0.0"), "short name of `shop__order`"),
    ] {
        let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
        let builder = haft_runtime::Runtime::builder(
            tools(),
            Arc::new(haft_store::Memory::new()),
            Arc::new(haft_exec::Executors::new()),
        );
        let Err(BuildError::Problems(problems)) =
            built(builder, &rules, &[definition(id, contract)]).build()
        else {
            panic!("{id} was taken")
        };
        let said = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.contains(word) && said.contains(&format!("`{id}` of `ours`")), "{said}");
    }
}

#[tokio::test]
async fn a_new_registry_has_the_tenants_tools_beside_it_unless_it_has_them_itself() {
    let world = world(&[]).await;
    world.runtime.change(change("post__weigh", 0, stored("weigh", "1.0.0"))).await.unwrap();
    let before = world.runtime.version_for("ours");
    let session = world.runtime.open(&Caller::agent("ours", "helper"), Mode::Text).await.unwrap();
    assert_eq!(*before, *session.registry_version);
    assert_eq!(*world.runtime.version_for("theirs"), *tools().version);
    let mut more = tools();
    more.tools.push(tool("shop__zebra", json!({})));
    let newer = registry("shop", more.tools);
    world.runtime.load(newer.clone()).unwrap();
    let after = world.runtime.version_for("ours");
    assert!(after != before && after.starts_with(&newer.version), "{before} {after}");
    assert_eq!(weigh(&world, "ours", "helper", "post__weigh").await, Ok(()));
    let pinned = world.runtime.catalog_in(&Caller::agent("ours", "helper"), &session).unwrap();
    assert!(pinned.get("post__weigh").is_some() && pinned.get("shop__zebra").is_none());
    // A toolset that has a tool of this very name wins, and says so; the tenant goes on.
    let mut clash: Vec<_> = tools().tools;
    clash.push(tool("post__weigh", json!({})));
    let clash: Registry = registry("shop", clash);
    world.runtime.load(clash).unwrap();
    let problems = world.runtime.configured().problems.clone();
    let said = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(said.contains("`post__weigh` is a tool that everybody has"), "{said}");
    let catalog = world.runtime.catalog(&Caller::agent("theirs", "spy"), Mode::Text);
    assert!(catalog.get("post__weigh").is_some_and(|one| !one.of_tenant));
    assert_eq!(
        weigh(&world, "ours", "helper", "shop__get").await,
        Err(ErrorKind::InvalidArguments)
    );
}

#[tokio::test]
async fn sets_are_kept_for_sessions_up_to_a_bound() {
    let world = world(&[]).await;
    let caller = Caller::agent("ours", "helper");
    let plain = world.runtime.open(&caller, Mode::Text).await.unwrap();
    let mut sessions = Vec::new();
    for number in 1..=20_u64 {
        let body = stored("weigh", &format!("{number}.0.0"));
        world.runtime.change(change("post__weigh", number - 1, body)).await.unwrap();
        sessions.push(world.runtime.open(&caller, Mode::Text).await.unwrap());
    }
    let version = |number: usize| {
        let catalog = world.runtime.catalog_in(&caller, &sessions[number - 1])?;
        Some(catalog.get("post__weigh")?.tool.contract.version.major)
    };
    assert_eq!((version(20), version(5), version(4)), (Some(20), Some(5), None));
    // Whoever began before there was anything has the plain registry, for ever.
    let catalog = world.runtime.catalog_in(&caller, &plain).unwrap();
    assert!(catalog.get("post__weigh").is_none() && catalog.get("shop__get").is_some());
    // Back to what it was is the same set again.
    let body = stored("weigh", "19.0.0");
    world.runtime.change(change("post__weigh", 20, body)).await.unwrap();
    assert_eq!(*world.runtime.version_for("ours"), *sessions[18].registry_version);
    // Of another tenant's sets nobody has anything, whatever version they name.
    let mut stolen = sessions[19].clone();
    stolen.tenant = "theirs".into();
    assert!(world.runtime.catalog_in(&Caller::agent("theirs", "spy"), &stolen).is_none());
}

#[tokio::test]
async fn one_that_no_longer_compiles_is_missed_by_nobody_but_itself() {
    let world = world(&[]).await;
    world.runtime.change(change("post__weigh", 0, stored("weigh", "1.0.0"))).await.unwrap();
    // Nobody can write this through the front door: a newer haft that is stricter can find it.
    let mut bad = contract("stamp", "1.0.0");
    bad["gateway"]["url"] = json!("ftp://post.example.com");
    let bad = json!({ "contract": bad });
    world.store.change(change("post__stamp", 0, Some(bad))).await.unwrap();
    world.runtime.refresh().await.unwrap();
    assert_eq!(weigh(&world, "ours", "helper", "post__weigh").await, Ok(()));
    assert_eq!(weigh(&world, "ours", "helper", "post__stamp").await, Err(ErrorKind::Unavailable));
    let said: Vec<_> =
        world.runtime.configured().problems.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|one| one.contains("definition `post__stamp` of `ours`/contract")),
        "{said:?}"
    );
    // It can be mended, and it does not keep anybody from changing the rest.
    world.runtime.change(change("post__weigh", 1, stored("weigh", "1.1.0"))).await.unwrap();
    world.runtime.change(change("post__stamp", 1, stored("stamp", "1.0.0"))).await.unwrap();
    assert_eq!(weigh(&world, "ours", "helper", "post__stamp").await, Ok(()));
}

/// Compiles as drafts are, and says on which thread.
#[derive(Default)]
struct Watched(parking_lot::Mutex<Vec<std::thread::ThreadId>>);

impl Define for Watched {
    fn define(&self, draft: &Draft<'_>) -> (Option<Tool>, Vec<Flaw>) {
        self.0.lock().push(std::thread::current().id());
        Drafts.define(draft)
    }

    fn relate(&self, tool: &Tool, others: &[&Tool]) -> Vec<Flaw> {
        Drafts.relate(tool, others)
    }
}

#[tokio::test]
async fn a_definition_is_compiled_once_and_where_it_keeps_nobody_waiting() {
    let rules = Rules { allow: vec!["post__*".into()], ..Rules::default() };
    let watched = Arc::new(Watched::default());
    let world =
        World::with(rules.clone(), |builder| built(builder, &rules, &[]).define(watched.clone()));
    world.runtime.change(change("post__weigh", 0, stored("weigh", "1.0.0"))).await.unwrap();
    // Another process has changed it.
    world.store.change(change("post__weigh", 1, stored("weigh", "1.1.0"))).await.unwrap();
    assert!(world.runtime.refresh().await.unwrap());
    let here = std::thread::current().id();
    let compiled = watched.0.lock().clone();
    assert_eq!(compiled.len(), 2, "once for each of its versions");
    assert!(compiled.iter().all(|thread| *thread != here));
}

#[tokio::test]
async fn a_tool_of_a_tenant_runs_no_longer_than_whoever_runs_haft_allows() {
    let declared = |ms: u64| {
        let mut contract = contract("weigh", "1.0.0");
        contract["limits"] = json!({ "maxRuntimeMs": ms });
        [definition("post__weigh", contract)]
    };
    for (said, expected) in [(3_600_000, 30_000), (4_000, 4_000)] {
        let world = world(&declared(said)).await;
        let mut call = Call::new(Caller::agent("ours", "helper"), "weigh", json!({"parcel": "p"}));
        call.dry_run = true;
        let plan = world.call(call).await.result.unwrap();
        assert_eq!(plan["deadlineMs"], expected, "{plan}");
    }
}
