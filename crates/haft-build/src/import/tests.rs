//! The proof: whatever an import did, its report undoes.

mod corpus;
mod quirks;

use haft_core::digest::canonical;
use serde_json::Value;

use super::*;
use crate::export;

/// The contract of a tool.
fn contract(tool: &ImportedTool) -> Value {
    serde_json::from_str(tool.file("schema.json").unwrap()).unwrap()
}

/// Exports what was imported as a registry file would carry it, undoes the report, and compares
/// with what came: `source` gives a definition's parameters and output by its digest.
#[track_caller]
fn check_restores(import: &Import, source: impl Fn(&str) -> (Option<Value>, Option<Value>)) {
    let contracts: Vec<Value> = import.tools.iter().map(contract).collect();
    let registry = export::tests::registry(contracts.iter().cloned());
    let exported = export::json_schema(&registry);
    let exported: Value = serde_json::from_str(&canonical(&exported)).unwrap();
    let report: Report =
        serde_json::from_str(&serde_json::to_string(&import.report).unwrap()).unwrap();
    let by_tool = report.entries.iter().fold(
        std::collections::HashMap::<&str, Vec<&ReportEntry>>::new(),
        |mut by_tool, entry| {
            by_tool.entry(entry.tool.as_str()).or_default().push(entry);
            by_tool
        },
    );
    for ((tool, contract), exported) in
        import.tools.iter().zip(&contracts).zip(exported.as_array().unwrap())
    {
        let entries = by_tool.get(tool.folder.as_str()).cloned().unwrap_or_default();
        let (parameters, output) = source(contract["origin"]["digest"].as_str().unwrap());
        let restored = restore(&exported["parameters"], entries.iter().copied());
        same(&tool.folder, restored, parameters);
        same(&tool.folder, restore_output(exported.get("output"), entries), output);
    }
}

/// Equal but for the order of keys and the spelling of numbers (1.0 is 1), which canonical JSON
/// does not keep.
#[track_caller]
fn same(tool: &str, restored: Option<Value>, source: Option<Value>) {
    let text = |value: Option<Value>| value.map(|value| canonical(&value));
    assert_eq!(text(restored), text(source), "{tool}");
}
