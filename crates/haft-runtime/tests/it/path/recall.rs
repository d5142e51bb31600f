//! Answers that are given again: to whom, for how long, and which never are.

use std::time::Duration;

use haft_core::call::Purpose;
use haft_core::contract::{Capability, Mode, SideEffectPolicy};
use haft_core::ledger::State;
use haft_core::outcome::Intent;
use haft_core::port::{CallFilter, Ended, Journal as _};
use haft_core::{Call, Caller, ErrorKind, Principal};
use haft_runtime::policy::{Policy, Recall, Rules, Source};
use haft_runtime::redact::{Scrubber, Secret};
use serde_json::json;

use super::world::{Does, World, call, caller, failed, lost, tools};

fn rules(tools: &[&str]) -> Rules {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    let recall = vec![Recall { tools, seconds: 60 }];
    Rules { allow: vec!["shop__*".into()], recall, ..Rules::default() }
}

fn world() -> World {
    World::with(rules(&["find", "shop__g*", "order"]), |builder| builder)
}

#[tokio::test(start_paused = true)]
async fn the_same_question_is_answered_again_until_its_time_is_up() {
    let world = world();
    let first = world.call(call("find", "k")).await;
    let again = world.call(call("find", "other")).await;
    assert_eq!((first.meta.cached, again.meta.cached), (false, true));
    assert_eq!(first.result.unwrap(), again.result.unwrap());
    assert_eq!(world.acts("find"), 1);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert!(!world.call(call("find", "k")).await.meta.cached);
    assert_eq!(world.acts("find"), 2);
    let calls = CallFilter { tenant: "default".into(), ..CallFilter::default() };
    assert_eq!(world.store.calls(calls).await.unwrap().len(), 3, "each call is on record");
}

#[tokio::test(start_paused = true)]
async fn what_differs_in_anything_that_counts_is_asked_anew() {
    let world = world();
    let base = || call("find", "k");
    let differ = |change: fn(&mut Call)| {
        let mut call = base();
        change(&mut call);
        call
    };
    world.call(base()).await;
    let others = [
        differ(|call| call.arguments = json!({ "item": "chair" }).into()),
        differ(|call| call.mode = Mode::Voice),
        differ(|call| call.caller.actor = Principal::user("ann")),
        differ(|call| call.tool = "get".into()),
        differ(|call| call.only = Some(vec!["shop__find".into()])),
    ];
    for other in others {
        let said = format!("{other:?}");
        let envelope = world.call(other).await;
        assert!(envelope.result.is_ok(), "{envelope:?}");
        assert!(!envelope.meta.cached, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn effects_failures_and_intents_are_never_given_again() {
    let world = world();
    for key in ["one", "two"] {
        assert!(!world.call(call("order", key)).await.meta.cached);
    }
    assert_eq!(world.acts("order"), 2);

    world.next("get", Does::Ends(failed(ErrorKind::Permanent)));
    assert!(world.call(call("get", "k")).await.result.is_err());
    let intents = vec![Intent::SuppressAudio { value: true }];
    world.next("get", Does::ActsThen(Ended::Returned { data: json!({ "did": {} }), intents }));
    for _ in 0..2 {
        let answered = world.call(call("get", "k")).await;
        assert!(answered.result.is_ok() && !answered.meta.cached, "{answered:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_that_no_rule_names_run_each_time() {
    let world = world();
    for _ in 0..3 {
        assert!(!world.call(call("booked", "k")).await.meta.cached);
    }
    assert_eq!(world.acts("booked"), 3);
}

#[tokio::test(start_paused = true)]
async fn what_a_probe_is_told_is_so_now() {
    let world = World::with(rules(&["booked"]), |builder| builder);
    let mara = Caller { actor: Principal::user("mara"), ..caller() };
    // The operator has looked as well, and that answer is given again to whoever looks.
    let look = || Call::new(mara.clone(), "booked", json!({ "item": "lamp" }));
    world.next("booked", Does::Returns(json!({ "found": false })));
    assert!(world.call(look()).await.is_ok());
    for (found, state) in [(false, State::NotHappened), (true, State::Happened)] {
        world.next("book", Does::ActsThen(lost()));
        let lost = world.call(call("book", "k")).await.meta.record_id;
        world.next("booked", Does::Returns(json!({ "found": found })));
        let probed = world.runtime.probe(&mara, &lost).await.unwrap();
        assert_eq!(probed.effect.state, state);
    }
    assert_eq!(world.acts("booked"), 3, "each probe asks");
    // What a probe was told is nobody else's answer.
    assert_eq!(world.call(look()).await.result.unwrap(), json!({ "found": false }));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_changes_something_goes_by_what_is_so_now() {
    let world = world();
    for (tool, key, runs) in
        [("compute", "a", 1), ("compute", "b", 1), ("relay", "c", 2), ("relay", "d", 3)]
    {
        let nested = json!({ "item": "lamp" });
        world.next(tool, Does::Uses(Capability::CallTool, "get", nested));
        assert!(world.call(call(tool, key)).await.is_ok());
        assert_eq!(world.acts("get"), runs, "{tool}");
    }
    // And so does whatever is asked on the way to settle an effect or to undo one.
    for purpose in [Purpose::Effect, Purpose::Probe, Purpose::Undo] {
        let inside = purpose.within(SideEffectPolicy::Pure);
        assert_eq!((inside, inside.takes_an_old_answer()), (purpose, false));
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_lost_the_right_gets_nothing_from_memory() {
    let world = world();
    assert!(world.call(call("find", "k")).await.result.is_ok());
    let none = Source { rules: Rules::default(), ..Source::default() };
    let policy = Policy::load(&none, &[&tools()]).unwrap();
    world.runtime.govern(std::sync::Arc::new(policy), rules(&["find"]));
    assert!(world.call(call("find", "k")).await.result.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_became_known_is_not_told_from_memory() {
    let world = world();
    world.next("find", Does::Returns(json!({ "did": { "item": "hunter2hunter2" } })));
    let told = world.call(call("find", "k")).await.result.unwrap();
    assert!(told.to_string().contains("hunter2"));
    let secret = Secret::new("lamp", "hunter2hunter2").unwrap();
    world.runtime.guard(&Scrubber::new(&[secret]).unwrap()).unwrap();
    world.heard.0.lock().clear();
    let again = world.call(call("find", "k")).await;
    assert!(again.meta.cached);
    assert!(!again.result.unwrap().to_string().contains("hunter2"));
    let heard = format!("{:?}", world.heard.0.lock());
    assert!(heard.contains("cached"), "{heard}");
    assert!(!heard.contains("hunter2"), "{heard}");
}

#[test]
fn rules_that_cannot_be_meant_are_reported() {
    let problems = |rules: Rules| {
        let source = Source { rules, ..Source::default() };
        match Policy::load(&source, &[&tools()]) {
            Ok(policy) => policy.warnings().to_vec(),
            Err(problems) => problems,
        }
    };
    let said = |rules: Rules| {
        problems(rules).iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(said(rules(&["fnid"])).contains("recall: there is no tool `fnid`"));
    assert!(said(rules(&["order"])).contains("recall: `shop__order` has effects"));
    let mut long = rules(&["find"]);
    long.recall[0].seconds = 100_000;
    assert!(said(long).contains("longer than a day"));
    assert_eq!(said(rules(&["find"])), "");
}
