//! What the last build found out, so that unchanged tools are not compiled again.
//!
//! One file under `.haft/` in the toolset. Another version of haft, other defaults or a file that
//! cannot be read mean an empty cache, and so does an entry that does not match its digest. Whoever
//! can write into it could as well change the sources; still, a build that is signed does not use
//! it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::Digest;
use haft_core::registry::Entry;
use serde::{Deserialize, Serialize};

use crate::code::{Code, Severity};
use crate::compile::Compiled;
use crate::diagnostic::Diagnostic;
use crate::folder::{Scan, Stamp};
use crate::toolset::Toolset;

/// A file that was changed so shortly before it was looked at could be changed again without its
/// time moving.
const RACY_NANOS: u128 = 50_000_000;

pub(super) struct Cache<'a> {
    file: PathBuf,
    key: String,
    started: u128,
    tools: HashMap<&'a str, Remembered<'a>>,
}

/// Everything is borrowed, on the way in from the bytes of the file and on the way out from the
/// build: the entries are most of a registry, and one changed tool should not copy them all.
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    key: &'a str,
    #[serde(borrow)]
    tools: Vec<Remembered<'a>>,
}

#[derive(Serialize, Deserialize)]
struct Remembered<'a> {
    folder: &'a str,
    stamps: Cow<'a, str>,
    #[serde(borrow)]
    diagnostics: Vec<Said<'a>>,
    entry: Option<(&'a str, Cow<'a, str>, &'a str)>,
}

/// A diagnostic as it is stored: every field there, since the format does not name them.
#[derive(Serialize, Deserialize)]
pub(super) struct Said<'a> {
    code: &'a str,
    error: bool,
    tool: Option<&'a str>,
    file: &'a str,
    place: (usize, usize),
    span: Option<(usize, usize)>,
    message: &'a str,
    help: Option<&'a str>,
}

impl<'a> From<&'a Diagnostic> for Said<'a> {
    fn from(from: &'a Diagnostic) -> Self {
        Self {
            code: from.code.id,
            error: from.severity == Severity::Error,
            tool: from.tool.as_deref(),
            file: &from.file,
            place: (from.line, from.column),
            span: from.span.as_ref().map(|span| (span.start, span.end)),
            message: &from.message,
            help: from.help.as_deref(),
        }
    }
}

impl Said<'_> {
    pub(super) fn again(&self) -> Option<Diagnostic> {
        Some(Diagnostic {
            code: Code::find(self.code)?,
            severity: if self.error { Severity::Error } else { Severity::Warning },
            tool: self.tool.map(str::to_owned),
            file: self.file.to_owned(),
            line: self.place.0,
            column: self.place.1,
            span: self.span.map(|(start, end)| start..end),
            message: self.message.to_owned(),
            help: self.help.map(str::to_owned),
        })
    }
}

fn file(toolset: &Toolset) -> PathBuf {
    toolset.root.join(".haft").join("build.cache")
}

/// The bytes that [`Cache::load`] borrows from.
pub(super) fn read(toolset: &Toolset) -> Vec<u8> {
    read_own(&file(toolset)).unwrap_or_default()
}

/// The largest cache that is read; a larger one is none of ours.
const MAX_CACHE: u64 = 1 << 30;

/// A file that we wrote earlier. A pipe or a device in its place is not opened.
pub(super) fn read_own(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::symlink_metadata(path).ok()?;
    (metadata.is_file() && metadata.len() <= MAX_CACHE).then(|| fs::read(path).ok()).flatten()
}

/// The folder for what we remember, made where it is missing. A link in its place would lead us to
/// write elsewhere.
pub(super) fn own_folder(root: &Path) -> Option<PathBuf> {
    let folder = root.join(".haft");
    if fs::symlink_metadata(&folder).is_err() {
        fs::create_dir_all(&folder).ok()?;
        fs::write(folder.join(".gitignore"), "*\n").ok()?;
    }
    fs::symlink_metadata(&folder).ok()?.is_dir().then_some(folder)
}

impl<'a> Cache<'a> {
    pub(super) fn load(toolset: &Toolset, bytes: &'a [u8]) -> Self {
        let key = key(toolset);
        let stored: Option<Stored<'a>> =
            postcard::from_bytes(bytes).ok().filter(|stored: &Stored<'a>| stored.key == key);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            file: file(toolset),
            key,
            started: now.map_or(0, |now| now.as_nanos()),
            tools: stored
                .map(|stored| stored.tools.into_iter().map(|tool| (tool.folder, tool)).collect())
                .unwrap_or_default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// What is known of a folder whose files have not changed.
    pub(super) fn recall(&self, scan: &Scan) -> Option<Compiled> {
        let known = self.tools.get(scan.name.as_str())?;
        if known.stamps != stamps(scan) {
            return None;
        }
        let diagnostics: Option<Vec<_>> = known.diagnostics.iter().map(Said::again).collect();
        let entry = match &known.entry {
            Some((id, digest, json)) => {
                let digest = Digest::try_from(digest.to_string()).ok()?;
                let entry = Entry { id: (*id).to_owned(), digest, json: (*json).to_owned() };
                Some(entry.is_intact().then_some(entry)?)
            }
            None => None,
        };
        Some(Compiled { diagnostics: diagnostics?, entry })
    }

    /// Remembers a build. Failing to is no failure: the next build is only slower.
    pub(super) fn save<'b>(&self, tools: impl Iterator<Item = (&'b Scan, &'b Compiled)>) {
        let tools = tools
            .filter(|(scan, _)| !self.is_racy(scan))
            .map(|(scan, compiled)| Remembered {
                folder: &scan.name,
                stamps: Cow::Owned(stamps(scan)),
                diagnostics: compiled.diagnostics.iter().map(Said::from).collect(),
                entry: compiled.entry.as_ref().map(|entry| {
                    (entry.id.as_str(), Cow::Owned(entry.digest.to_string()), entry.json.as_str())
                }),
            })
            .collect();
        let stored = Stored { key: &self.key, tools };
        let Some(folder) = self.file.parent().and_then(Path::parent).and_then(own_folder) else {
            return;
        };
        let temporary = folder.join(format!("build.cache.{}", std::process::id()));
        let written = write(&stored, &temporary).is_some();
        if !written || fs::rename(&temporary, &self.file).is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }

    /// Whether a folder could still be changing without its times moving.
    pub(super) fn is_racy(&self, scan: &Scan) -> bool {
        let recent = |stamp: &Stamp| stamp.modified + RACY_NANOS > self.started;
        recent(&scan.stamp) || scan.files.iter().any(|found| recent(&found.stamp))
    }
}

fn write(stored: &Stored<'_>, path: &Path) -> Option<()> {
    let file = BufWriter::with_capacity(1 << 16, fs::File::create(path).ok()?);
    postcard::to_io(stored, file).ok()?.flush().ok()
}

/// Everything besides a folder's own files that its result depends on.
pub(super) fn key(toolset: &Toolset) -> String {
    let parts = serde_json::json!([
        env!("CARGO_PKG_VERSION"),
        // A development build with changed checks must not reuse what older checks found.
        std::env::current_exe().ok().and_then(|exe| crate::folder::stamp(&exe)),
        toolset.namespace,
        toolset.defaults,
    ]);
    Digest::of_json(&parts).to_string()
}

fn stamps(scan: &Scan) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(scan.files.len() * 64);
    for found in &scan.files {
        let stamp = &found.stamp;
        // The name is written as JSON, so that no name can look like the stamp of another.
        let name = serde_json::Value::String(found.name.clone());
        let _ = write!(
            text,
            "{name}{:?}:{}:{}:{:?};",
            found.entry, stamp.size, stamp.modified, stamp.changed
        );
    }
    text
}
