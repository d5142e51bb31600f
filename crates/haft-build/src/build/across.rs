//! What is wrong with the toolset as a whole, and with tools that speak of each other.

use std::collections::{HashMap, HashSet};
use std::io;

use haft_adm::strict;
use haft_core::names::id_of_folder;
use haft_core::registry::Entry;
use rayon::prelude::*;
use serde_json::Value;

use crate::code;
use crate::compile::Compiled;
use crate::diagnostic::{At, Diagnostic, File, Findings, Texts};
use crate::folder::{self, Unlisted};
use crate::lint;
use crate::resolve;
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

/// Checks the tools against each other and drops the entries of those that fail. Tools that have
/// other errors are checked too, so that one run says all there is to say.
pub(super) fn references(
    toolset: &Toolset,
    folders: &[String],
    entries: &mut Vec<Entry>,
) -> Vec<Diagnostic> {
    let ids: Vec<String> = folders.iter().map(|folder| id_of_folder(folder)).collect();
    let broken = broken(toolset, folders, &ids, entries);
    let spoken = entries.par_iter().any(|entry| lint::toolset::speaks_of_others(&entry.json));
    if !spoken && !broken.values().any(|contract| contract.speaks) {
        return Vec::new();
    }
    let sealed = entries.par_iter().filter_map(|entry| contract_of(&entry.json));
    let mut parsed: HashMap<String, Value> = sealed.collect();
    parsed.extend(broken.into_iter().map(|(id, contract)| (id, contract.value)));
    let known: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut said = Vec::new();
    for (folder, id) in folders.iter().zip(&ids) {
        let Some(contract) = parsed.get(id) else { continue };
        let findings = lint::toolset::check(contract, &|name| parsed.get(name), &known);
        if findings.has_errors() {
            entries.retain(|entry| tool_id(&entry.id) != id);
        }
        if !findings.list().is_empty() {
            said.extend(place(toolset, folder, findings));
        }
    }
    said
}

/// The contract in a sealed entry, and whose it is.
fn contract_of(entry: &str) -> Option<(String, Value)> {
    let mut tool: Value = serde_json::from_str(entry).ok()?;
    let contract = tool.get_mut("contract")?.take();
    Some((contract.get("toolId")?.as_str()?.to_owned(), contract))
}

/// The part of a canonical id that the folder names.
fn tool_id(id: &str) -> &str {
    id.split_once("__").map_or(id, |(_, own)| own)
}

/// A contract that did not become an entry, as far as it can be read.
struct Broken {
    value: Value,
    speaks: bool,
}

fn broken(
    toolset: &Toolset,
    folders: &[String],
    ids: &[String],
    entries: &[Entry],
) -> HashMap<String, Broken> {
    let sealed: HashSet<&str> = entries.iter().map(|entry| tool_id(&entry.id)).collect();
    let pairs = folders.iter().zip(ids).filter(|(_, id)| !sealed.contains(id.as_str()));
    let pairs: Vec<(&String, &String)> = pairs.collect();
    let read = |(folder, id): &(&String, &String)| {
        let text = contract_text(toolset, folder)?;
        let speaks = lint::toolset::speaks_of_others(&text);
        let Ok(Value::Object(mut map)) = strict::parse(&text, strict::Limits::default()) else {
            return None;
        };
        resolve::with_defaults(&mut map, &toolset.defaults);
        Some(((*id).clone(), Broken { value: Value::Object(map), speaks }))
    };
    pairs.par_iter().filter_map(read).collect()
}

/// The text of a contract, read with the same care as when it is compiled.
fn contract_text(toolset: &Toolset, folder: &str) -> Option<String> {
    let path = toolset.root.join(TOOLS).join(folder);
    let scan = folder::scan(&toolset.root, &path, folder).ok()?;
    let found = scan.files.iter().find(|found| found.name == File::Contract.name())?;
    folder::read_text(found, &File::Contract, folder::Limit::CONTRACT, &mut Findings::default())
}

/// The contract is read again for its positions: the tool may have come from the cache.
fn place(toolset: &Toolset, folder: &str, findings: Findings) -> Vec<Diagnostic> {
    let text = contract_text(toolset, folder).unwrap_or_default();
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
