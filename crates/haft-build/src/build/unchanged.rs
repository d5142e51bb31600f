//! The answer to a build of which nothing has changed: one listing of the folders, and no more.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cache::{Cache, Said};
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
struct Stored {
    fingerprint: String,
    folders: usize,
    version: String,
    diagnostics: Vec<Said>,
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
    let stored: Stored = read(&toolset.root, "toolset")?;
    let (folders, _) = toolset.folders().ok()?;
    let tools = toolset.root.join(TOOLS);
    let scans: Vec<_> = in_pool(|| {
        folders
            .par_iter()
            .map(|name| folder::scan(&toolset.root, &tools.join(name), name).ok())
            .collect()
    });
    let fingerprint = Cache::empty(&toolset).fingerprint(scans.iter().map(Option::as_ref))?;
    if whole(&toolset, fingerprint) != stored.fingerprint {
        return None;
    }
    let diagnostics: Option<Vec<_>> = stored.diagnostics.iter().map(Said::again).collect();
    Some(Unchanged {
        diagnostics: diagnostics?,
        folders: stored.folders,
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
        let fixed_time = std::env::var_os("SOURCE_DATE_EPOCH").is_some();
        let now = output(&self.root, path, &self.version);
        !fixed_time && now.is_some() && now == read(&self.root, "output")
    }
}

/// The tools' files, and what the toolset's own file says besides.
fn whole(toolset: &Toolset, fingerprint: String) -> String {
    let parts = serde_json::json!([fingerprint, toolset.prompts, toolset.exclude]);
    haft_core::Digest::of_json(&parts).to_string()
}

pub(super) fn remember(checked: &Checked, fingerprint: String) {
    let (Some(toolset), Some(version)) = (&checked.toolset, checked.version()) else { return };
    let stored = Stored {
        fingerprint: whole(toolset, fingerprint),
        folders: checked.folders,
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

fn read<T: for<'de> Deserialize<'de>>(root: &Path, name: &str) -> Option<T> {
    postcard::from_bytes(&fs::read(place(root, name)).ok()?).ok()
}

/// Failing to remember is no failure: the next build is only slower.
fn write(root: &Path, name: &str, value: &impl Serialize) {
    if let Ok(bytes) = postcard::to_stdvec(value) {
        let _ = fs::write(place(root, name), bytes);
    }
}
