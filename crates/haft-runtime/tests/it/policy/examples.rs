//! The examples of the documentation are what is loaded.

use haft_core::port::{Decide, Verdict};
use haft_runtime::policy::{Policy, Rules, Source, Text};
use haft_runtime::toolbox::{Directory, Records, Shelf, Stock};
use serde_json::{Value, json};

use super::world::{Question, mail, shop};

const PAGE: &str = include_str!("../../../../../docs/policy.md");

fn blocks(language: &str) -> Vec<&'static str> {
    let lead = format!("```{language}\n");
    PAGE.split(&lead).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn every_example_loads() {
    let (shop, mail) = (shop(), mail());
    let stock = Stock::new(&[Shelf::own(&shop), Shelf::discovered(&mail)]).unwrap();
    let mut rules = Vec::new();
    let examples = blocks("toml");
    for example in &examples {
        let mut value: Value = toml::from_str(example).unwrap();
        if let Some(policy) = value.as_object_mut().unwrap().remove("policy") {
            rules.push(serde_json::from_value::<Rules>(policy).unwrap());
        }
        let records: Records = serde_json::from_value(value).unwrap();
        Directory::load(&records, &stock, "haft.toml").unwrap();
    }
    assert_eq!((examples.len(), rules.len()), (5, 1));
    let file = rules[0].cedar[0].clone();
    let text = blocks("cedar").concat();
    let cedar = vec![Text { file, text }];
    let source = Source { rules: rules.remove(0), cedar, ..Source::default() };
    let policy = Policy::load(&source, &[&shop, &mail]).unwrap();
    assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());

    let order = shop.tools.iter().find(|tool| tool.id == "shop__order").unwrap();
    let large = Question::new().with(json!({"item": "x", "amount": 2000, "count": 1}));
    let decision = policy.decide(&large.about(order));
    assert_eq!(decision.verdict, Verdict::Deny);
    assert_eq!(&*decision.rule, "cedar:policies/office.cedar#no-large-orders");
    assert_eq!(decision.enable.as_deref(), Some("orders up to 1000 can be placed here"));

    let small = Question::new()
        .user(json!({"isAuthenticated": true}))
        .session("s")
        .with(json!({"item": "x", "amount": 2, "count": 11}));
    for condition in blocks("condition").concat().lines() {
        assert_eq!(policy.holds(condition, &small.about(order)), Ok(true), "{condition}");
    }
}

#[test]
fn every_rule_id_of_the_code_is_explained() {
    let code = [
        include_str!("../../../src/policy.rs"),
        include_str!("../../../src/policy/decision.rs"),
        include_str!("../../../src/policy/evaluate.rs"),
        include_str!("../../../src/policy/cedar.rs"),
    ]
    .concat();
    let leads = [
        "allow:",
        "connection:",
        "delegation:",
        "availability:",
        "arguments:",
        "policy:",
        "cedar:",
    ];
    let quoted = code.split('"').filter(|text| {
        leads.iter().any(|lead| {
            text.strip_prefix(lead).is_some_and(|rest| {
                !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            })
        })
    });
    let ids: std::collections::BTreeSet<&str> = quoted.collect();
    assert!(ids.len() >= 14, "{ids:?}");
    for id in ids {
        assert!(PAGE.contains(&format!("{id}`")), "{id} is not explained");
    }
}
