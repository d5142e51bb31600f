//! Files into the index: what changed is read again, what is gone is removed, in one commit.

mod before;
mod taken;
mod vectors;
mod walk;
mod work;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use super::base::KbError;
use super::folder::{Lock, Setup};
use super::read::Problem;
use before::Before;
use work::Work;

/// What to import.
#[derive(Clone, Debug)]
pub struct Import {
    /// Files and folders. Empty: the sources of the last import.
    pub sources: Vec<PathBuf>,
    /// Names of files are written from here, where they are below it.
    pub root: PathBuf,
    /// Whether everything is read anew.
    pub anew: bool,
}

/// What an import did.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Files that are new.
    pub added: usize,
    /// Files that have changed.
    pub changed: usize,
    /// Files that are gone.
    pub removed: usize,
    /// Files that are as they were.
    pub unchanged: usize,
    /// Records that were written.
    pub written: u64,
    /// Records that there are now.
    pub records: u64,
    /// What is wrong, also in files that have not changed.
    pub problems: Vec<Problem>,
    /// How much more is wrong than is listed.
    pub more_problems: u64,
    /// Passages that the embedding model was asked for.
    pub embedded: u64,
    /// Why everything was read anew though nobody asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anew: Option<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

impl Import {
    /// Brings the index up to date with the files.
    ///
    /// # Errors
    ///
    /// A source is not there, another process writes, or the disk says no. Then the index is as it
    /// was.
    pub fn run(&self, setup: &Setup) -> Result<Report, KbError> {
        let start = Instant::now();
        let _lock = Lock::take(&setup.path)?;
        let before = Before::load(setup, self.anew)?;
        // An index that is begun anew has nothing: what was not named is read again as well.
        let all = self.anew || before.is_new;
        let walked = walk::files(self, &before.manifest, all)?;
        let mut work = Work::plan(setup, before, walked)?;
        if work.is_needed() {
            work.write(setup)?;
        }
        Ok(work.report(start.elapsed()))
    }
}

/// Whether two paths are the same place.
fn same(one: &Path, other: &Path) -> bool {
    one.components().eq(other.components())
}
