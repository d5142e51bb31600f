//! The index folder: which generation of the index is in force, and who writes.
//!
//! ```text
//! .haft/kb/current        the name of the generation in force, replaced in one step
//! .haft/kb/writer.lock    held by the one process that writes
//! .haft/kb/g-1/           one index; files of ours beside it are named by its last commit
//! ```
//!
//! An index is changed by commits, which are atomic. One that must be made anew (another language,
//! another format) is made beside the old one, which answers until `current` is replaced.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tantivy::{Index, IndexSettings};

use super::base::KbError;
use super::embed::Embed;
use super::schema::{FORMAT, READER, schema};
use super::words::{Indexed, Language};

/// How a knowledge base is kept.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The index folder.
    pub path: PathBuf,
    /// The language of most of its text.
    pub language: Language,
    /// The namespace of records that name none.
    pub namespace: String,
    /// What makes vectors, where there is something.
    pub embed: Option<Arc<dyn Embed>>,
}

const CURRENT: &str = "current";
const LOCK: &str = "writer.lock";

/// What a commit says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Commit {
    pub(super) format: u32,
    pub(super) language: Language,
    /// The list of files, beside the index.
    pub(super) manifest: String,
    /// What made its vectors.
    #[serde(default)]
    pub(super) embedder: Option<String>,
    /// The vectors, beside the index.
    #[serde(default)]
    pub(super) vectors: Option<String>,
}

impl Commit {
    /// Whether an index that says so is one that this setup would make.
    pub(super) fn is_of(&self, setup: &Setup) -> bool {
        self.format == FORMAT && self.language == setup.language && self.embedder == embedder(setup)
    }

    /// Why an index that says so is not one that this setup would make.
    pub(super) fn differs(&self, setup: &Setup) -> Option<String> {
        if self.format != FORMAT {
            return Some("another version of haft made the index".to_owned());
        }
        if self.language != setup.language {
            return Some(format!(
                "the language was `{}` and is `{}`",
                self.language.as_str(),
                setup.language.as_str()
            ));
        }
        match (&self.embedder, embedder(setup)) {
            (Some(before), Some(now)) if *before != now => {
                Some(format!("the embedding model was `{before}` and is `{now}`"))
            }
            (None, Some(now)) => Some(format!("there is an embedding model now: `{now}`")),
            (Some(before), None) => Some(format!("the embedding model `{before}` is gone")),
            (Some(_), Some(_)) | (None, None) => None,
        }
    }

    pub(super) fn new(setup: &Setup, manifest: String, vectors: Option<String>) -> Self {
        Self {
            format: FORMAT,
            language: setup.language,
            manifest,
            embedder: embedder(setup),
            vectors,
        }
    }
}

fn embedder(setup: &Setup) -> Option<String> {
    setup.embed.as_ref().map(|embed| embed.name())
}

/// The generation in force.
pub(super) fn current(path: &Path) -> Result<Option<PathBuf>, KbError> {
    match fs::read_to_string(path.join(CURRENT)) {
        Ok(name) => {
            let name = name.trim();
            let plain = name.strip_prefix("g-").is_some_and(|n| n.parse::<u32>().is_ok());
            match plain {
                true => Ok(Some(path.join(name))),
                false => Err(KbError::damaged(path, "`current` names no generation")),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(KbError::disk(path, error)),
    }
}

/// A folder for the generation after the one in force.
pub(super) fn next(path: &Path, before: Option<&Path>) -> Result<PathBuf, KbError> {
    let number = before
        .and_then(Path::file_name)
        .and_then(|name| name.to_str()?.strip_prefix("g-")?.parse::<u32>().ok())
        .unwrap_or(0);
    let folder = path.join(format!("g-{}", number.saturating_add(1)));
    // One that was begun and never came into force.
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| KbError::disk(&folder, error))?;
    }
    private(&folder).map_err(|error| KbError::disk(&folder, error))?;
    Ok(folder)
}

/// A folder for its owner alone: what may be read by whom is decided above it.
fn private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new file, or an old one emptied, for its owner alone.
fn own_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Puts a generation into force and removes the others. Who still reads one of them keeps its files.
pub(super) fn put_in_force(path: &Path, generation: &Path) -> Result<(), KbError> {
    let name = generation.file_name().unwrap_or_default().to_string_lossy().into_owned();
    write_whole(&path.join(CURRENT), format!("{name}\n").as_bytes())
        .map_err(|error| KbError::disk(path, error))?;
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let other = entry.file_name().to_string_lossy().into_owned();
        if other.starts_with("g-") && other != name {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Writes a file whole or not at all.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = own_file(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    if let Some(folder) = path.parent() {
        // So that the new name is on the disk, too. Not every system can; then it has no need.
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// The right to write, for one process at a time. Ends with the process, however it ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    pub(super) fn take(path: &Path) -> Result<Self, KbError> {
        if !path.exists() {
            private(path).map_err(|error| KbError::disk(path, error))?;
        }
        let file = own_file(&path.join(LOCK)).map_err(|error| KbError::disk(path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(KbError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(KbError::disk(path, error)),
        }
    }
}

/// Records are compressed in blocks of so many bytes. Of each find a whole block is unpacked, so they
/// are a quarter of what is usual.
const BLOCK: usize = 4 << 10;

/// A new, empty index.
pub(super) fn create(folder: &Path, language: Language) -> Result<Index, KbError> {
    let settings = IndexSettings {
        docstore_compress_dedicated_thread: false,
        docstore_blocksize: BLOCK,
        ..IndexSettings::default()
    };
    let index = Index::builder()
        .schema(schema().0)
        .settings(settings)
        .create_in_dir(folder)
        .map_err(|error| KbError::engine(folder, error))?;
    Ok(with_words(index, language))
}

/// An index with what its last commit says.
pub(super) fn open(folder: &Path) -> Result<(Index, Commit), KbError> {
    let wrong = |error| KbError::engine(folder, error);
    let index = Index::open_in_dir(folder).map_err(wrong)?;
    let payload = index.load_metas().map_err(wrong)?.payload.unwrap_or_default();
    let commit: Commit = serde_json::from_str(&payload)
        .map_err(|_| KbError::damaged(folder, "its last commit does not say what it is"))?;
    let index = with_words(index, commit.language);
    Ok((index, commit))
}

fn with_words(index: Index, language: Language) -> Index {
    index.tokenizers().register(READER, Indexed::new(language));
    index
}
