//! One directory listing and a stamp per file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// What changes when a file changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// Bytes.
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: u128,
    /// Inode change time and number, where the platform has them: an edit that puts the old
    /// modification time back still moves these.
    pub(crate) changed: (i64, i64, u64),
}

/// What a directory entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Entry {
    /// A file, perhaps through a link that stays inside of the toolset.
    File,
    /// A folder.
    Folder,
    /// A link that leaves the toolset, or leads nowhere.
    Outside,
    /// A pipe, a socket, a device: never opened, since that could wait for ever.
    Special,
    /// It could not be looked at.
    Unreadable,
}

/// One entry of a tool's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) entry: Entry,
    pub(crate) stamp: Stamp,
}

/// A tool's folder as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    /// The folder's name.
    pub(crate) name: String,
    /// Of the folder itself: moves when entries come or go.
    pub(crate) stamp: Stamp,
    /// Its entries, sorted by name whatever order the file system lists them in.
    pub(crate) files: Vec<Found>,
}

/// Why a folder was not listed.
#[derive(Debug)]
pub(crate) enum Unlisted {
    /// It is a link to elsewhere.
    Outside,
    /// The file system said no.
    Io(io::Error),
}

impl From<io::Error> for Unlisted {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Lists one folder. `root` is the canonical path of the toolset.
pub(crate) fn scan(root: &Path, folder: &Path, name: &str) -> Result<Scan, Unlisted> {
    let mut metadata = fs::symlink_metadata(folder)?;
    if metadata.is_symlink() {
        if !fs::canonicalize(folder)?.starts_with(root) {
            return Err(Unlisted::Outside);
        }
        metadata = fs::metadata(folder)?;
    }
    let mut files = Vec::with_capacity(8);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A name that is not UTF-8 cannot be one of ours; it is shown with its bad bytes replaced.
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let (kind, stamp) = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => through_link(root, &path),
            // Asked of the listing, the system does not walk the whole path again.
            Ok(_) => entry.metadata().map_or((Entry::Unreadable, Stamp::none()), of),
            Err(_) => (Entry::Unreadable, Stamp::none()),
        };
        files.push(Found { name, path, entry: kind, stamp });
    }
    files.sort();
    Ok(Scan { name: name.to_owned(), stamp: Stamp::of(&metadata), files })
}

/// One file by its path, looked at as [`scan`] does.
pub(crate) fn find(root: &Path, path: &Path, name: &str) -> Found {
    let (entry, stamp) = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => through_link(root, path),
        Ok(_) => look(path),
        Err(_) => (Entry::Unreadable, Stamp::none()),
    };
    Found { name: name.to_owned(), path: path.to_owned(), entry, stamp }
}

/// The stamp of one file, where it can be had.
pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
}

fn through_link(root: &Path, path: &Path) -> (Entry, Stamp) {
    match fs::canonicalize(path) {
        Ok(target) if target.starts_with(root) => look(&target),
        _ => (Entry::Outside, Stamp::none()),
    }
}

fn look(path: &Path) -> (Entry, Stamp) {
    fs::metadata(path).map_or((Entry::Unreadable, Stamp::none()), of)
}

fn of(metadata: fs::Metadata) -> (Entry, Stamp) {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => Entry::File,
        kind if kind.is_dir() => Entry::Folder,
        _ => Entry::Special,
    };
    (kind, Stamp::of(&metadata))
}

impl Stamp {
    fn none() -> Self {
        Self { size: 0, modified: 0, changed: (0, 0, 0) }
    }

    fn of(metadata: &fs::Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self {
            size: metadata.len(),
            modified: modified.map_or(0, |since| since.as_nanos()),
            changed: changed(metadata),
        }
    }
}

#[cfg(unix)]
fn changed(metadata: &fs::Metadata) -> (i64, i64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.ctime(), metadata.ctime_nsec(), metadata.ino())
}

#[cfg(not(unix))]
fn changed(_: &fs::Metadata) -> (i64, i64, u64) {
    (0, 0, 0)
}
