//! 3,526 real definitions, quirks included.

use std::collections::HashMap;
use std::path::Path;

use haft_core::Digest;
use serde_json::Value;

use super::super::*;
use super::check_restores;
use crate::build::{Reuse, check};
use crate::code::Severity as Lint;

const DEFINITIONS: usize = 3_526;

/// The corpus lies beside the workspace; not everyone has it.
fn corpus() -> Option<String> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/bfcl_functions.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if std::env::var_os("CI").is_some() => panic!("{}: {error}", path.display()),
        Err(error) => {
            eprintln!("skipped: the corpus is not at {} ({error})", path.display());
            None
        }
    }
}

#[test]
fn every_definition_of_the_corpus_can_be_restored() {
    let Some(text) = corpus() else { return };
    let definitions: Vec<Value> = serde_json::from_str(&text).unwrap();
    let import = functions(&text).unwrap();
    let sources: HashMap<String, &Value> = definitions
        .iter()
        .map(|definition| (Digest::of_json(definition).to_string(), definition))
        .collect();
    check_restores(&import, |digest| {
        let source = sources[digest];
        (Some(source["raw_parameters"].clone()), source.get("raw_response").cloned())
    });
    let refused: Vec<(&str, &str)> = import
        .report
        .entries
        .iter()
        .filter(|entry| entry.severity == Severity::Error)
        .map(|entry| (entry.source.as_str(), entry.pointer.as_str()))
        .collect();
    assert_eq!(refused, []);
    assert_eq!((import.report.definitions, import.tools.len()), (DEFINITIONS, DEFINITIONS));
}

#[test]
fn every_tool_of_the_corpus_passes_the_linter() {
    let Some(text) = corpus() else { return };
    let import = functions(&text).unwrap();
    let dir = tempfile::tempdir().unwrap();
    write(&import, dir.path(), Overwrite::Refuse).unwrap();
    let checked = check(dir.path(), Reuse::Nothing, &|_, _| {}).unwrap();
    let errors: Vec<String> = checked
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Lint::Error)
        .map(crate::diagnostic::Diagnostic::one_line)
        .collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(checked.entries.len(), DEFINITIONS);
}

#[test]
fn every_tool_of_the_corpus_can_be_said_in_the_data_model() {
    let Some(text) = corpus() else { return };
    let import = functions(&text).unwrap();
    let registry = crate::export::tests::registry(import.tools.iter().map(super::contract));
    let rendering = haft_wire::render(haft_wire::Dialect::Adm, Default::default(), &registry.tools);
    let tool = haft_adm::Tool::from_value(rendering.tools).unwrap();
    assert_eq!(tool.functions().len(), DEFINITIONS);
    assert_eq!(rendering.quarantined, []);
}
