//! Who may do what, how often, and what they learn when not.

use haft_core::contract::{Capability, Mode};
use haft_core::outcome::Intent;
use haft_core::port::{CallFilter, Ended, Journal as _};
use haft_core::{Call, ErrorKind, ToolError};
use haft_runtime::policy::{Rules, Spending};
use haft_runtime::redact::{Scrubber, Secret};
use haft_runtime::toolbox::{Activation, Agent, Overrides, Records, Tenant};
use serde_json::{Value, json};

use super::world::{Does, World, call, caller, kind, lost};

#[tokio::test]
async fn without_a_policy_nothing_is_allowed() {
    let world = World::with(Rules::default(), |builder| builder);
    assert_eq!(kind(&world.call(call("find", "k")).await), ErrorKind::Unavailable);
    let denied =
        world.store.calls(CallFilter { tenant: "default".into(), ..CallFilter::default() });
    let denied = denied.await.unwrap();
    assert_eq!(denied.len(), 1);
    assert!(denied[0].rule.is_some(), "{:?}", denied[0]);
    assert_eq!(&*denied[0].tool, "shop__find", "by its own name, whatever it was called by");
}

#[tokio::test]
async fn a_tool_of_nobody_and_a_tool_of_others_look_the_same() {
    let world = World::new();
    let mut stranger = call("find", "k");
    stranger.caller.tenant = "other".into();
    let theirs = world.call(stranger).await.result.unwrap_err();
    let mut nothing = call("fnid_nothing", "k");
    nothing.caller.tenant = "other".into();
    let nobodys = world.call(nothing).await.result.unwrap_err();
    assert_eq!(theirs.kind, nobodys.kind);
    assert_eq!(theirs.message.replace("find", "x"), nobodys.message.replace("fnid_nothing", "x"));
    assert_eq!(theirs.suggestion, nobodys.suggestion);
}

#[tokio::test]
async fn an_agent_learns_why_and_what_would_help() {
    let records = Records {
        tenants: vec![Tenant { id: "default".into(), ..Tenant::default() }],
        agents: vec![Agent {
            id: "default".into(),
            tenant: "default".into(),
            activations: vec![Activation {
                tool: "find".into(),
                enabled: false,
                overrides: Overrides::default(),
                approved_by: None,
            }],
            ..Agent::default()
        }],
        ..Records::default()
    };
    let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
    let world = World::with(rules, |builder| builder.records(records));
    let refused = world.call(call("find", "k")).await.result.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Unavailable);
    assert!(refused.message.contains("turned off for this agent"), "{}", refused.message);
    assert_eq!(world.runtime.suggestions().of("default").len(), 1);
}

#[tokio::test]
async fn a_misspelt_name_is_met_with_the_nearest() {
    let world = World::new();
    let refused = world.call(call("odrer", "k")).await.result.unwrap_err();
    assert_eq!(refused.suggestion, "did you mean `order`?");
    // Whatever a name is made of, it is safe to repeat.
    let nasty = world.call(call("\u{1b}[31mx\r\n\u{2028}", "k")).await.result.unwrap_err();
    assert!(nasty.message.is_ascii(), "{:?}", nasty.message);
}

#[tokio::test]
async fn a_run_can_be_narrowed_and_not_widened() {
    let world = World::new();
    let mut narrowed = call("find", "k");
    narrowed.only = Some(vec!["get".into()]);
    assert_eq!(kind(&world.call(narrowed).await), ErrorKind::Unavailable);
    let mut named = call("find", "k");
    named.only = Some(vec!["shop__find".into()]);
    assert!(world.call(named).await.is_ok());
}

#[tokio::test]
async fn a_rate_is_a_rate_per_principal() {
    let world = World::new();
    for _ in 0..2 {
        assert!(world.call(call("rare", "k")).await.is_ok());
    }
    let late = world.call(call("rare", "k")).await.result.unwrap_err();
    assert_eq!(late.kind, ErrorKind::RateLimited);
    assert_eq!(late.details.clone().unwrap()["retryAfterMs"], 1000);
    world.clock.advance(1000);
    assert!(world.call(call("rare", "k")).await.is_ok());
}

#[tokio::test]
async fn arguments_are_repaired_where_a_tool_only_reads() {
    let world = World::new();
    let mut lenient = Call::new(caller(), "find", r#"{"item": "lamp", "count": "3"}"#);
    lenient.mode = Mode::Text;
    let answer = world.call(lenient).await;
    assert_eq!(answer.meta.warnings[0].code, "string_to_integer");
    assert_eq!(answer.result.unwrap()["did"], json!({ "item": "lamp", "count": 3 }));
    let mut strict = call("order", "k");
    strict.arguments = r#"{"item": "lamp", "count": "3"}"#.into();
    assert_eq!(kind(&world.call(strict).await), ErrorKind::InvalidArguments);
}

#[tokio::test]
async fn a_connection_that_was_not_given_is_not_used() {
    let world = World::new();
    let mut call = call("find", "k");
    call.connection = Some("conn".into());
    assert_eq!(kind(&world.call(call).await), ErrorKind::Denied);
}

#[tokio::test]
async fn a_dry_run_decides_everything_and_does_nothing() {
    let world = World::new();
    let mut dry = call("gift", "k");
    dry.dry_run = true;
    let plan = world.call(dry).await.result.unwrap();
    assert_eq!(plan["arguments"], json!({ "item": "lamp", "count": 1 }));
    assert_eq!(plan["confirmation"]["required"], true);
    assert_eq!(plan["confirmation"]["preview"], "Give lamp 1 times?");
    assert_eq!(plan["decision"], json!({ "verdict": "allow" }), "rules are for operators");
    let mut dry = call("gift", "k");
    (dry.dry_run, dry.sees_rules) = (true, true);
    let plan = world.call(dry).await.result.unwrap();
    assert!(plan["decision"]["rule"].is_string(), "{plan}");
    assert_eq!(world.acts("gift"), 0);
    use haft_core::port::Confirmations as _;
    assert!(
        world
            .store
            .confirmations(haft_core::port::ConfirmationFilter {
                tenant: "default".into(),
                limit: 0,
                ..Default::default()
            })
            .await
            .unwrap()
            .is_empty()
    );
}

/// A dry run of a call, and the kind of error and the stage that would keep it from running.
pub(super) async fn foreseen(world: &World, mut call: Call) -> (bool, Value, Value) {
    (call.dry_run, call.sees_rules) = (true, true);
    let plan = world.call(call).await.result.unwrap();
    let refusal = &plan["refusal"];
    (plan["wouldRun"] == true, refusal["kind"].clone(), refusal["stage"].clone())
}

#[tokio::test]
async fn a_dry_run_foresees_what_the_turn_has_used_up_and_counts_nothing() {
    let one = Spending { retrieval_calls: Some(1), ..Spending::default() };
    let rules = Rules {
        allow: vec!["shop__*".into()],
        modes: [(Mode::Text, one)].into(),
        ..Rules::default()
    };
    let world = World::with(rules, |builder| builder);
    let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
    let get = || {
        let mut get = Call::new(caller(), "get", json!({ "item": "lamp" }));
        get.session = Some(session.id.clone());
        get
    };
    let runs = (true, Value::Null, Value::Null);
    assert_eq!(foreseen(&world, get()).await, runs);
    assert_eq!(foreseen(&world, get()).await, runs, "the first one counted");
    assert!(world.call(get()).await.is_ok());
    let used_up = (false, json!("budget_exceeded"), json!("gate"));
    assert_eq!(foreseen(&world, get()).await, used_up);
}

#[tokio::test]
async fn a_dry_run_foresees_rates_and_uses_none_up() {
    let world = World::new();
    for _ in 0..3 {
        assert!(foreseen(&world, call("rare", "k")).await.0);
    }
    for _ in 0..2 {
        assert!(world.call(call("rare", "k")).await.is_ok());
    }
    let limited = (false, json!("rate_limited"), json!("gate"));
    assert_eq!(foreseen(&world, call("rare", "k")).await, limited);
    assert_eq!(kind(&world.call(call("rare", "k")).await), ErrorKind::RateLimited);
}

#[tokio::test]
async fn a_dry_run_foresees_that_a_newer_message_comes_first_and_leaves_it_there() {
    let world = World::new();
    let session = world.runtime.open(&caller(), Mode::Text).await.unwrap();
    for said in ["order a lamp", "stop"] {
        world.runtime.message(&caller(), &session.id, json!(said)).await.unwrap();
    }
    let mut order = call("order", "k");
    order.session = Some(session.id.clone());
    let later = (false, json!("superseded"), json!("gate"));
    assert_eq!(foreseen(&world, order.clone()).await, later);
    assert_eq!(foreseen(&world, order.clone()).await, later);
    let real = world.call(order).await;
    assert_eq!(kind(&real), ErrorKind::Superseded);
    assert_eq!(world.acts("order"), 0);
}

#[tokio::test]
async fn a_dry_run_foresees_acts_of_unknown_outcome_and_used_keys() {
    let world = World::new();
    world.next("order", Does::ActsThen(lost()));
    assert_eq!(kind(&world.call(call("order", "first")).await), ErrorKind::UnknownOutcome);
    let unknown = (false, json!("unknown_outcome"), json!("claim"));
    assert_eq!(foreseen(&world, call("order", "first")).await, unknown);
    assert_eq!(foreseen(&world, call("order", "second")).await, unknown, "under another key");
    let mut other = call("order", "third");
    other.arguments = json!({ "item": "chair" }).into();
    assert!(foreseen(&world, other.clone()).await.0, "another act");
    let mut knowingly = call("order", "second");
    knowingly.overrule.similar_unknown = true;
    assert!(foreseen(&world, knowingly).await.0);
    assert!(world.call(other).await.is_ok());
    let conflict = (false, json!("conflict"), json!("claim"));
    assert_eq!(foreseen(&world, call("order", "third")).await, conflict, "the key of the chair");
    assert_eq!(world.acts("order"), 2);
    // What does no harm twice is sent again, as it was.
    world.next("put", Does::Ends(lost()));
    world.next("put", Does::Ends(lost()));
    assert_eq!(kind(&world.call(call("put", "p")).await), ErrorKind::UnknownOutcome);
    assert_eq!(foreseen(&world, call("put", "p")).await, (true, Value::Null, Value::Null));
    assert!(world.call(call("put", "p")).await.is_ok());
}

#[tokio::test]
async fn a_refused_dry_run_names_rule_stage_and_reason_to_those_who_may_know() {
    let rules = Rules { allow: vec!["shop__find".into()], ..Rules::default() };
    let world = World::with(rules, |builder| builder);
    let mut dry = call("order", "k");
    dry.dry_run = true;
    let plain = world.call(dry.clone()).await.result.unwrap_err();
    assert_eq!(plain.details, None, "models learn no rules");
    dry.sees_rules = true;
    let told = world.call(dry).await.result.unwrap_err().details.clone().unwrap();
    let decision = &told["decision"];
    assert!(decision["rule"].is_string() && decision["why"].is_string(), "{told}");
    assert!(decision["stage"].is_string(), "{told}");
}

#[tokio::test]
async fn what_others_see_of_a_call_is_what_redaction_allows() {
    let world = World::new();
    let mut call = call("order", "k");
    call.arguments = json!({ "item": "lamp", "secret": "hunter2-hunter2" }).into();
    call.raw = Some(json!({ "provider": "raw-canary" }));
    let answer = world.call(call).await;
    assert!(answer.is_ok());
    let filter = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    let calls = world.store.calls(filter).await.unwrap();
    assert_eq!(calls[0].result, Some(json!({ "did": { "item": "lamp" } }).into()));
    assert_eq!(calls[0].arguments.as_ref().unwrap().value()["item"], "lamp");
    let seen = format!("{:?}{:?}", calls, world.heard.0.lock());
    assert!(!seen.contains("hunter2") && !seen.contains("raw-canary"), "{seen}");
}

#[tokio::test]
async fn a_known_secret_is_seen_by_nobody() {
    let secret = Secret::new("mail", "s3cr3t-t0ken").unwrap();
    let scrubber = Scrubber::new(&[secret]).unwrap();
    let rules = Rules { allow: vec!["shop__*".into()], ..Rules::default() };
    let world = World::with(rules, |builder| builder.secrets(scrubber));
    let pending = Intent::SetPendingMessage { message: json!("use s3cr3t-t0ken") };
    let data = json!({ "did": { "item": "s3cr3t-t0ken" } });
    world.next("order", Does::Ends(Ended::Returned { data, intents: vec![pending] }));
    let mut first = call("order", "k");
    first.arguments = json!({ "item": "s3cr3t-t0ken" }).into();
    let answer = world.call(first).await;
    assert_eq!(answer.result.as_ref().unwrap()["did"]["item"], "[secret:mail]");
    let error = ToolError::new(ErrorKind::Permanent, "refused: Bearer s3cr3t-t0ken");
    world.next("order", Does::Ends(Ended::Failed(error)));
    let failed = world.call(call("order", "k2")).await;
    let filter = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    let calls = world.store.calls(filter).await.unwrap();
    let seen = format!("{answer:?}{failed:?}{calls:?}{:?}", world.heard.0.lock());
    assert!(!seen.contains("s3cr3t"), "{seen}");
}

#[tokio::test]
async fn nested_calls_stay_inside_a_narrowed_run() {
    let world = World::new();
    let mut narrowed = call("relay", "k");
    narrowed.only = Some(vec!["relay".into()]);
    world.next("relay", Does::Uses(Capability::CallTool, "order", json!({ "item": "lamp" })));
    assert_eq!(kind(&world.call(narrowed).await), ErrorKind::Unavailable);
    assert_eq!(world.acts("order"), 0);
}
