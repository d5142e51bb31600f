//! An open knowledge base.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tantivy::{DocAddress, ReloadPolicy, Searcher, TantivyDocument, schema::Value as _};

use super::folder::{self, Commit, Setup};
use super::meaning::Joined;
use super::memory::Memory;
use super::record::Record;
use super::schema::{FORMAT, Fields, schema};
use super::vectors::Vectors;

/// Why the knowledge base did not answer.
#[derive(Debug)]
pub enum KbError {
    /// Nothing has been imported.
    Empty(PathBuf),
    /// Another process writes.
    Busy(PathBuf),
    /// What was asked cannot be answered.
    Question(String),
    /// What was named is not there.
    Missing(PathBuf),
    /// The index is not what it should be.
    Damaged(PathBuf, String),
    /// The model that makes vectors does not answer as it should.
    Model(String),
    /// The disk said no.
    Disk(PathBuf, io::Error),
}

impl KbError {
    pub(super) fn damaged(path: &Path, why: &str) -> Self {
        Self::Damaged(path.to_owned(), why.to_owned())
    }

    pub(super) fn disk(path: &Path, error: io::Error) -> Self {
        Self::Disk(path.to_owned(), error)
    }

    pub(super) fn engine(path: &Path, error: tantivy::TantivyError) -> Self {
        match matches!(error, tantivy::TantivyError::LockFailure(..)) {
            true => Self::Busy(path.to_owned()),
            false => Self::Damaged(path.to_owned(), error.to_string()),
        }
    }
}

impl fmt::Display for KbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty(path) => write!(
                f,
                "nothing has been imported into `{}`; `haft kb import <files>` does that",
                path.display()
            ),
            Self::Busy(path) => write!(
                f,
                "another process is importing into `{}`; searching goes on, and importing can be \
                 tried again when it is done",
                path.display()
            ),
            Self::Question(why) => f.write_str(why),
            Self::Missing(path) => write!(f, "there is nothing at `{}`", path.display()),
            Self::Damaged(path, why) => write!(
                f,
                "the index in `{}` cannot be used: {why}; `haft kb reindex` makes it anew",
                path.display()
            ),
            Self::Model(why) => write!(
                f,
                "the embedding model cannot be used: {why} (`[kb.embeddings]` in haft.toml names it)"
            ),
            Self::Disk(path, error) => write!(f, "`{}`: {error}", path.display()),
        }
    }
}

impl std::error::Error for KbError {}

/// A knowledge base on disk. Sees what others import as soon as it is committed.
pub struct Base {
    setup: Setup,
    open: Mutex<Option<Arc<Open>>>,
}

/// One state of the index.
pub(super) struct Open {
    stamp: Stamp,
    pub(super) folder: PathBuf,
    pub(super) commit: Commit,
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    pub(super) joined: Option<Joined>,
    pub(super) memory: Memory,
}

/// Changes with every commit.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    folder: PathBuf,
    changed: Option<SystemTime>,
    file: u64,
    size: u64,
}

impl Stamp {
    fn of(folder: &Path) -> io::Result<Self> {
        let meta = fs::metadata(folder.join("meta.json"))?;
        #[cfg(unix)]
        let file = std::os::unix::fs::MetadataExt::ino(&meta);
        #[cfg(not(unix))]
        let file = 0;
        Ok(Self {
            folder: folder.to_owned(),
            changed: meta.modified().ok(),
            file,
            size: meta.len(),
        })
    }
}

impl Base {
    /// A base that is opened when it is first asked.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup, open: Mutex::new(None) }
    }

    /// How it is kept.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The state that is in force now.
    pub(super) fn now(&self) -> Result<Arc<Open>, KbError> {
        let mut open = self.open.lock();
        // A generation can be replaced while it is being opened; then the next one is there.
        let mut left = 3;
        loop {
            let found = self.look(open.as_ref());
            left -= 1;
            match found {
                Ok(found) => {
                    *open = Some(found.clone());
                    return Ok(found);
                }
                Err(error @ (KbError::Damaged(..) | KbError::Disk(..))) if left == 0 => {
                    return Err(error);
                }
                Err(KbError::Damaged(..) | KbError::Disk(..)) => {}
                Err(
                    error @ (KbError::Empty(_)
                    | KbError::Busy(_)
                    | KbError::Model(_)
                    | KbError::Question(_)
                    | KbError::Missing(_)),
                ) => return Err(error),
            }
        }
    }

    fn look(&self, before: Option<&Arc<Open>>) -> Result<Arc<Open>, KbError> {
        let path = &self.setup.path;
        let folder = folder::current(path)?.ok_or_else(|| KbError::Empty(path.clone()))?;
        let stamp = Stamp::of(&folder).map_err(|error| KbError::disk(&folder, error))?;
        match before.filter(|before| before.stamp == stamp) {
            Some(before) => Ok(before.clone()),
            None => Ok(Arc::new(Open::read(stamp, folder)?)),
        }
    }
}

impl Open {
    fn read(stamp: Stamp, folder: PathBuf) -> Result<Self, KbError> {
        let (index, commit) = folder::open(&folder)?;
        if commit.format != FORMAT {
            return Err(KbError::damaged(&folder, "another version of haft has made it"));
        }
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let reader: tantivy::IndexReader =
            reader.map_err(|error| KbError::engine(&folder, error))?;
        let searcher = reader.searcher();
        let joined = match &commit.vectors {
            Some(name) => {
                let vectors = Vectors::load(&folder, name)?;
                let joined = Joined::new(vectors, &searcher);
                Some(joined.map_err(|error| KbError::engine(&folder, error))?)
            }
            None => None,
        };
        let (fields, memory) = (schema().1, Memory::default());
        Ok(Self { stamp, searcher, commit, folder, fields, joined, memory })
    }

    /// The record at a place.
    pub(super) fn record(&self, at: DocAddress) -> Result<Record, KbError> {
        let document: TantivyDocument =
            self.searcher.doc(at).map_err(|error| KbError::engine(&self.folder, error))?;
        let text = document.get_first(self.fields.record).and_then(|value| value.as_str());
        text.and_then(|text| serde_json::from_str(text).ok())
            .ok_or_else(|| KbError::damaged(&self.folder, "a record cannot be read"))
    }

    pub(super) fn wrong(&self, error: tantivy::TantivyError) -> KbError {
        KbError::engine(&self.folder, error)
    }
}
