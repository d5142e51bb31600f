//! Writing `doc.md` and `doc_summary.md` from what the source says, and from nothing else.

use super::draft::Draft;
use super::text;
use crate::lint::docs::{GENERATED, MAX_SUMMARY};

/// Stands in a section that nobody has written yet.
const SILENT: &str = "The imported definition says nothing about this.";

/// The first sentences of the description.
pub(super) fn summary(draft: &Draft) -> String {
    let line = text::one_line(&draft.description);
    let line = if line.is_empty() { draft.line.as_str() } else { line.as_str() };
    text::first_sentences(line, MAX_SUMMARY) + "\n"
}

/// The seven sections.
pub(super) fn render(draft: &Draft) -> String {
    let summary = Some(text::as_markdown(&draft.description)).filter(|text| !text.is_empty());
    let sections = [
        ("Summary", summary),
        ("Preconditions", None),
        ("Postconditions", None),
        ("Invariants", None),
        ("Failure Modes", failures(draft)),
        ("Examples", examples(draft)),
        ("Common Mistakes", None),
    ];
    let mut document = format!("# {}\n", text::as_markdown(&draft.name));
    for (heading, body) in sections {
        let body = body.unwrap_or_else(|| format!("{GENERATED}\n{SILENT}"));
        document.push_str(&format!("\n## {heading}\n\n{body}\n"));
    }
    document
}

fn failures(draft: &Draft) -> Option<String> {
    let lines: Vec<String> = draft
        .failures
        .iter()
        .map(|line| format!("- {}", text::as_markdown(&text::one_line(line))))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn examples(draft: &Draft) -> Option<String> {
    let blocks: Vec<String> = draft
        .examples
        .iter()
        .map(|example| {
            let text = serde_json::to_string_pretty(example).unwrap_or_default();
            format!("```json\n{text}\n```")
        })
        .collect();
    (!blocks.is_empty()).then(|| blocks.join("\n\n"))
}
