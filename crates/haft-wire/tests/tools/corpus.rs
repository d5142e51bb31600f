//! 3,526 real definitions in every dialect, and 2,642 real calls there and back.

use std::collections::{BTreeMap, HashMap};

use haft_core::Tool;
use haft_core::call::RawArguments;
use haft_wire::{Fate, Rendering, Strictness, Target};
use serde_json::Value;

use crate::docs;
use crate::losses::silent;
use crate::support::{Types, corpus, file};

/// The calls that their function takes as they are: the function's id in the registry, the
/// arguments.
fn calls<'c>(corpus: &'c [(String, Tool)], calls: &'c [Value]) -> Vec<(&'c Tool, &'c Value)> {
    let tools: HashMap<&str, &Tool> = corpus.iter().map(|(id, tool)| (id.as_str(), tool)).collect();
    let mut validators = HashMap::new();
    let valid = calls.iter().filter_map(|call| {
        let tool = tools[call["function"].as_str().unwrap()];
        let validator = validators
            .entry(&tool.id)
            .or_insert_with(|| haft_core::validator::compile(&tool.contract.parameters).unwrap());
        validator.is_valid(&call["args"]).then_some((tool, &call["args"]))
    });
    valid.collect()
}

fn there_and_back(rendering: &Rendering, tool: &Tool, arguments: &Value) {
    let target = rendering.target().name();
    let wire = rendering.wire_name(&tool.id).unwrap();
    assert_eq!(rendering.tool(wire), Some(tool.id.as_str()));
    let sent = rendering.lower_arguments(&tool.id, arguments);
    let sent = sent.unwrap_or_else(|why| panic!("{target} {}: {why}", tool.id)).to_string();
    let raised = match rendering.arguments(wire, &sent) {
        RawArguments::Text(text) => serde_json::from_str(&text).unwrap(),
        RawArguments::Value(value) | RawArguments::Read(value, _) => value,
    };
    assert_eq!(&raised, arguments, "{target} {} sent as {sent}", tool.id);
}

/// How much of the corpus a target says how well.
fn share(rendering: &Rendering, definitions: usize) -> docs::Share {
    let mut worst: HashMap<&str, Fate> = HashMap::new();
    for loss in &rendering.report {
        let fate = worst.entry(&loss.tool).or_insert(loss.fate);
        *fate = (*fate).max(loss.fate);
    }
    let having = |is: fn(Fate) -> bool| worst.values().filter(|fate| is(**fate)).count();
    docs::Share {
        target: rendering.target().name(),
        untouched: definitions - worst.len() - rendering.quarantined.len(),
        changed: having(|fate| !fate.is_loss()),
        described: having(|fate| fate == Fate::Described),
        lost: having(|fate| fate > Fate::Described),
        quarantined: rendering.quarantined.len(),
    }
}

#[test]
fn the_corpus_is_said_in_every_dialect() {
    let (Some(corpus), Some(text)) = (corpus(), file("corpora/bfcl_calls.json")) else { return };
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let calls = calls(&corpus, &all);
    assert!(calls.len() > 2_500, "{}", calls.len());
    let mut types = Types::default();
    let mut shares = Vec::new();
    for target in Target::ALL {
        let rendering = target.render(corpus.iter().map(|(_, tool)| tool));
        let quarantined = &rendering.quarantined;
        match target.strictness {
            Strictness::Plain => assert_eq!(quarantined, &[], "{}", target.name()),
            Strictness::Strict => assert!(quarantined.len() < 10, "{quarantined:?}"),
        }
        let errors = types.of_tools(target, &rendering.tools);
        assert_eq!(errors, Vec::<String>::new(), "{}", target.name());
        let mut silent = silent(&rendering, corpus.iter().map(|(_, tool)| tool));
        silent.truncate(5);
        assert_eq!(silent, Vec::<String>::new(), "{}", target.name());
        for (tool, arguments) in &calls {
            there_and_back(&rendering, tool, arguments);
        }
        let mut fates: BTreeMap<(&str, Fate), usize> = BTreeMap::new();
        for loss in &rendering.report {
            *fates.entry((&loss.keyword, loss.fate)).or_default() += 1;
        }
        eprintln!("{}: {fates:?}", target.name());
        shares.push(share(&rendering, corpus.len()));
    }
    docs::check_shares(&shares, corpus.len(), calls.len());
}
