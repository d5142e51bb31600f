//! A tool's folder as it was when it was built.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cache::Remembered;
use crate::folder::{self, Scan, Stamp};

/// The folder's own stamp moves when entries come or go, so that looking at the files that were
/// there is enough: no folder needs to be listed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Seen<'a> {
    pub(super) name: &'a str,
    stamp: Stamp,
    #[serde(borrow)]
    files: Vec<(&'a str, Stamp)>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(scan: &'a Scan) -> Self {
        Self {
            name: &scan.name,
            stamp: scan.stamp.clone(),
            files: scan
                .files
                .iter()
                .map(|found| (found.name.as_str(), found.stamp.clone()))
                .collect(),
        }
    }

    pub(super) fn is_still_so(&self, tools: &Path) -> bool {
        let folder = tools.join(self.name);
        let as_it_was = |path: &Path, stamp: &Stamp| folder::stamp(path).as_ref() == Some(stamp);
        as_it_was(&folder, &self.stamp)
            && self.files.iter().all(|(name, stamp)| as_it_was(&folder.join(name), stamp))
    }
}

/// Where the result for a folder came from.
pub(super) enum Source<'a> {
    /// From an earlier build.
    Known(&'a Remembered<'a>),
    /// The folder was listed, and compiled.
    Fresh(Scan),
}

impl Source<'_> {
    pub(super) fn seen(&self) -> Seen<'_> {
        match self {
            Self::Known(known) => known.seen.clone(),
            Self::Fresh(scan) => Seen::of(scan),
        }
    }
}
