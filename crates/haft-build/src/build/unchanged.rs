//! The answer to a build of which nothing has changed: one listing of the folders, and no more.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cache::{self, Said};
use super::seen::{Seen, Source};
use super::{Checked, in_pool, provenance};
use crate::code::Severity;
use crate::diagnostic::Diagnostic;
use crate::folder::{self, Stamp};
use crate::toolset::{TOOLS, Toolset};

/// A toolset that is as it was when it was built last.
#[derive(Debug)]
pub struct Unchanged {
    /// What there was to say.
    pub diagnostics: Vec<Diagnostic>,
    /// How many folders there are.
    pub folders: usize,
    /// The version of the registry that its tools make.
    pub version: String,
    root: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    key: String,
    #[serde(borrow)]
    folders: Vec<Seen<'a>>,
    version: String,
    #[serde(borrow)]
    diagnostics: Vec<Said<'a>>,
}

/// A registry file that was written, as it was then.
#[derive(PartialEq, Serialize, Deserialize)]
struct Output {
    file: PathBuf,
    version: String,
    commit: Option<String>,
    stamp: Stamp,
}

/// Looks whether anything has changed since the toolset at `path` was built last.
#[must_use]
pub fn unchanged(path: &Path) -> Option<Unchanged> {
    let (toolset, problems) = Toolset::open(path).ok()?;
    let toolset = toolset.filter(|_| problems.is_empty())?;
    let bytes = cache::read_own(&place(&toolset.root, "toolset"))?;
    let stored: Stored<'_> = postcard::from_bytes(&bytes).ok()?;
    let (names, _) = toolset.folders().ok()?;
    let same_names = stored.folders.iter().map(|seen| seen.name).eq(names.iter());
    if stored.key != key(&toolset) || !same_names {
        return None;
    }
    let tools = toolset.root.join(TOOLS);
    if !in_pool(|| stored.folders.par_iter().all(|seen| seen.is_still_so(&tools))) {
        return None;
    }
    let diagnostics: Option<Vec<_>> = stored.diagnostics.iter().map(Said::again).collect();
    Some(Unchanged {
        diagnostics: diagnostics?,
        folders: names.len(),
        version: stored.version,
        root: toolset.root,
    })
}

impl Unchanged {
    /// Whether anything keeps a registry from being built.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether the file at `path` is the registry of this toolset, written from this commit and not
    /// touched since.
    #[must_use]
    pub fn is_written_at(&self, path: &Path) -> bool {
        let fixed_time = provenance::fixed_time().is_some();
        let now = output(&self.root, path, &self.version);
        let then = cache::read_own(&place(&self.root, "output"));
        let then: Option<Output> = then.and_then(|bytes| postcard::from_bytes(&bytes).ok());
        !fixed_time && now.is_some() && now == then
    }
}

/// Everything besides the tools' files that the result depends on.
fn key(toolset: &Toolset) -> String {
    let parts = serde_json::json!([cache::key(toolset), toolset.prompts, toolset.exclude]);
    haft_core::Digest::of_json(&parts).to_string()
}

/// Whether what is remembered belongs to the toolset as its own file now describes it.
pub(super) fn is_remembered(toolset: &Toolset) -> bool {
    let bytes = cache::read_own(&place(&toolset.root, "toolset")).unwrap_or_default();
    // The key stands first; the rest need not be read to know it.
    let stored = postcard::take_from_bytes::<String>(&bytes);
    stored.is_ok_and(|(stored, _)| stored == key(toolset))
}

pub(super) fn remember(checked: &Checked, sources: &[Source<'_>]) {
    let (Some(toolset), Some(version)) = (&checked.toolset, checked.version()) else { return };
    let stored = Stored {
        key: key(toolset),
        folders: sources.iter().map(Source::seen).collect(),
        version,
        diagnostics: checked.diagnostics.iter().map(Said::from).collect(),
    };
    write(&toolset.root, "toolset", &stored);
}

pub(super) fn remember_written(checked: &Checked, path: &Path) {
    let (Some(toolset), Some(version)) = (&checked.toolset, checked.version()) else { return };
    if let Some(output) = output(&toolset.root, path, &version) {
        write(&toolset.root, "output", &output);
    }
}

fn output(root: &Path, path: &Path, version: &str) -> Option<Output> {
    let file = fs::canonicalize(path).ok()?;
    let stamp = folder::stamp(&file)?;
    Some(Output { file, version: version.to_owned(), commit: provenance::commit_of(root), stamp })
}

fn place(root: &Path, name: &str) -> PathBuf {
    root.join(".haft").join(format!("{name}.cache"))
}

/// Failing to remember is no failure: the next build is only slower.
fn write(root: &Path, name: &str, value: &impl Serialize) {
    if cache::own_folder(root).is_some()
        && let Ok(bytes) = postcard::to_stdvec(value)
    {
        let _ = fs::write(place(root, name), bytes);
    }
}
