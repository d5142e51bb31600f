//! A definition in our words, on its way to a folder; the same for every format.

use std::collections::HashSet;

use haft_core::Digest;
use haft_core::contract::{Category, OriginKind, SideEffects};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::log::{Change, Log};
use super::naming::{self, Id, Named};
use super::report::{Part, Severity};
use super::{Import, ImportedTool, Report, ReportEntry, contract, document, text};
use crate::diagnostic::{File, Findings};
use crate::lint;

/// What is known of one definition.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) digest: Digest,
    pub(super) kind: OriginKind,
    /// On one line, for the contract.
    pub(super) line: String,
    /// Whole, for the document; empty when the source has none.
    pub(super) description: String,
    pub(super) effects: Effects,
    pub(super) assumed: Vec<&'static str>,
    pub(super) parameters: Value,
    pub(super) output: Option<Value>,
    pub(super) runs: Runs,
    /// What the source says can go wrong, a line each.
    pub(super) failures: Vec<String>,
    /// Arguments that the source shows.
    pub(super) examples: Vec<Value>,
    pub(super) changes: Vec<Change>,
}

/// What a call does, as far as the source says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effects {
    pub(super) category: Category,
    pub(super) side_effects: SideEffects,
    pub(super) idempotent: bool,
    pub(super) confirmation: bool,
}

impl Effects {
    /// Of a source that says nothing: it is taken to write, once, for good.
    pub(super) const UNKNOWN: Self = Self {
        category: Category::Action,
        side_effects: SideEffects::Writes,
        idempotent: false,
        confirmation: true,
    };
}

/// What runs the tool.
#[derive(Debug)]
pub(super) enum Runs {
    /// Nothing yet.
    Nothing,
    /// One HTTP request, perhaps with a connection.
    Http { gateway: Value, connection: Option<Value> },
}

/// The contract fields that no plain definition speaks of.
pub(super) const ASSUMED: [&str; 8] = [
    "version",
    "category",
    "sideEffects",
    "idempotent",
    "requiresConfirmation",
    "allowedModes",
    "latencyBudgetMs",
    "redaction",
];

/// A definition that was read, or why it was not.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) name: String,
    pub(super) digest: Digest,
    pub(super) draft: Result<Box<Draft>, Box<Change>>,
}

impl Read {
    /// A definition that cannot be imported.
    pub(super) fn refused(
        name: String,
        digest: Digest,
        part: Part,
        pointer: &str,
        what: String,
    ) -> Self {
        let (severity, pointer) = (Severity::Error, pointer.to_owned());
        let change = Change { severity, part, pointer, what, before: None, after: None };
        Self { name, digest, draft: Err(Box::new(change)) }
    }
}

/// The longest description that a contract has.
const DESCRIPTION: usize = 1_000;

/// A description's one line and its whole, with what was changed.
pub(super) fn describe(raw: &str, name: &str, log: &mut Log) -> (String, String) {
    let shown = text::unhide(raw);
    let hidden = shown.is_some();
    let whole = shown.unwrap_or_else(|| raw.to_owned());
    let one_line = text::one_line(&whole);
    if one_line.is_empty() {
        let what = "there is no description, so the name stands in its place";
        log.record(Severity::Changed, "/description", what, (Some(json!(raw)), Some(json!(name))));
        return (name.to_owned(), String::new());
    }
    let line = text::cut(&one_line, DESCRIPTION);
    if line != raw {
        let mut what = String::from("the description is one line");
        if hidden {
            what.push_str(", without characters that nobody can see");
        }
        if line != one_line {
            what.push_str(", cut at 1,000 characters; the document has all of it");
        }
        log.record(Severity::Changed, "/description", what, (Some(json!(raw)), Some(json!(line))));
    }
    (line, whole)
}

/// Names the definitions, leaves out those that came twice, and writes their files.
pub(super) fn assemble(read: Vec<Read>) -> Import {
    let mut report = Report { definitions: read.len(), ..Report::default() };
    let mut seen = HashSet::new();
    let mut duplicates = Vec::new();
    let mut unique = Vec::new();
    for definition in read {
        match seen.insert(definition.digest.clone()) {
            true => unique.push(definition),
            false => duplicates.push(definition),
        }
    }
    let named: Vec<Named<'_>> =
        unique.iter().map(|read| Named { name: &read.name, digest: &read.digest }).collect();
    let ids = naming::ids(&named);
    let done: Vec<(Option<ImportedTool>, Vec<ReportEntry>)> =
        unique.into_par_iter().zip(ids).map(|(definition, id)| one(definition, &id)).collect();
    let mut tools = Vec::with_capacity(done.len());
    for (tool, entries) in done {
        tools.extend(tool);
        report.entries.extend(entries);
    }
    for definition in duplicates {
        let what = "the same definition came before, word for word; it is imported once";
        let change = note(Severity::Info, what.to_owned());
        report.entries.push(entry(change, String::new(), definition.name));
        report.duplicates += 1;
    }
    report.tools = tools.len();
    Import { tools, report }
}

fn one(definition: Read, id: &Id) -> (Option<ImportedTool>, Vec<ReportEntry>) {
    let (folder, name) = (id.folder(), definition.name);
    let written = definition.draft.and_then(|draft| match files(&draft, &id.id) {
        Ok(files) => Ok((files, draft)),
        Err(what) => Err(Box::new(note(Severity::Error, what))),
    });
    match written {
        Ok((files, draft)) => {
            let changes = about_contract(&draft, id).into_iter().chain(draft.changes);
            let entries = changes.map(|change| entry(change, folder.clone(), name.clone()));
            let entries = entries.collect();
            (Some(ImportedTool { folder, files }), entries)
        }
        Err(refused) => (None, vec![entry(*refused, folder, name)]),
    }
}

/// The files of a folder, unless one holds what must not stand in any file.
fn files(draft: &Draft, id: &str) -> Result<Vec<(String, String)>, String> {
    let texts = [
        (File::Contract, contract::render(draft, id)?),
        (File::Summary, document::summary(draft)),
        (File::Doc, document::render(draft)),
    ];
    for (file, text) in &texts {
        let mut findings = Findings::default();
        lint::text::check(file, text, &mut findings);
        if let Some(finding) = findings.list().first() {
            return Err(format!("its `{}` would have {}", file.name(), finding.message));
        }
    }
    Ok(texts.into_iter().map(|(file, text)| (file.name().to_owned(), text)).collect())
}

/// What the contract says beyond the schema, and the definition does not.
fn about_contract(draft: &Draft, id: &Id) -> Vec<Change> {
    let mut log = Log::new(Part::Definition);
    if id.id != draft.name {
        let what = match id.clashes {
            true => "another definition has this id, so the digest tells them apart",
            false => "the name as an id",
        };
        let change = (Some(json!(draft.name)), Some(json!(id.id)));
        log.record(Severity::Changed, "/name", what, change);
    }
    let what = "the source does not say these; look at them before the tool is used";
    log.record(Severity::Info, "", what, (None, Some(json!(draft.assumed))));
    if let Some(name) = super::schema::has_secret(&draft.parameters) {
        let what = format!("`{name}` looks like a secret; the contract answers lint H312 for now");
        log.note(Severity::Info, "", what);
    }
    if let Some(name) = super::schema::has_tenant(&draft.parameters) {
        let what = format!("`{name}` names a tenant; the contract answers lint H320 for now");
        log.note(Severity::Info, "", what);
    }
    let keywords = super::schema::portability(&draft.parameters);
    if !keywords.is_empty() {
        let what = "not every provider can say these; the contract lists them under `portability`";
        log.record(Severity::Info, "", what, (None, Some(json!(keywords))));
    }
    log.into_changes()
}

fn note(severity: Severity, what: String) -> Change {
    let (part, pointer) = (Part::Definition, String::new());
    Change { severity, part, pointer, what, before: None, after: None }
}

fn entry(change: Change, tool: String, source: String) -> ReportEntry {
    let Change { severity, part, pointer, what, before, after } = change;
    ReportEntry { tool, source, severity, part, pointer, what, before, after }
}
