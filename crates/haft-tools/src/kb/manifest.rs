//! Which files the records are from, as of one commit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use haft_core::Digest;
use serde::{Deserialize, Serialize};

use super::base::KbError;
use super::folder::write_whole;
use super::read::Problem;

/// The files and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The sources that were imported, by name.
    pub(super) sources: Vec<String>,
    /// The files, by name.
    pub(super) files: BTreeMap<String, Entry>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Of its content.
    pub(super) digest: Digest,
    /// The source that it belongs to.
    pub(super) source: String,
    /// How many records it gave.
    pub(super) records: u64,
    /// What is wrong in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) problems: Vec<Problem>,
    /// How much more is wrong than is listed.
    #[serde(default)]
    pub(super) more: u64,
    /// Whether it may read differently next time though it has not changed: one of its ids is
    /// given by another file.
    #[serde(default)]
    pub(super) again: bool,
}

impl Manifest {
    pub(super) fn load(folder: &Path, name: &str) -> Result<Self, KbError> {
        let path = folder.join(name);
        let bytes = fs::read(&path).map_err(|error| KbError::disk(&path, error))?;
        serde_json::from_slice(&bytes)
            .map_err(|_| KbError::damaged(folder, "its list of files cannot be read"))
    }

    /// Writes it under a new name, to be named by the next commit.
    pub(super) fn save(&self, folder: &Path, before: Option<&str>) -> Result<String, KbError> {
        let number = before
            .and_then(|name| {
                name.strip_prefix("files-")?.strip_suffix(".json")?.parse::<u64>().ok()
            })
            .map_or(1, |number| number.wrapping_add(1));
        let name = format!("files-{number}.json");
        let bytes = serde_json::to_vec(self)
            .map_err(|_| KbError::damaged(folder, "its list of files cannot be written"))?;
        write_whole(&folder.join(&name), &bytes).map_err(|error| KbError::disk(folder, error))?;
        Ok(name)
    }

    /// Removes what earlier commits have left.
    pub(super) fn sweep(folder: &Path, keep: &[&str]) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours = name.starts_with("files-") || name.starts_with("vectors-");
            if ours && !keep.contains(&name.as_str()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
