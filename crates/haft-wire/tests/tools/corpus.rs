//! 3,526 real definitions in every dialect, and 2,642 real calls there and back.

use std::collections::{BTreeMap, HashMap};

use haft_core::Tool;
use haft_core::call::RawArguments;
use haft_wire::{Dialect, Strictness, Target};
use serde_json::Value;

use crate::support::{Types, corpus, file};

#[test]
fn every_definition_is_taken_by_the_types_of_the_sdks() {
    let Some(corpus) = corpus() else { return };
    let mut types = Types::default();
    for target in Target::ALL {
        let rendering = target.render(corpus.iter().map(|(_, tool)| tool));
        let quarantined = &rendering.quarantined;
        eprintln!("{}: {} quarantined {:?}", target.name(), quarantined.len(), quarantined.first());
        if target.strictness == Strictness::Plain {
            assert_eq!(quarantined, &[], "{}", target.name());
        }
        let errors = types.of_tools(target, &rendering.tools);
        assert_eq!(errors, Vec::<String>::new(), "{}", target.name());
    }
}

#[test]
fn every_call_of_the_corpus_goes_there_and_back() {
    let (Some(corpus), Some(calls)) = (corpus(), file("corpora/bfcl_calls.json")) else { return };
    let calls: Vec<Value> = serde_json::from_str(&calls).unwrap();
    let tools: HashMap<&str, &Tool> = corpus.iter().map(|(id, tool)| (id.as_str(), tool)).collect();
    let mut counts = BTreeMap::new();
    for target in Target::ALL {
        let rendering = target.render(corpus.iter().map(|(_, tool)| tool));
        for call in &calls {
            let tool = tools[call["function"].as_str().unwrap()];
            let validator = haft_core::validator::compile(&tool.contract.parameters).unwrap();
            if !validator.is_valid(&call["args"]) {
                continue;
            }
            let wire = rendering.wire_name(&tool.id).unwrap();
            assert_eq!(rendering.tool(wire), Some(tool.id.as_str()));
            let sent = rendering.lower_arguments(&tool.id, &call["args"]);
            let sent =
                sent.unwrap_or_else(|why| panic!("{} {}: {why}", target.name(), call["case"]));
            let raised = match rendering.arguments(wire, &sent.to_string()) {
                RawArguments::Text(text) => serde_json::from_str(&text).unwrap(),
                RawArguments::Value(value) => value,
            };
            assert_eq!(raised, call["args"], "{} {}", target.name(), call["case"]);
            *counts.entry(target.name()).or_insert(0) += 1;
        }
    }
    eprintln!("{counts:?}");
    assert!(counts.values().all(|count| *count > 1_500));
    assert_eq!(counts.len(), Target::ALL.len());
    let _ = Dialect::ALL;
}
