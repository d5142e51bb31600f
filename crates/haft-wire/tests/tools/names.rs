//! Names of the corpus as they are: dots, spaces, and some that would meet.

use std::collections::{BTreeSet, HashSet};

use haft_wire::Dialect;
use haft_wire::names::{Names, Rule, rule};
use serde_json::Value;

use crate::support::file;

fn names_of_corpus() -> Option<BTreeSet<String>> {
    let all: Vec<Value> = serde_json::from_str(&file("corpora/bfcl_functions.json")?).unwrap();
    Some(all.iter().map(|definition| definition["name"].as_str().unwrap().to_owned()).collect())
}

/// All names are allowed, differ, and lead back.
fn check(rule: Rule, names: &[&str]) {
    let wire = Names::new(rule, names.iter().copied());
    let said: Vec<&str> = names.iter().map(|name| wire.wire(name)).collect();
    let distinct: HashSet<&&str> = said.iter().collect();
    assert_eq!(distinct.len(), names.len());
    for (name, said) in names.iter().zip(&said) {
        assert!(rule.allows(said), "{name} → {said}");
        assert!(!rule.allows(name) || name == said, "{name} needed no change");
    }
}

#[test]
fn every_name_of_the_corpus_is_said_and_led_back() {
    let Some(names) = names_of_corpus() else { return };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for dialect in Dialect::ALL {
        check(rule(dialect), &names);
    }
    let plain = |name: &&&str| name.replace('.', "_");
    let met = names.len()
        - names.iter().collect::<Vec<_>>().iter().map(plain).collect::<HashSet<_>>().len();
    assert!(met >= 15, "the corpus has names that meet when dots become `_`: {met}");
}

#[test]
fn a_name_does_not_depend_on_those_beside_it() {
    let Some(names) = names_of_corpus() else { return };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for dialect in Dialect::ALL {
        let together = Names::new(rule(dialect), names.iter().copied());
        for name in &names {
            let alone = Names::new(rule(dialect), [*name]);
            assert_eq!(together.wire(name), alone.wire(name));
        }
    }
}

#[test]
fn whoever_needs_no_change_keeps_the_name() {
    let openai = rule(Dialect::OpenAiChat);
    let alone = Names::new(openai, ["a.b"]);
    let taken = alone.wire("a.b").to_owned();
    for names in [["a.b", taken.as_str()], [taken.as_str(), "a.b"]] {
        check(openai, &names);
        assert_eq!(Names::new(openai, names).wire(&taken), taken);
    }
}

#[test]
fn odd_names_are_said_too() {
    let long = "x".repeat(300);
    let longer = "x".repeat(301);
    let odd =
        ["", "1st", "-a", ".a", "a b", "a\u{301}", "日本", "A", "a", &long, &longer, "a/b", "a_b"];
    for dialect in Dialect::ALL {
        check(rule(dialect), &odd);
    }
}
