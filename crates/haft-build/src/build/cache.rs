//! What the last build found out, so that unchanged tools are not compiled again.
//!
//! One file under `.haft/` in the toolset. Another version of haft, other defaults or a file that
//! cannot be read mean an empty cache. Whoever can write into it could as well change the sources;
//! an entry that was altered carelessly is refused when the registry is loaded.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::Digest;
use haft_core::registry::Entry;
use serde::{Deserialize, Serialize};

use crate::code::{Code, Severity};
use crate::compile::Compiled;
use crate::diagnostic::Diagnostic;
use crate::folder::Scan;
use crate::toolset::Toolset;

/// A file that was changed so shortly before it was looked at could be changed again without its
/// time moving.
const RACY_NANOS: u128 = 50_000_000;

pub(super) struct Cache {
    file: PathBuf,
    key: String,
    started: u128,
    tools: HashMap<String, Remembered>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    key: String,
    tools: Vec<Remembered>,
}

#[derive(Serialize, Deserialize)]
struct Remembered {
    folder: String,
    stamps: String,
    diagnostics: Vec<Said>,
    entry: Option<(String, Digest, String)>,
}

/// A diagnostic as it is stored: every field there, since the format does not name them.
#[derive(Serialize, Deserialize)]
pub(super) struct Said {
    code: String,
    error: bool,
    tool: Option<String>,
    file: String,
    place: (usize, usize),
    span: Option<(usize, usize)>,
    message: String,
    help: Option<String>,
}

impl From<&Diagnostic> for Said {
    fn from(from: &Diagnostic) -> Self {
        Self {
            code: from.code.id.to_owned(),
            error: from.severity == Severity::Error,
            tool: from.tool.clone(),
            file: from.file.clone(),
            place: (from.line, from.column),
            span: from.span.as_ref().map(|span| (span.start, span.end)),
            message: from.message.clone(),
            help: from.help.clone(),
        }
    }
}

impl Said {
    pub(super) fn again(&self) -> Option<Diagnostic> {
        Some(Diagnostic {
            code: Code::find(&self.code)?,
            severity: if self.error { Severity::Error } else { Severity::Warning },
            tool: self.tool.clone(),
            file: self.file.clone(),
            line: self.place.0,
            column: self.place.1,
            span: self.span.map(|(start, end)| start..end),
            message: self.message.clone(),
            help: self.help.clone(),
        })
    }
}

impl Cache {
    pub(super) fn empty(toolset: &Toolset) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            file: toolset.root.join(".haft").join("build.cache"),
            key: key(toolset),
            started: now.map_or(0, |now| now.as_nanos()),
            tools: HashMap::new(),
        }
    }

    pub(super) fn load(toolset: &Toolset) -> Self {
        let mut cache = Self::empty(toolset);
        let stored = fs::read(&cache.file).ok().and_then(|bytes| {
            let stored: Stored = postcard::from_bytes(&bytes).ok()?;
            (stored.key == cache.key).then_some(stored)
        });
        if let Some(stored) = stored {
            cache.tools =
                stored.tools.into_iter().map(|tool| (tool.folder.clone(), tool)).collect();
        }
        cache
    }

    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// What is known of a folder whose files have not changed.
    pub(super) fn recall(&self, scan: &Scan) -> Option<Compiled> {
        let known = self.tools.get(&scan.name)?;
        if known.stamps != stamps(scan) {
            return None;
        }
        let diagnostics: Option<Vec<_>> = known.diagnostics.iter().map(Said::again).collect();
        let entry = known.entry.as_ref().map(|(id, digest, json)| Entry {
            id: id.clone(),
            digest: digest.clone(),
            json: json.clone(),
        });
        Some(Compiled { diagnostics: diagnostics?, entry })
    }

    /// Remembers a build. Failing to is no failure: the next build is only slower.
    pub(super) fn save<'a>(&self, tools: impl Iterator<Item = (&'a Scan, &'a Compiled)>) {
        let tools = tools
            .filter(|(scan, _)| !self.is_racy(scan))
            .map(|(scan, compiled)| Remembered {
                folder: scan.name.clone(),
                stamps: stamps(scan),
                diagnostics: compiled.diagnostics.iter().map(Said::from).collect(),
                entry: compiled
                    .entry
                    .as_ref()
                    .map(|entry| (entry.id.clone(), entry.digest.clone(), entry.json.clone())),
            })
            .collect();
        let stored = Stored { key: self.key.clone(), tools };
        let Ok(bytes) = postcard::to_stdvec(&stored) else { return };
        let Some(folder) = self.file.parent() else { return };
        let ready = fs::create_dir_all(folder).is_ok()
            && fs::write(folder.join(".gitignore"), "*\n").is_ok();
        let temporary = folder.join(format!("build.cache.{}", std::process::id()));
        if ready
            && fs::write(&temporary, bytes).is_ok()
            && fs::rename(&temporary, &self.file).is_err()
        {
            let _ = fs::remove_file(&temporary);
        }
    }

    /// Over every file of every folder; nothing where one could not be listed, or could still be
    /// changing.
    pub(super) fn fingerprint<'a>(
        &self,
        scans: impl Iterator<Item = Option<&'a Scan>>,
    ) -> Option<String> {
        let mut whole = String::new();
        for scan in scans {
            let scan = scan.filter(|scan| !self.is_racy(scan))?;
            whole.push_str(&format!(
                "{}/{}\n",
                serde_json::Value::from(scan.name.as_str()),
                stamps(scan)
            ));
        }
        Some(Digest::of_bytes(format!("{}\n{whole}", self.key).as_bytes()).to_string())
    }

    fn is_racy(&self, scan: &Scan) -> bool {
        scan.files.iter().any(|found| found.stamp.modified + RACY_NANOS > self.started)
    }
}

/// Everything besides a folder's own files that its result depends on.
fn key(toolset: &Toolset) -> String {
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
