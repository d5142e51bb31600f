//! A whole toolset: every folder compiled, the tools checked against each other, the registry
//! written.

mod across;
mod cache;
mod provenance;
mod same;
mod seen;
mod unchanged;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_core::registry::{Build, Entry, LoadError, Parts, SigningKey, Trust, version_of};
use haft_core::{Digest, Registry};
use rayon::prelude::*;

use crate::code::Severity;
use crate::compile::{self, Compiled};
use crate::diagnostic::Diagnostic;
use crate::folder;
use crate::toolset::{OpenError, TOOLS, Toolset};

use seen::Source;
pub use unchanged::{Unchanged, unchanged};

/// Whether earlier work is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Tools whose files have not changed are not compiled again.
    Unchanged,
    /// Everything is compiled, and nothing is remembered.
    Nothing,
}

/// A toolset that has been checked from end to end.
#[derive(Debug)]
pub struct Checked {
    /// The toolset; absent when its own file is broken.
    pub toolset: Option<Toolset>,
    /// Everything there is to say, in the order of files and lines.
    pub diagnostics: Vec<Diagnostic>,
    /// The sealed tools, sorted by id: those without errors.
    pub entries: Vec<Entry>,
    /// How many folders there are.
    pub folders: usize,
    /// How many of them were compiled this time.
    pub compiled: usize,
    /// Taken over all entries, so once.
    digest: OnceLock<Option<Digest>>,
}

/// Checks the toolset at `path`. `progress` is called with how many folders are done, of how many.
///
/// ```no_run
/// use haft_build::build::{Reuse, check};
///
/// let checked = check("toolsets/studio".as_ref(), Reuse::Unchanged, &|_, _| {}).unwrap();
/// for diagnostic in &checked.diagnostics {
///     eprintln!("{}", diagnostic.one_line());
/// }
/// ```
pub fn check(
    path: &Path,
    reuse: Reuse,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Checked, OpenError> {
    let (toolset, mut diagnostics) = Toolset::open(path)?;
    let Some(toolset) = toolset else {
        return Ok(Checked {
            toolset,
            diagnostics,
            entries: Vec::new(),
            folders: 0,
            compiled: 0,
            digest: OnceLock::new(),
        });
    };
    let (folders, idle) =
        toolset.folders().map_err(|error| OpenError::Io(toolset.root.join(TOOLS), error))?;
    diagnostics.extend(across::names(&folders, &idle));
    let remembered = match reuse {
        Reuse::Unchanged => cache::read(&toolset),
        Reuse::Nothing => Vec::new(),
    };
    let memory = cache::Cache::load(&toolset, &remembered);
    let work = in_pool(|| compile_all(&toolset, &folders, &memory, reuse, progress));
    let mut entries = Vec::with_capacity(work.tools.len());
    for tool in work.tools {
        diagnostics.extend(tool.diagnostics);
        entries.extend(tool.entry);
    }
    diagnostics.extend(in_pool(|| across::references(&toolset, &folders, &mut entries)));
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    diagnostics.sort_by(|a, b| {
        (&a.file, a.line, a.column, a.code.id).cmp(&(&b.file, b.line, b.column, b.code.id))
    });
    let checked = Checked {
        toolset: Some(toolset),
        diagnostics,
        entries,
        folders: folders.len(),
        compiled: work.compiled,
        digest: OnceLock::new(),
    };
    if let Some(sources) = work.settled {
        unchanged::remember(&checked, &sources);
    }
    Ok(checked)
}

struct Work<'a> {
    tools: Vec<Compiled>,
    compiled: usize,
    /// All folders as they were seen, where the build is worth remembering as a whole.
    settled: Option<Vec<Source<'a>>>,
}

/// Parsing recurses with the depth of its input; the depth is bounded, and this is room for it.
const STACK: usize = 16 << 20;

fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().stack_size(STACK).build() {
        Ok(pool) => pool.install(work),
        // A machine that gives no threads still gets its answer, more slowly.
        Err(_) => alone(work),
    }
}

/// Does it on this thread. Outside of a pool there is no way without threads: then all of them would be
/// started for everybody, and that they cannot be is a panic.
fn alone<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build() {
        Ok(pool) => {
            let done = pool.install(work);
            // This thread stays in it, and so it has to stay.
            std::mem::forget(pool);
            done
        }
        // It is in one already, of the last time.
        Err(_) => work(),
    }
}

fn compile_all<'a>(
    toolset: &Toolset,
    folders: &[String],
    memory: &'a cache::Cache<'a>,
    reuse: Reuse,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Work<'a> {
    let tools = toolset.root.join(TOOLS);
    let done = AtomicUsize::new(0);
    let results: Vec<(Option<Source<'a>>, Compiled)> = folders
        .par_iter()
        .map(|name| {
            let result = match memory.recall(name, &tools) {
                Some((known, compiled)) => (Some(Source::Known(known)), compiled),
                None => compile(toolset, &tools, name),
            };
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, folders.len());
            result
        })
        .collect();
    let fresh =
        results.iter().filter(|(source, _)| matches!(source, Some(Source::Fresh(_)))).count();
    let changed = fresh > 0 || memory.len() != folders.len();
    let worth = reuse == Reuse::Unchanged && (changed || !unchanged::is_remembered(toolset));
    if worth && changed {
        memory.save(&results);
    }
    let (sources, tools): (Vec<Option<Source<'_>>>, Vec<Compiled>) = results.into_iter().unzip();
    let settled = |source: &Source<'_>| match source {
        Source::Known(_) => worth,
        Source::Fresh(scan) => worth && !memory.is_racy(scan),
    };
    let settled = sources.into_iter().map(|source| source.filter(settled)).collect();
    Work { tools, compiled: fresh, settled }
}

fn compile<'a>(toolset: &Toolset, tools: &Path, name: &str) -> (Option<Source<'a>>, Compiled) {
    match folder::scan(&toolset.root, &tools.join(name), name) {
        Ok(scan) => {
            let compiled = compile::tool(toolset, &scan);
            (Some(Source::Fresh(scan)), compiled)
        }
        Err(error) => (None, across::unreadable(name, &error)),
    }
}

impl Checked {
    /// How many findings are errors, and how many are warnings.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let errors = self.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        (errors, self.diagnostics.len() - errors)
    }

    /// Whether anything keeps a registry from being built.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.toolset.is_none() || self.counts().0 > 0
    }

    fn parts(&self) -> Option<Parts<'_>> {
        let toolset = self.toolset.as_ref()?;
        Some(Parts {
            namespace: &toolset.namespace,
            prompts: &toolset.prompts,
            entries: &self.entries,
        })
    }

    /// The digest of the registry that these tools make.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.digest.get_or_init(|| self.parts().map(|parts| parts.digest())).clone()
    }

    /// The version of the registry that these tools make.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        self.digest().map(|digest| version_of(&digest))
    }

    /// The registry file.
    #[must_use]
    pub fn write(&self, key: Option<&SigningKey>) -> Option<String> {
        let toolset = self.toolset.as_ref()?;
        let build = Build {
            at: provenance::now(),
            by: concat!("haft ", env!("CARGO_PKG_VERSION")).to_owned(),
            commit: provenance::commit_of(&toolset.root),
        };
        Some(self.parts()?.write(&build, key))
    }

    /// The registry as it would be loaded.
    pub fn registry(&self) -> Result<Registry, LoadError> {
        Registry::load(&self.write(None).unwrap_or_default(), &Trust::default())
    }
}

/// What became of a registry file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was written.
    New,
    /// The file there holds the same registry already.
    UpToDate,
}

impl Checked {
    /// Writes the registry to `path`. A file that differs only in its build time is left alone, so
    /// that nothing that watches it wakes; a signed one is always written, because the signature
    /// covers the build time.
    pub fn write_to(&self, path: &Path, key: Option<&SigningKey>) -> io::Result<Written> {
        // The digest is wanted right after; nothing else is left to do meanwhile.
        let (text, _) = in_pool(|| rayon::join(|| self.write(key), || self.digest()));
        let text = text.ok_or_else(|| io::Error::other("there is no toolset"))?;
        let fixed_time = provenance::fixed_time().is_some();
        let same = key.is_none() && !fixed_time && same::holds(path, &text);
        if !same {
            write_whole(path, &text)?;
        }
        unchanged::remember_written(self, path);
        Ok(if same { Written::UpToDate } else { Written::New })
    }
}

/// Writes a file whole or not at all: a reader never sees half of it. It is not forced to the
/// disk: what a power cut leaves of a registry is refused on loading and built again.
pub fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    fs::create_dir_all(&parent)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = parent.join(format!(".{name}.{}", std::process::id()));
    let written = fs::File::create(&temporary).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // The temporary file is ours; when it cannot be removed either, the first error says why.
        let _ = fs::remove_file(&temporary);
    }
    written
}
