//! What an import changed: every difference between a definition and the contract made from it.
//!
//! A change to a schema is one replacement at one JSON pointer, with the value before and the
//! value after. Replacements are kept in the order in which they were made, so [`restore`] can
//! undo them backwards: what it gives is the schema as it came, or the report has left something
//! out.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::pointer;

/// How much a difference matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing differs in meaning.
    Info,
    /// Said differently, or said where the source was silent.
    Changed,
    /// In the source, and not in the contract.
    Dropped,
    /// The definition was not imported.
    Error,
}

/// Which part of a definition a pointer leads into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The definition itself.
    Definition,
    /// The schema of its arguments.
    Parameters,
    /// The schema of its result.
    Output,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportEntry {
    /// The folder of the tool, or the one that it would have had.
    pub tool: String,
    /// The definition's name in the source.
    pub source: String,
    /// How much it matters.
    pub severity: Severity,
    /// What the pointer leads into.
    pub part: Part,
    /// Where, as the schema stood when this change was made.
    pub pointer: String,
    /// What happened, in a sentence.
    pub what: String,
    /// What stood there; absent when nothing did.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What stands there now; absent when nothing does.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// A `null` that was written down is a value: `"default": null` came from somewhere.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// All differences of one import, in the order of the source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// How many definitions the source held.
    pub definitions: usize,
    /// How many became tools.
    pub tools: usize,
    /// How many were the same as an earlier one, word for word.
    pub duplicates: usize,
    /// The differences.
    pub entries: Vec<ReportEntry>,
}

impl Report {
    /// The differences of one tool.
    pub fn of<'a>(&'a self, tool: &'a str) -> impl Iterator<Item = &'a ReportEntry> {
        self.entries.iter().filter(move |entry| entry.tool == tool)
    }

    /// Counts, for people.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let count = |severity| self.entries.iter().filter(|e| e.severity == severity).count();
        Summary {
            definitions: self.definitions,
            tools: self.tools,
            duplicates: self.duplicates,
            info: count(Severity::Info),
            changed: count(Severity::Changed),
            dropped: count(Severity::Dropped),
            errors: count(Severity::Error),
        }
    }
}

/// How an import went, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "counts of what their names say")]
pub struct Summary {
    pub definitions: usize,
    pub tools: usize,
    pub duplicates: usize,
    pub info: usize,
    pub changed: usize,
    pub dropped: usize,
    pub errors: usize,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { definitions, tools, duplicates, info, changed, dropped, errors } = self;
        write!(
            f,
            "{definitions} definitions, {tools} tools, {duplicates} duplicates; {errors} errors, \
             {dropped} dropped, {changed} changed, {info} notes"
        )
    }
}

/// The parameters as they came: undoes every change that `entries` records of them, last first.
/// Nothing when the source had none. The entries are those of one tool.
pub fn restore<'a>(
    exported: &Value,
    entries: impl IntoIterator<Item = &'a ReportEntry>,
) -> Option<Value> {
    undo(Some(exported), Part::Parameters, entries)
}

/// The result's schema as it came; see [`restore`].
pub fn restore_output<'a>(
    exported: Option<&Value>,
    entries: impl IntoIterator<Item = &'a ReportEntry>,
) -> Option<Value> {
    undo(exported, Part::Output, entries)
}

fn undo<'a>(
    exported: Option<&Value>,
    part: Part,
    entries: impl IntoIterator<Item = &'a ReportEntry>,
) -> Option<Value> {
    let changes: Vec<&ReportEntry> =
        entries.into_iter().filter(|entry| entry.part == part).collect();
    changes.into_iter().rev().fold(exported.cloned(), |schema, entry| {
        if entry.before == entry.after {
            return schema;
        }
        pointer::put(schema, &entry.pointer, entry.before.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(pointer: &str, before: Option<Value>, after: Option<Value>) -> ReportEntry {
        ReportEntry {
            tool: "t".into(),
            source: "t".into(),
            severity: Severity::Changed,
            part: Part::Parameters,
            pointer: pointer.into(),
            what: "changed".into(),
            before,
            after,
        }
    }

    #[test]
    fn changes_are_undone_backwards() {
        let entries = [
            entry("", None, Some(json!({}))),
            entry("/type", None, Some(json!("dict"))),
            entry("/type", Some(json!("dict")), Some(json!("object"))),
        ];
        assert_eq!(restore(&json!({"type": "object"}), &entries), None);
        assert_eq!(
            restore(&json!({"type": "object"}), &entries[2..]),
            Some(json!({"type": "dict"}))
        );
    }

    #[test]
    fn a_null_that_was_removed_survives_a_file() {
        let removed = entry("/default", Some(Value::Null), None);
        let text = serde_json::to_string(&removed).unwrap();
        let read: ReportEntry = serde_json::from_str(&text).unwrap();
        assert_eq!(read, removed);
        assert_eq!(restore(&json!({}), [&read]), Some(json!({"default": null})));
    }
}
