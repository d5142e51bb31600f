//! Loading a registry file, and remembering which was accepted last.
//!
//! A signature says who built a registry, not that it is the newest: an old one with a hole in it
//! still carries a good signature. So the build time of the last accepted registry is kept beside
//! the configuration, and an older one is refused unless it is pinned.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::Registry;
use haft_core::registry::{LoadError, Trust};
use serde::{Deserialize, Serialize};

use crate::build::write_whole;

/// Why a registry was not loaded.
#[derive(Debug)]
pub enum AcceptError {
    /// The file, or what is remembered of the last one, could not be read or written.
    Io(PathBuf, io::Error),
    /// It was refused.
    Refused(PathBuf, LoadError),
}

impl std::fmt::Display for AcceptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "`{}`: {error}", path.display()),
            Self::Refused(path, why) => write!(f, "`{}`: {why} [{}]", path.display(), why.code()),
        }
    }
}

impl std::error::Error for AcceptError {}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Mark {
    built_at: String,
    version: String,
}

/// Loads the registry at `path`. With a `mark` file, an older registry than the one accepted last
/// is refused, and a newer one is remembered.
pub fn load(path: &Path, mut trust: Trust, mark: Option<&Path>) -> Result<Registry, AcceptError> {
    let text = read(path)?;
    let last = match mark {
        Some(mark) => last_accepted(mark)?,
        None => None,
    };
    if trust.not_before.is_none() {
        trust.not_before = last.as_ref().map(|last| last.built_at.clone());
    }
    let registry =
        Registry::load(&text, &trust).map_err(|why| AcceptError::Refused(path.to_owned(), why))?;
    if let Some(mark) = mark
        && last.is_none_or(|last| last.built_at < registry.build.at)
    {
        remember(mark, &registry)?;
    }
    Ok(registry)
}

fn read(path: &Path) -> Result<String, AcceptError> {
    fs::read_to_string(path).map_err(|error| AcceptError::Io(path.to_owned(), error))
}

fn last_accepted(mark: &Path) -> Result<Option<Mark>, AcceptError> {
    match fs::read_to_string(mark) {
        // A mark that cannot be read protects nobody; saying so is better than starting over.
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|error| AcceptError::Io(mark.to_owned(), io::Error::other(error))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(AcceptError::Io(mark.to_owned(), error)),
    }
}

fn remember(mark: &Path, registry: &Registry) -> Result<(), AcceptError> {
    let now = Mark { built_at: registry.build.at.clone(), version: registry.version.clone() };
    let text = serde_json::to_string(&now).unwrap_or_default();
    write_whole(mark, &text).map_err(|error| AcceptError::Io(mark.to_owned(), error))
}
