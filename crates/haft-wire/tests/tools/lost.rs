//! What a model sends and nobody asked for reaches the contract, which then refuses it: nothing is
//! lost on the way back, and what is told about it names places that the model has written.

use haft_core::call::RawArguments;
use haft_wire::{Rendering, Target};
use serde_json::{Value, json};

use crate::dice::{self, Dice};
use crate::retold::told;
use crate::support::tool;

const MARK: &str = "zz-7f3a";

/// The places of all objects and lists, and of everything in them.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    let step = |step: &str| format!("{at}/{}", haft_core::pointer::escape(step));
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| places(value, &step(name), all));
        }
        Value::Array(list) => {
            let each = list.iter().enumerate();
            each.for_each(|(at, value)| places(value, &step(&at.to_string()), all));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Something else somewhere: a further member, a further element, another value.
fn spoilt(dice: &mut Dice, sent: &Value) -> Value {
    let mut all = Vec::new();
    places(sent, "", &mut all);
    let at = all[dice.below(all.len())].clone();
    let mut sent = sent.clone();
    let place = sent.pointer_mut(&at).unwrap();
    if let Some(members) = place.as_object_mut() {
        members.insert("zzz".to_owned(), json!(MARK));
    } else if let Some(list) = place.as_array_mut() {
        list.push(json!(MARK));
    } else {
        *place = json!(MARK);
    }
    sent
}

fn raised(rendering: &Rendering, sent: &Value) -> String {
    match rendering.arguments("test__t", &sent.to_string()) {
        RawArguments::Text(text) => text,
        RawArguments::Value(value) | RawArguments::Read(value, _) => value.to_string(),
    }
}

/// Whether a place that is told was written by the model, or is missing where it was.
fn is_written(sent: &Value, path: &str) -> bool {
    let mut here = path;
    loop {
        if let Some(value) = sent.pointer(here) {
            // One step further is what is missing; any number of them are inside of a JSON text.
            let beyond = path.get(here.len()..).unwrap_or_default().matches('/').count();
            return beyond <= 1 || value.is_string();
        }
        here = here.rsplit_once('/').map_or("", |(around, _)| around);
    }
}

#[test]
fn nothing_is_lost_on_the_way_back() {
    let (mut sent_in_all, mut refused) = (0, 0);
    for seed in 0..80 {
        let mut dice = Dice::new(seed);
        let schema = dice::schema(&mut dice);
        let contract = haft_core::validator::compile(&schema).unwrap();
        let tool = tool("t", &schema);
        let values: Vec<Value> = (0..4)
            .map(|_| dice::value(&mut dice, &schema, &schema, 0))
            .filter(|value| contract.is_valid(value))
            .collect();
        for target in Target::ALL {
            let rendering = target.render([&tool]);
            let sent = values.iter().filter_map(|v| rendering.lower_arguments("test__t", v).ok());
            for sent in sent.collect::<Vec<_>>() {
                let spoilt = spoilt(&mut dice, &sent);
                let back = raised(&rendering, &spoilt);
                let which = format!("seed {seed}, {}: {spoilt}\nof {schema}", target.name());
                assert!(back.contains(MARK), "lost: {back}\n{which}");
                sent_in_all += 1;
                for problem in told(&rendering, &schema, &spoilt) {
                    refused += 1;
                    let path = problem["path"].as_str().unwrap();
                    assert!(is_written(&spoilt, path), "{problem} of {which}");
                }
            }
        }
    }
    eprintln!("{sent_in_all} spoilt arguments, {refused} problems told");
    assert!(sent_in_all > 2_000 && refused > 800, "{sent_in_all}, {refused}");
}
