//! A knowledge base in a folder that goes away.

use std::fs;
use std::path::{Path, PathBuf};

use haft_tools::kb::words::Language;
use haft_tools::kb::{Base, Import, KbError, Report, Search, Setup};
use tempfile::TempDir;

pub(crate) struct Rig {
    folder: TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn remove(&self, name: &str) -> &Self {
        fs::remove_file(self.root().join(name)).unwrap();
        self
    }

    pub(crate) fn setup(&self) -> Setup {
        setup(self.root())
    }

    pub(crate) fn try_import(&self, sources: &[&str], anew: bool) -> Result<Report, KbError> {
        let sources: Vec<PathBuf> = sources.iter().map(|source| self.root().join(source)).collect();
        Import { sources, root: self.root().to_owned(), anew }.run(&self.setup())
    }

    pub(crate) fn import(&self) -> Report {
        self.try_import(&["kb"], false).unwrap()
    }

    pub(crate) fn base(&self) -> Base {
        Base::new(self.setup())
    }

    /// The ids that a query finds, best first.
    pub(crate) fn ids(&self, query: &str) -> Vec<String> {
        let found = self.base().search(&ask(query)).unwrap();
        found.hits.into_iter().map(|hit| hit.record.id).collect()
    }
}

pub(crate) fn setup(root: &Path) -> Setup {
    Setup {
        path: root.join("index"),
        language: Language::English,
        namespace: "studio".into(),
        embed: None,
    }
}

pub(crate) fn ask(query: &str) -> Search {
    Search { query: query.into(), limit: 10, snippets: true, ..Search::default() }
}

/// `added changed removed unchanged`
pub(crate) fn files(report: &Report) -> [usize; 4] {
    [report.added, report.changed, report.removed, report.unchanged]
}
