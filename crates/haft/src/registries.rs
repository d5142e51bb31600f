//! Registries that were in use, kept beside the store: sessions are pinned to one, and outlive the
//! process that loaded it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, ensure};
use haft_build::accept::read_limited;
use haft_build::build::write_whole;
use haft_core::Registry;
use haft_core::port::Sessions as _;
use haft_core::registry::{Entry, Parts, Trust};
use haft_core::session::{Phase, Session};
use haft_runtime::policy::Problem;

use crate::assembly::{Desk, make};
use crate::config::Config;
use crate::output::Output;

/// So many are kept whether or not a session uses them.
const LAST: usize = 8;
/// And never more than so many.
const MOST: usize = 64;
/// The largest that is read.
const LARGEST: u64 = 1 << 29;
/// So many sessions of a tenant are asked what they are pinned to, the newest first.
const ASKED: usize = 10_000;

/// The folder of kept registries, one file for each version.
pub(crate) struct Kept {
    folder: PathBuf,
}

impl Kept {
    pub(crate) fn of(config: &Config) -> Self {
        Self { folder: config.database().with_file_name("registries") }
    }

    /// Keeps a registry. One that is there already counts as used now.
    pub(crate) fn put(&self, registry: &Registry) -> io::Result<()> {
        let path = self.path(&registry.version);
        if let Ok(file) = fs::File::options().append(true).open(&path) {
            return file.set_modified(SystemTime::now());
        }
        if !self.folder.exists() {
            make(&self.folder)?;
        }
        let entries: Vec<Entry> = registry.tools.iter().map(Entry::seal).collect();
        let (namespace, prompts) = (&registry.namespace, &registry.prompts);
        let parts = Parts { namespace, prompts, entries: &entries };
        write_whole(&path, &parts.write(&registry.build, None))
    }

    /// The registry of a version, every digest verified.
    pub(crate) fn get(&self, version: &str) -> anyhow::Result<Registry> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
        ensure!(version.chars().all(plain), "`{version}` is not a version of a registry");
        let path = self.path(version);
        let text = read_limited(&path, LARGEST)
            .with_context(|| format!("`{}` cannot be read", path.display()))?;
        let registry = Registry::load(&text, &Trust::default())
            .with_context(|| format!("`{}` is refused", path.display()))?;
        let found = &registry.version;
        ensure!(*found == version, "`{}` is registry {found}", path.display());
        Ok(registry)
    }

    /// Removes what is neither in use nor among the last few.
    pub(crate) fn tidy(&self, in_use: &BTreeSet<String>) {
        let mut files = self.files();
        files.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        for (at, (path, _)) in files.iter().enumerate() {
            let version = path.file_stem().unwrap_or_default().to_string_lossy();
            let wanted = at < LAST || in_use.contains(version.as_ref());
            if !wanted || at >= MOST {
                // One that cannot be removed is in nobody's way.
                let _ = fs::remove_file(path);
            }
        }
    }

    fn files(&self) -> Vec<(PathBuf, SystemTime)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
        files
            .filter(|(path, _)| path.extension().is_some_and(|ext| ext == "json"))
            .map(|(path, seen)| (path, seen.modified().unwrap_or(SystemTime::UNIX_EPOCH)))
            .collect()
    }

    fn path(&self, version: &str) -> PathBuf {
        self.folder.join(format!("{version}.json"))
    }

    /// Where they are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Desk {
    /// Keeps the registry that new sessions use, loads those that open sessions are pinned to, and
    /// removes what nobody needs. What cannot be had is said; its sessions are refused.
    pub(crate) async fn reopen_sessions(&self, out: &Output) -> anyhow::Result<()> {
        let kept = Kept::of(&self.config);
        self.keep_registry(&kept, out);
        let pinned = self.pinned().await?;
        for version in &pinned {
            self.load_pinned(&kept, version, out);
        }
        kept.tidy(&pinned);
        Ok(())
    }

    /// The same for one session.
    pub(crate) fn reopen_session(&self, session: &Session, out: &Output) {
        let kept = Kept::of(&self.config);
        self.keep_registry(&kept, out);
        self.load_pinned(&kept, of_registry(&session.registry_version), out);
    }

    pub(crate) fn keep_registry(&self, kept: &Kept, out: &Output) {
        if let Err(error) = kept.put(&self.runtime.current()) {
            out.note(&format!(
                "warning: the registry cannot be kept in `{}`, so sessions will not outlive a change \
                 of the tools: {error}",
                kept.folder().display()
            ));
        }
    }

    fn load_pinned(&self, kept: &Kept, version: &str, out: &Output) {
        if self.runtime.registry(version).is_some() {
            return;
        }
        let loaded = kept.get(version).and_then(|registry| {
            self.runtime.load_beside(registry).map_err(|found| {
                let all: Vec<_> = found.iter().map(Problem::to_string).collect();
                anyhow::anyhow!("the policy does not hold for it: {}", all.join("; "))
            })
        });
        if let Err(error) = loaded {
            out.note(&format!(
                "warning: sessions that are pinned to registry {version} are refused: {error:#}"
            ));
        }
    }

    /// The registries that open sessions are pinned to.
    async fn pinned(&self) -> anyhow::Result<BTreeSet<String>> {
        const PAGE: usize = 500;
        let mut pinned = BTreeSet::new();
        for tenant in &self.runtime.configured().records.tenants {
            let (mut last, mut asked): (Option<String>, _) = (None, 0);
            while asked < ASKED {
                let page = self.store.sessions(&tenant.id, last.as_deref(), PAGE).await?;
                asked += page.len();
                let is_last = page.len() < PAGE;
                last = page.last().map(|session| session.id.clone());
                let open = page.iter().filter(|session| session.phase != Phase::Ended);
                pinned.extend(open.map(|one| of_registry(&one.registry_version).to_owned()));
                if is_last {
                    break;
                }
            }
        }
        Ok(pinned)
    }
}

/// A version without what stands for the tools that a tenant brings along.
fn of_registry(version: &str) -> &str {
    version.split_once('+').map_or(version, |(registry, _)| registry)
}
