//! Descriptions, wherever they stand: said, or reported as not said.

use std::collections::HashSet;

use haft_core::pointer::escape;
use haft_wire::{Fate, Rendering, Target};
use serde_json::{Value, json};

use crate::dice::{self, Dice};
use crate::support::tool;

/// Gives every schema a description of its own, and lists where.
fn describe(schema: &mut Value, at: &str, all: &mut Vec<(String, String)>) {
    let Some(map) = schema.as_object_mut() else { return };
    for (keyword, value) in map.iter_mut() {
        let place = format!("{at}/{}", escape(keyword));
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
                for (name, schema) in named {
                    describe(schema, &format!("{place}/{}", escape(name)), all);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                for (number, schema) in list.iter_mut().enumerate() {
                    describe(schema, &format!("{place}/{number}"), all);
                }
            }
            ("items" | "additionalProperties", schema) => describe(schema, &place, all),
            _ => {}
        }
    }
    let text = format!("about {};", all.len());
    map.insert("description".to_owned(), json!(text));
    all.push((at.to_owned(), text));
}

/// The definitions that arguments can be of: those that the root refers to, and those that they do.
fn reachable(root: &Value) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut left = vec![root];
    while let Some(schema) = left.pop() {
        match schema {
            Value::Object(map) => {
                let target = map.get("$ref").and_then(Value::as_str);
                let name = target.and_then(|target| target.strip_prefix("#/$defs/"));
                if let Some(name) = name.filter(|name| found.insert((*name).to_owned())) {
                    left.push(&root["$defs"][name]);
                }
                left.extend(map.iter().filter(|(word, _)| *word != "$defs").map(|(_, v)| v));
            }
            Value::Array(list) => left.extend(list),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

#[test]
fn a_definition_is_reached_only_from_the_root() {
    let schema = json!({
        "properties": {"a": {"items": {"$ref": "#/$defs/one"}}},
        "$defs": {
            "one": {"anyOf": [{"$ref": "#/$defs/two"}, {"$ref": "#/$defs/one"}]},
            "two": {"type": "string"},
            "three": {"items": {"$ref": "#/$defs/four"}},
            "four": {"type": "string"},
        },
    });
    assert_eq!(reachable(&schema), HashSet::from(["one".to_owned(), "two".to_owned()]));
}

/// A place as the report names it: schemas that hold together are said as one, and are one there.
fn joined(at: &str) -> String {
    let mut all = String::new();
    let mut steps = at.split('/').skip(1);
    while let Some(step) = steps.next() {
        match step {
            "allOf" => drop(steps.next()),
            _ => all += &format!("/{step}"),
        }
        // What follows is a name, whatever it reads like.
        if matches!(step, "properties" | "$defs" | "patternProperties") {
            all.extend(steps.next().map(|name| format!("/{name}")));
        }
    }
    all
}

/// Whether a description is said, or the report speaks of it or of what it stood in.
fn is_kept_or_told(rendering: &Rendering, said: &str, at: &str, text: &str) -> bool {
    // A definition goes with whatever refers to it, wherever that was.
    let lossy = |fate: Fate| matches!(fate, Fate::Approximated | Fate::Dropped);
    if at.starts_with("/$defs/") && rendering.report.iter().any(|loss| lossy(loss.fate)) {
        return true;
    }
    let at = format!("/parameters{}", joined(at));
    said.contains(text)
        || rendering.report.iter().any(|loss| {
            let around = at == loss.pointer || at.starts_with(&format!("{}/", loss.pointer));
            let of_it = loss.pointer == format!("{at}/description");
            let lost = lossy(loss.fate) || loss.note == "it can never be sent";
            of_it || (around && lost)
        })
}

#[test]
fn every_description_is_said_or_reported() {
    let mut said_in_all = 0;
    for seed in 0..1_000 {
        let mut dice = Dice::new(seed);
        let mut schema = dice::schema(&mut dice);
        let mut all = Vec::new();
        describe(&mut schema, "", &mut all);
        // What no argument can be of, nobody is told about.
        let used = reachable(&schema);
        let is_used = |at: &str| match at.strip_prefix("/$defs/") {
            Some(rest) => used.contains(rest.split('/').next().unwrap()),
            None => true,
        };
        let tool = tool("t", &schema);
        for target in Target::ALL {
            let rendering = target.render([&tool]);
            let said = rendering.tools.to_string();
            for (at, text) in all.iter().filter(|(at, _)| is_used(at)) {
                said_in_all += 1;
                assert!(
                    is_kept_or_told(&rendering, &said, at, text),
                    "seed {seed}, {}: `{text}` of `{at}` is lost\n{said}\nof {schema}\n{:?}",
                    target.name(),
                    rendering.report
                );
            }
        }
    }
    assert!(said_in_all > 100_000, "{said_in_all}");
}

#[track_caller]
fn check(property: Value, texts: &[&str]) {
    let schema =
        json!({"type": "object", "properties": {"a": property}, "additionalProperties": false});
    for target in Target::ALL {
        let said = target.render([&tool("t", &schema)]).tools.to_string();
        for text in texts {
            assert!(said.contains(text), "{}: {text} is not in {said}", target.name());
        }
    }
}

#[test]
fn descriptions_of_alternatives_are_kept() {
    let nothing = json!({"type": "null", "description": "no limit"});
    let one = json!({"type": "string", "description": "a name"});
    check(json!({"anyOf": [one, nothing], "description": "who"}), &["no limit", "a name", "who"]);
    let two = json!({"type": "integer", "description": "a number"});
    check(json!({"oneOf": [one, two, nothing]}), &["no limit", "a name", "a number"]);
    check(
        json!({"description": "who", "allOf": [one, {"minLength": 2, "description": "not short"}]}),
        &["who", "a name", "not short"],
    );
    check(json!({"type": "array", "prefixItems": [one], "items": two}), &["a name", "a number"]);
    let nowhere = json!({"type": "null", "description": "nowhere"});
    let none = json!({"anyOf": [nothing, nowhere], "description": "none at all"});
    check(json!({"anyOf": [none, two]}), &["no limit", "nowhere", "none at all", "a number"]);
    let any = json!({"description": "whatever"});
    check(json!({"anyOf": [any, nothing]}), &["no limit", "whatever"]);
}
