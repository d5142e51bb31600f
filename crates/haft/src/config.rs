//! `haft.toml`: which toolset, and which registries are trusted.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use haft_core::Digest;
use haft_core::registry::{Pin, PublicKey, Trust, version_of};
use serde::Deserialize;

/// The file's name.
pub(crate) const FILE: &str = "haft.toml";

/// The file as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    toolset: Option<PathBuf>,
    #[serde(default)]
    registry: RawRegistry,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRegistry {
    version: Option<String>,
    digest: Option<Digest>,
    key: Option<PublicKey>,
}

/// Every question answered.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The folder that it is in.
    pub(crate) folder: Option<PathBuf>,
    /// The toolset, where it names one.
    pub(crate) toolset: Option<PathBuf>,
    /// What a registry must prove.
    pub(crate) trust: Trust,
}

impl Config {
    /// Reads the file that is named, or the nearest one above `from`. No file is an empty one.
    pub(crate) fn find(named: Option<&Path>, from: &Path) -> anyhow::Result<Self> {
        match named {
            Some(file) => Self::read(file),
            None => match from.ancestors().map(|folder| folder.join(FILE)).find(|f| f.is_file()) {
                Some(file) => Self::read(&file),
                None => Ok(Self::default()),
            },
        }
    }

    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("`{}` cannot be read", file.display()))?;
        let raw: RawConfig = toml::from_str(&text).map_err(|error| {
            // The line itself is not repeated: a key may stand on it.
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            anyhow!("`{}`, line {line}: {}", file.display(), error.message())
        })?;
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        let pin = match (raw.registry.digest, raw.registry.version) {
            // The whole digest says more than its first eight digits.
            (Some(digest), version) => {
                let its = version_of(&digest);
                if version.is_some_and(|version| version != its) {
                    bail!("`{}`: the pinned digest is that of version `{its}`", file.display());
                }
                Some(Pin::Digest(digest))
            }
            (None, Some(version)) => Some(Pin::Version(version)),
            (None, None) => None,
        };
        Ok(Self {
            toolset: raw.toolset.map(|toolset| folder.join(toolset)),
            trust: Trust { pin, key: raw.registry.key, last: None },
            folder: Some(folder),
        })
    }

    /// Where the last accepted registry is remembered. Only a project with a configuration has
    /// such a place.
    pub(crate) fn mark(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(".haft").join("accepted.json"))
    }
}
