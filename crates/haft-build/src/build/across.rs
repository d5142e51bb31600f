//! What is wrong with the toolset as a whole, and with tools that speak of each other.

use std::collections::HashMap;
use std::fs;
use std::io;

use haft_core::names::id_of_folder;
use haft_core::registry::{Entry, Tool};
use rayon::prelude::*;

use crate::code;
use crate::compile::Compiled;
use crate::diagnostic::{At, Diagnostic, File, Findings, Texts};
use crate::folder::{self, Unlisted};
use crate::lint;
use crate::toolset::{FILE, TOOLS, Toolset};

/// No tools, patterns that match nothing, names that clash.
pub(super) fn names(folders: &[String], idle: &[String]) -> Vec<Diagnostic> {
    let mut out = Findings::default();
    if folders.is_empty() {
        out.add(&code::NO_TOOLS, At::Whole(File::Named(TOOLS.into())), "there are no tools here")
            .help("add one with `haft new <tool>`");
    }
    for pattern in idle {
        let message = format!("`{pattern}` under `exclude` matches no folder");
        out.add(&code::IDLE_EXCLUDE, At::Whole(File::Named(FILE.into())), message);
    }
    let mut diagnostics = out.locate("", &[], &Unread);
    for (folder, code, message) in lint::toolset::names(folders) {
        let mut out = Findings::default();
        out.add(code, At::Whole(File::Folder), message).help("rename one of them");
        diagnostics.extend(out.locate(&format!("{TOOLS}/{folder}"), &[], &Unread));
    }
    diagnostics
}

/// A folder that could not be listed.
pub(super) fn unreadable(name: &str, why: &Unlisted) -> Compiled {
    let mut out = Findings::default();
    let at = At::Whole(File::Folder);
    match why {
        Unlisted::Outside => out
            .add(&code::OUTSIDE_LINK, at, "this link leaves the toolset")
            .help("a toolset is built from its own files only; copy the folder into it"),
        Unlisted::Io(error) if error.kind() == io::ErrorKind::NotADirectory => out
            .add(&code::NOT_A_FILE, at, "this is not a folder")
            .help("every tool is a folder; remove what is not, or list it under `exclude`"),
        Unlisted::Io(error) => out.add(&code::UNREADABLE, at, format!("cannot be read: {error}")),
    };
    let diagnostics = out.locate(&format!("{TOOLS}/{name}"), &[], &Unread);
    Compiled { diagnostics, entry: None }
}

/// Checks the tools against each other and drops the entries of those that fail.
pub(super) fn references(
    toolset: &Toolset,
    folders: &[String],
    entries: &mut Vec<Entry>,
) -> Vec<Diagnostic> {
    if !entries.par_iter().any(|entry| lint::toolset::speaks_of_others(&entry.json)) {
        return Vec::new();
    }
    let parsed: HashMap<String, Tool> = entries
        .par_iter()
        .filter_map(|entry| serde_json::from_str(&entry.json).ok())
        .map(|tool: Tool| (tool.contract.tool_id.clone(), tool))
        .collect();
    let ids: Vec<String> = folders.iter().map(|folder| id_of_folder(folder)).collect();
    let known: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut said = Vec::new();
    for (folder, id) in folders.iter().zip(&ids) {
        let Some(tool) = parsed.get(id) else { continue };
        let findings = lint::toolset::check(tool, &|name| parsed.get(name), &known);
        if findings.has_errors() {
            entries.retain(|entry| entry.id != tool.id);
        }
        if !findings.list().is_empty() {
            said.extend(place(toolset, folder, findings));
        }
    }
    said
}

/// The contract is read again for its positions: the tool may have come from the cache.
fn place(toolset: &Toolset, folder: &str, findings: Findings) -> Vec<Diagnostic> {
    let file = toolset.root.join(TOOLS).join(folder).join("schema.json");
    let text = fs::read_to_string(file).map(folder::normalise).unwrap_or_default();
    findings.locate(&format!("{TOOLS}/{folder}"), &[], &Contract(text))
}

struct Contract(String);

impl Texts for Contract {
    fn text(&self, file: &File) -> Option<&str> {
        (*file == File::Contract).then_some(&self.0)
    }
}

struct Unread;

impl Texts for Unread {
    fn text(&self, _: &File) -> Option<&str> {
        None
    }
}
