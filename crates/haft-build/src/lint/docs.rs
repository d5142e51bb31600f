//! The documents, and whether they say what the contract says.

mod examples;
mod markdown;
mod mentions;

use serde_json::Value;

use crate::code;
use crate::diagnostic::{At, File, Findings};
use crate::scaffold;
use haft_core::nearest;

/// What a model is always shown is short.
pub(crate) const MAX_SUMMARY: usize = 250;

/// The sections that every document has.
pub(crate) const SECTIONS: &[&str] = &[
    "Summary",
    "Preconditions",
    "Postconditions",
    "Invariants",
    "Failure Modes",
    "Examples",
    "Common Mistakes",
];

/// What an import writes into a section that its source says nothing about.
pub(crate) const GENERATED: &str = "<!-- haft:generated -->";

/// Checks `doc_summary.md`.
pub(crate) fn summary(text: &str, out: &mut Findings) {
    let length = text.trim().chars().count();
    if length == 0 {
        out.add(&code::EMPTY_DOCUMENT, At::Whole(File::Summary), "the summary is empty")
            .help("say in one or two sentences what the tool does and when to use it");
    } else if length > MAX_SUMMARY {
        let span = {
            let start = text.len() - text.trim_start().len();
            let cut = text.trim().char_indices().nth(MAX_SUMMARY).map_or(0, |(at, _)| at);
            start + cut..text.trim_end().len()
        };
        out.add(
            &code::SUMMARY_TOO_LONG,
            At::Bytes(File::Summary, span),
            format!("the summary has {length} characters; at most {MAX_SUMMARY} are taken"),
        )
        .help("it is in every prompt; move the rest into `doc.md`");
    } else if is_placeholder(text) || scaffold::is_untouched_summary(text) {
        let span = text.len() - text.trim_start().len()..text.trim_end().len();
        out.add(&code::PLACEHOLDER, At::Bytes(File::Summary, span), "the summary says nothing yet")
            .help("say in one or two sentences what the tool does and when to use it");
    }
    if text.contains("<!--") {
        hidden(&markdown::read(text), &File::Summary, out);
    }
}

/// Words that stand for a text that is still to come.
fn is_placeholder(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.map(str::to_lowercase).peekable();
    let waits = ["todo", "tbd", "tba", "fixme", "xxx", "wip", "placeholder"];
    // `…` and `-` alone say as little.
    words.peek().is_none() || words.all(|word| waits.contains(&word.as_str()))
}

/// What a page does not show and a model reads all the same.
fn hidden(document: &markdown::Document, file: &File, out: &mut Findings) {
    if let Some(place) = document.comments.first() {
        out.add(&code::INVISIBLE_TEXT, At::Bytes(file.clone(), place.clone()), "an HTML comment")
            .help("a model reads it, and whoever reads the page does not; say it openly, or take it out");
    }
}

/// Checks `doc.md` against the contract. Returns the arguments of the first good example.
pub(crate) fn document(text: &str, contract: Option<&Value>, out: &mut Findings) -> Option<Value> {
    if text.trim().is_empty() {
        out.add(&code::EMPTY_DOCUMENT, At::Whole(File::Doc), "the document is empty")
            .help("write the seven sections; `haft new` shows them");
        return None;
    }
    let document = markdown::read(text);
    hidden(&document, &File::Doc, out);
    sections(&document, text, out);
    let contract = contract?;
    mentions::check(&document, contract, out);
    examples::check(&document, contract, out)
}

fn sections(document: &markdown::Document, text: &str, out: &mut Findings) {
    let titles: Vec<&str> =
        document.sections.iter().map(|section| section.title.as_str()).collect();
    let mut generated = Vec::new();
    let mut waiting = Vec::new();
    for required in SECTIONS {
        let mut found =
            document.sections.iter().filter(|section| is_titled(&section.title, required));
        let Some(section) = found.next() else {
            let near = nearest::find(required, titles.iter().copied());
            let finding = out.add(
                &code::MISSING_SECTION,
                At::Whole(File::Doc),
                format!("the section `## {required}` is missing"),
            );
            match near.filter(|title| !SECTIONS.iter().any(|known| is_titled(title, known))) {
                Some(title) => finding.help(format!("is `## {title}` meant to be it?")),
                None => finding.help("write it, even if only to say that there is nothing to say"),
            };
            continue;
        };
        if let Some(second) = found.next() {
            let message = format!("the section `## {required}` stands twice");
            out.add(&code::REPEATED_SECTION, At::Bytes(File::Doc, second.heading.clone()), message);
        }
        let body = text.get(section.body.clone()).unwrap_or_default().trim();
        if body.is_empty() {
            let message = format!("the section `## {required}` is empty");
            out.add(&code::EMPTY_SECTION, At::Bytes(File::Doc, section.heading.clone()), message);
        } else if body.starts_with(GENERATED) {
            generated.push((*required, section.heading.clone()));
        } else if is_placeholder(body) || scaffold::is_untouched(required, body) {
            waiting.push((*required, section.heading.clone()));
        }
    }
    // One finding, not seven: a bulk import is read tool by tool.
    if let Some((_, heading)) = generated.first() {
        let names: Vec<&str> = generated.iter().map(|(name, _)| *name).collect();
        let message = format!("an import left these sections to be written: {}", names.join(", "));
        out.add(&code::GENERATED_SECTION, At::Bytes(File::Doc, heading.clone()), message)
            .help(format!("write them and take out `{GENERATED}`"));
    }
    if let Some((_, heading)) = waiting.first() {
        let names: Vec<&str> = waiting.iter().map(|(name, _)| *name).collect();
        let message = format!("these sections say nothing yet: {}", names.join(", "));
        out.add(&code::PLACEHOLDER, At::Bytes(File::Doc, heading.clone()), message)
            .help("write them, even if only to say that there is nothing to say");
    }
}

/// `Common Mistakes (Do Not)` is `Common Mistakes`.
fn is_titled(title: &str, required: &str) -> bool {
    let title = title.to_lowercase();
    let required = required.to_lowercase();
    title == required || title.strip_prefix(&required).is_some_and(|rest| rest.starts_with(" ("))
}
