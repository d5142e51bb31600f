//! What the last build found out, so that unchanged tools are not compiled again.
//!
//! One file under `.haft/` in the toolset: a key, then a record for each tool. What is compiled
//! later is appended, and a later record stands for an earlier one, so that one changed tool does
//! not write thousands of others anew. Another version of haft, other defaults or a file that
//! cannot be read mean an empty cache, and so does an entry that does not match its digest. Whoever
//! can write into it could as well change the sources; still, a build that is signed does not use
//! it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::Digest;
use haft_core::registry::Entry;
use serde::{Deserialize, Serialize};

use super::seen::{Seen, Source};
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
    state: State,
}

/// What can be done with the file that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// More can be written at its end.
    Open,
    /// It is missing, of something else, damaged, or more than half of it is overtaken.
    Spent,
}

/// Everything is borrowed, on the way in from the bytes of the file and on the way out from the
/// build: the entries are most of a registry, and one changed tool should not copy them all.
#[derive(Serialize, Deserialize)]
pub(super) struct Remembered<'a> {
    #[serde(borrow)]
    pub(super) seen: Seen<'a>,
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
        let (tools, state) = records(&key, bytes);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let started = now.map_or(0, |now| now.as_nanos());
        Self { file: file(toolset), key, started, tools, state }
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// What is known of a folder whose files have not changed.
    pub(super) fn recall(&self, name: &str, tools: &Path) -> Option<(&Remembered<'a>, Compiled)> {
        let known = self.tools.get(name).filter(|known| known.seen.is_still_so(tools))?;
        let diagnostics: Option<Vec<_>> = known.diagnostics.iter().map(Said::again).collect();
        let entry = match &known.entry {
            Some((id, digest, json)) => {
                let digest = Digest::try_from(digest.to_string()).ok()?;
                let entry = Entry { id: (*id).to_owned(), digest, json: (*json).to_owned() };
                Some(entry.is_intact().then_some(entry)?)
            }
            None => None,
        };
        Some((known, Compiled { diagnostics: diagnostics?, entry }))
    }

    /// Remembers a build. Failing to is no failure: the next build is only slower.
    pub(super) fn save(&self, tools: &[(Option<Source<'_>>, Compiled)]) {
        let Some(folder) = self.file.parent().and_then(Path::parent).and_then(own_folder) else {
            return;
        };
        let fresh = tools.iter().filter_map(|(source, compiled)| match source.as_ref()? {
            Source::Fresh(scan) => {
                (compiled.is_lasting() && !self.is_racy(scan)).then(|| remembered(scan, compiled))
            }
            Source::Known(_) => None,
        });
        let known = tools.iter().filter_map(|(source, _)| match source.as_ref()? {
            Source::Known(known) => Some(*known),
            Source::Fresh(_) => None,
        });
        let known: Vec<&Remembered<'_>> = known.collect();
        let mut bytes = Vec::new();
        // Folders that are gone would stay in a file that only grows.
        if self.state == State::Open && tools.len() >= self.len() {
            fresh.for_each(|record| append(&mut bytes, &record));
            let file = fs::OpenOptions::new().append(true).open(&self.file);
            let _ = file.and_then(|mut file| file.write_all(&bytes));
            return;
        }
        append(&mut bytes, &self.key);
        known.into_iter().for_each(|record| append(&mut bytes, record));
        fresh.for_each(|record| append(&mut bytes, &record));
        let temporary = folder.join(format!("build.cache.{}", std::process::id()));
        if replace(&temporary, &self.file, &bytes).is_err() {
            let _ = fs::remove_file(&temporary);
        }
    }

    /// Whether a folder could still be changing without its times moving.
    pub(super) fn is_racy(&self, scan: &Scan) -> bool {
        let recent = |stamp: &Stamp| stamp.modified + RACY_NANOS > self.started;
        recent(&scan.stamp) || scan.files.iter().any(|found| recent(&found.stamp))
    }
}

/// The records of the file, the latest of each tool.
fn records<'a>(key: &str, bytes: &'a [u8]) -> (HashMap<&'a str, Remembered<'a>>, State) {
    let mut tools = HashMap::new();
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    let mut overtaken = 0;
    let found = postcard::take_from_bytes::<&str>(bytes).ok().filter(|(found, _)| *found == key);
    let Some((_, mut rest)) = found else { return (tools, State::Spent) };
    while !rest.is_empty() {
        // What follows a damaged record cannot be told apart from it.
        let Ok((record, after)) = postcard::take_from_bytes::<Remembered<'a>>(rest) else {
            return (tools, State::Spent);
        };
        let size = rest.len() - after.len();
        overtaken += sizes.insert(record.seen.name, size).unwrap_or_default();
        tools.insert(record.seen.name, record);
        rest = after;
    }
    let state = if overtaken * 2 > bytes.len() { State::Spent } else { State::Open };
    (tools, state)
}

fn remembered<'b>(scan: &'b Scan, compiled: &'b Compiled) -> Remembered<'b> {
    Remembered {
        seen: Seen::of(scan),
        diagnostics: compiled.diagnostics.iter().map(Said::from).collect(),
        entry: compiled.entry.as_ref().map(|entry| {
            (entry.id.as_str(), Cow::Owned(entry.digest.to_string()), entry.json.as_str())
        }),
    }
}

/// A record that cannot be written is left out; its tool is compiled again.
fn append(bytes: &mut Vec<u8>, record: &impl Serialize) {
    if let Ok(record) = postcard::to_stdvec(record) {
        bytes.extend_from_slice(&record);
    }
}

fn replace(temporary: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(temporary, bytes)?;
    fs::rename(temporary, file)
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
