//! Which files there are, and what they are called.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use haft_core::Digest;
use sha2::{Digest as _, Sha256};

use super::super::base::KbError;
use super::super::manifest::Manifest;
use super::super::read::Format;
use super::{Import, same};

/// More files than this are somebody's whole disk.
const MAX_FILES: usize = 1_000_000;

/// A file of a source.
pub(super) struct Named {
    pub(super) path: PathBuf,
    /// In the index.
    pub(super) name: String,
    /// Inside of its source.
    pub(super) inside: String,
    pub(super) source: String,
}

/// What an import has to look at.
#[derive(Default)]
pub(super) struct Walked {
    /// The sources by name.
    pub(super) sources: Vec<String>,
    /// Those of them that were named to be forgotten: nothing is there any more.
    pub(super) forgotten: Vec<String>,
    /// Their files, in order.
    pub(super) files: Vec<Named>,
}

/// Looks at the sources: those that are named, and all that are known where none is or all are asked
/// for.
pub(super) fn files(import: &Import, before: &Manifest, all: bool) -> Result<Walked, KbError> {
    let mut wanted: Vec<(PathBuf, bool)> = Vec::new();
    for path in &import.sources {
        let path = std::path::absolute(path).map_err(|error| KbError::disk(path, error))?;
        wanted.push((path, false));
    }
    if all || wanted.is_empty() {
        let named: Vec<String> = wanted.iter().map(|(path, _)| name(&import.root, path)).collect();
        let others = before.sources.iter().filter(|source| !named.contains(source));
        wanted.extend(others.map(|source| (import.root.join(source), true)));
    }
    let mut walked = Walked::default();
    let Walked { sources, forgotten, files } = &mut walked;
    for (path, known) in wanted {
        let path = std::path::absolute(&path).map_err(|error| KbError::disk(&path, error))?;
        let source = name(&import.root, &path);
        if sources.contains(&source) {
            continue;
        }
        match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => folder(&path, &path, &source, &import.root, files)?,
            Ok(_) if Format::of(&path).is_none() => {
                let what = format!(
                    "`{}` is none of the files that can be imported: .md, .markdown, .jsonl, .ndjson, .csv",
                    path.display()
                );
                return Err(KbError::Question(what));
            }
            Ok(_) => {
                let inside = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                files.push(Named { name: source.clone(), inside, source: source.clone(), path });
            }
            // Not by itself: a disk that is not there today may be there tomorrow.
            Err(error) if error.kind() == io::ErrorKind::NotFound && known => {
                let what = format!(
                    "`{0}` was imported and is not there; `haft kb import {0}` removes its records",
                    path.display()
                );
                return Err(KbError::Question(what));
            }
            // A source that was imported, is named and is gone takes its records with it.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && before.sources.contains(&source) =>
            {
                forgotten.push(source.clone());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(KbError::Missing(path));
            }
            Err(error) => return Err(KbError::disk(&path, error)),
        }
        sources.push(source);
    }
    if sources.is_empty() {
        let what = "nothing to import: name files or folders, or set `kb.sources` in haft.toml";
        return Err(KbError::Question(what.to_owned()));
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup_by(|a, b| a.name == b.name);
    Ok(walked)
}

/// A path as the index calls it.
fn name(root: &Path, path: &Path) -> String {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    if same(&root, path) {
        return ".".to_owned();
    }
    let below = path.strip_prefix(&root).unwrap_or(path);
    below.to_string_lossy().replace('\\', "/")
}

/// Everything below a folder that can be read. Hidden things are left out, and links are not
/// followed: what they lead to may be anywhere.
fn folder(
    top: &Path,
    folder_path: &Path,
    source: &str,
    root: &Path,
    files: &mut Vec<Named>,
) -> Result<(), KbError> {
    let mut left = vec![folder_path.to_path_buf()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).map_err(|error| KbError::disk(&at, error))? {
            let entry = entry.map_err(|error| KbError::disk(&at, error))?;
            let (path, kind) = (entry.path(), entry.file_type());
            let kind = kind.map_err(|error| KbError::disk(&path, error))?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                left.push(path);
            } else if kind.is_file() && Format::of(&path).is_some() {
                let inside =
                    path.strip_prefix(top).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                files.push(Named {
                    name: name(root, &path),
                    inside,
                    source: source.to_owned(),
                    path,
                });
            }
            if files.len() > MAX_FILES {
                let what = format!("`{}` has more than {MAX_FILES} files", top.display());
                return Err(KbError::Question(what));
            }
        }
    }
    Ok(())
}

/// The digest of a file's content, and its size.
pub(super) fn digest(path: &Path) -> io::Result<(Digest, u64)> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        bytes += read as u64;
        hasher.update(buffer.get(..read).unwrap_or_default());
    }
    let raw: [u8; 32] = hasher.finalize().into();
    Ok((Digest::from_raw(&raw), bytes))
}
