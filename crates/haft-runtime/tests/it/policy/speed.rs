//! What is decided once is not decided twice.

use std::time::{Duration, Instant};

use haft_core::port::{Decide, Standing};
use haft_runtime::policy::Policy;
use serde_json::json;

use super::world::{Question, load, shop};

/// Fifty rules about the shop's tools, in the manner of real ones.
fn many() -> Policy {
    let rule = |n: usize| {
        let who = ["principal", "principal is Haft::Agent"][n % 2];
        format!(
            "@id(\"r{n}\") forbid({who}, action in Haft::Action::\"call\", resource)
             when {{ resource.tags.contains(\"t{n}\") && context.mode == \"voice\"
                     && context.user has level && context.user.level < {n} }};"
        )
    };
    let cedar: String = (0..50).map(rule).collect();
    load(json!({"rules": {"allow": ["*"], "user": {"level": "integer"}}}), &cedar).unwrap()
}

fn each(rounds: u32, mut ask: impl FnMut(u32)) -> Duration {
    let start = Instant::now();
    (0..rounds).for_each(&mut ask);
    start.elapsed() / rounds
}

#[test]
fn a_decision_that_was_made_is_looked_up() {
    let policy = many();
    let shop = shop();
    let tool = shop.tools.iter().find(|tool| tool.id == "shop__find").unwrap();
    let mut question = Question::new().user(json!({"level": 3, "isAuthenticated": true}));
    let made = each(500, |n| {
        question.caller.agent = format!("agent-{n}").into();
        assert!(matches!(policy.standing(&question.about(tool)), Standing::Settled(_)));
    });
    let known = each(20_000, |_| {
        assert!(matches!(policy.standing(&question.about(tool)), Standing::Settled(_)));
    });
    let plain = load(json!({"rules": {"allow": ["*"]}}), "").unwrap();
    let listed = each(20_000, |_| drop(plain.standing(&question.about(tool))));
    println!("made {made:?}, looked up {known:?}, looked up without Cedar {listed:?}");
    assert!(known * 10 < made, "{known:?} {made:?}");
}

#[test]
fn what_is_forgotten_is_decided_again() {
    let policy = load(json!({"rules": {"allow": ["shop__*"]}}), "").unwrap();
    let shop = shop();
    let tool = shop.tools.iter().find(|tool| tool.id == "shop__find").unwrap();
    let mut question = Question::new();
    for n in 0..70_000 {
        question.caller.agent = format!("agent-{}", n % 35_000).into();
        match policy.standing(&question.about(tool)) {
            Standing::Settled(decision) => assert_eq!(&*decision.rule, "allow:shop__*"),
            Standing::Open => panic!("{n}"),
        }
    }
}
