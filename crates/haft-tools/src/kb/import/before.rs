//! The index that an import starts from.

use std::path::{Path, PathBuf};

use tantivy::{Index, ReloadPolicy, Searcher};

use super::super::base::KbError;
use super::super::embed::Purpose;
use super::super::folder::{self, Commit, Setup};
use super::super::manifest::Manifest;
use super::super::schema::{Fields, schema};
use super::super::vectors::Vectors;

/// The index as it is, or a new one.
pub(super) struct Before {
    /// The generation to write to, and whether it is yet to come into force.
    pub(super) folder: PathBuf,
    pub(super) is_new: bool,
    pub(super) index: Index,
    pub(super) fields: Fields,
    /// Of the state before; none in a new generation.
    pub(super) searcher: Option<Searcher>,
    /// The files as of then, also those of another generation.
    pub(super) manifest: Manifest,
    pub(super) manifest_name: Option<String>,
    /// Vectors that the same model made, also those of another generation.
    pub(super) vectors: Vectors,
    pub(super) vectors_name: Option<String>,
    /// Why everything is read anew though nobody asked for it.
    pub(super) why: Option<String>,
}

impl Before {
    pub(super) fn load(setup: &Setup, anew: bool) -> Result<Self, KbError> {
        let current = folder::current(&setup.path)?;
        let fields = schema().1;
        let opened = match &current {
            Some(folder) => match open(folder) {
                Ok(opened) => Some(opened),
                // Whoever asks for everything anew has a reason.
                Err(_) if anew => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let vectors = match &opened {
            Some((folder, _, commit, _)) => known(setup, folder, commit, anew)?,
            None => Vectors::default(),
        };
        match opened {
            Some((folder, index, commit, manifest)) if !anew && commit.is_of(setup) => {
                let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
                let reader: tantivy::IndexReader =
                    reader.map_err(|error| KbError::engine(&folder, error))?;
                Ok(Self {
                    folder,
                    is_new: false,
                    fields,
                    searcher: Some(reader.searcher()),
                    manifest,
                    manifest_name: Some(commit.manifest),
                    vectors,
                    vectors_name: commit.vectors,
                    index,
                    why: None,
                })
            }
            other => {
                let folder = folder::next(&setup.path, current.as_deref())?;
                let index = folder::create(&folder, setup.language)?;
                let before = other.as_ref().filter(|_| !anew);
                let why = before.and_then(|(_, _, commit, _)| commit.differs(setup));
                let sources = other.map(|(.., manifest)| manifest.sources).unwrap_or_default();
                Ok(Self {
                    folder,
                    is_new: true,
                    index,
                    fields,
                    searcher: None,
                    manifest: Manifest { sources, ..Manifest::default() },
                    manifest_name: None,
                    vectors,
                    vectors_name: None,
                    why,
                })
            }
        }
    }
}

type Opened = (PathBuf, Index, Commit, Manifest);

fn open(folder: &Path) -> Result<Opened, KbError> {
    let (index, commit) = folder::open(folder)?;
    let manifest = Manifest::load(folder, &commit.manifest)?;
    Ok((folder.to_owned(), index, commit, manifest))
}

/// Vectors cost time and money, so those that can be are used again: those of the same model, which
/// whoever asks for everything anew may doubt.
fn known(setup: &Setup, folder: &Path, commit: &Commit, anew: bool) -> Result<Vectors, KbError> {
    let (Some(embed), Some(name)) = (&setup.embed, &commit.vectors) else {
        return Ok(Vectors::default());
    };
    if commit.embedder != Some(embed.name()) {
        return Ok(Vectors::default());
    }
    let vectors = match Vectors::load(folder, name) {
        Err(_) if anew => return Ok(Vectors::default()),
        loaded => loaded?,
    };
    if anew && vectors.rows() > 0 {
        let tried = embed.embed(&["haft".to_owned()], Purpose::Import)?;
        if tried.first().is_none_or(|vector| vector.len() != vectors.length()) {
            return Ok(Vectors::default());
        }
    }
    Ok(vectors)
}
