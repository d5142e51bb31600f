//! Reading `haft.toml`: as it is needed, where the first mistake is the end; and to be checked, where
//! one mistake hides none of the others.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::sections::{self, LeftOut, Mistake};
use super::{Config, FILE, RawConfig, explain};
use crate::assembly::plain;

/// What [`Config::check`] finds.
pub(crate) struct Checked {
    /// What can be read; none where the parts of the file cannot be told apart.
    pub(crate) config: Option<Config>,
    /// What had to be left out of that.
    pub(crate) left_out: LeftOut,
    /// What is wrong.
    pub(crate) mistakes: Vec<Mistake>,
}

impl Config {
    /// Reads the file that is named, or the nearest one above `from`. No file is an empty one.
    pub(crate) fn find(named: Option<&Path>, from: &Path) -> anyhow::Result<Self> {
        match Self::nearest(named, from) {
            Some(file) => Self::read(&file),
            None => Ok(Self::default()),
        }
    }

    /// The file that is named, or the nearest one above `from`.
    pub(crate) fn nearest(named: Option<&Path>, from: &Path) -> Option<PathBuf> {
        match named {
            Some(file) => Some(file.to_owned()),
            None => from.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file()),
        }
    }

    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("`{}` cannot be read", file.display()))?;
        let raw: RawConfig = toml::from_str(&text).map_err(|error| {
            // The line itself is not repeated: a key may stand on it.
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let why = explain::mistake(error.message(), before);
            anyhow!("`{}`, line {line}: {}", file.display(), plain(&why))
        })?;
        let (config, wrong) = Self::resolve(raw, file);
        match wrong.into_iter().next() {
            Some(first) => Err(first.context(format!("`{}`", file.display()))),
            None => Ok(config),
        }
    }

    /// Everything that is wrong with a file, and the configuration of what can be read of it.
    pub(crate) fn check(file: &Path) -> anyhow::Result<Checked> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("`{}` cannot be read", file.display()))?;
        let (mut mistakes, readable) = sections::mistakes(&text);
        let left_out = LeftOut::of(&text, readable.as_deref().unwrap_or_default());
        let Some(raw) = readable.and_then(|rest| toml::from_str::<RawConfig>(&rest).ok()) else {
            return Ok(Checked { config: None, left_out, mistakes });
        };
        let (config, wrong) = Self::resolve(raw, file);
        mistakes.extend(wrong.iter().map(|why| {
            let why = format!("{why:#}");
            let (line, column) = sections::place(&text, &why).unwrap_or((1, 1));
            Mistake { line, column, why }
        }));
        Ok(Checked { config: Some(config), left_out, mistakes })
    }
}
