//! Where the tools come from: a toolset's folder or a registry file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use haft_build::accept;
use haft_build::build::{Checked, Reuse, check};
use haft_build::code::Severity;
use haft_build::diagnostic::Diagnostic;
use haft_build::diagnostic::render::{Show, text};
use haft_core::Registry;
use haft_core::names::Namespace;
use haft_core::registry::{Build, Parts, Trust};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::assembly::plain;
use crate::config::Config;
use crate::output::Output;

/// What the command line says about places.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) toolset: Option<PathBuf>,
    pub(crate) config: Option<PathBuf>,
}

impl Place {
    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        let here = std::env::current_dir().context("the current folder cannot be found")?;
        Config::find(self.config.as_deref(), &here)
    }

    /// The toolset: named, or around the current folder, or the one in `haft.toml`.
    pub(crate) fn toolset(&self) -> anyhow::Result<PathBuf> {
        self.find_toolset()?.ok_or_else(|| {
            anyhow!(
                "there is no toolset here: name one with `--toolset DIR`, or start one with \
                 `haft new <tool>`"
            )
        })
    }

    /// Whether there is no project here, and none is named.
    pub(crate) fn is_nowhere(&self) -> anyhow::Result<bool> {
        Ok(self.config.is_none()
            && self.find_toolset()?.is_none()
            && self.config()?.folder.is_none())
    }

    /// The toolset; where there is none, the current folder becomes one.
    pub(crate) fn toolset_or_here(&self) -> anyhow::Result<PathBuf> {
        Ok(self.find_toolset()?.unwrap_or_else(|| PathBuf::from(".")))
    }

    fn find_toolset(&self) -> anyhow::Result<Option<PathBuf>> {
        match self.toolset {
            Some(_) => self.toolset_beside(None),
            None => self.toolset_beside(self.config()?.toolset),
        }
    }

    /// The same, with what a configuration says that cannot be used as a whole.
    pub(crate) fn toolset_beside(
        &self,
        declared: Option<PathBuf>,
    ) -> anyhow::Result<Option<PathBuf>> {
        if let Some(toolset) = &self.toolset {
            // Naming the file means the folder that it is in.
            let named = toolset.ends_with("toolset.toml") && !toolset.is_dir();
            let folder = if named { toolset.parent() } else { None };
            return Ok(Some(folder.unwrap_or(toolset).to_owned()));
        }
        let here = std::env::current_dir().context("the current folder cannot be found")?;
        let around = here.ancestors().find(|folder| folder.join("toolset.toml").is_file());
        Ok(match (around, declared) {
            (Some(folder), _) if folder == here => Some(PathBuf::from(".")),
            (Some(folder), _) => Some(folder.to_path_buf()),
            (None, Some(toolset)) => Some(shorten(&here, toolset)),
            (None, None) => None,
        })
    }

    /// The tools as a registry: the named file, or the toolset compiled.
    pub(crate) fn registry(&self, file: Option<&Path>, out: &Output) -> anyhow::Result<Registry> {
        if let Some(file) = file {
            return self.load(file);
        }
        compiled(&self.toolset()?, out)
    }

    /// The tools for what can do without: where not all of them build, those that do.
    pub(crate) fn tools_for_records(&self, out: &Output) -> anyhow::Result<Tools> {
        let toolset = self.find_toolset()?;
        let checked = toolset.as_ref().and_then(|toolset| checked(toolset, Reuse::Unchanged).ok());
        if let Some(checked) = checked.as_ref().filter(|checked| !checked.has_errors()) {
            return Ok(Tools::All(checked.registry()?));
        }
        let what = match &toolset {
            Some(toolset) => format!("`{}` does not build", plain(&toolset.display().to_string())),
            None => "there is no toolset here".to_owned(),
        };
        out.note(&format!(
            "warning: {what}; this goes by the store alone, and by the tools that do build"
        ));
        let sound = checked.as_ref().and_then(|checked| checked.registry().ok());
        Ok(Tools::Sound(sound.map_or_else(no_tools, Ok)?))
    }

    /// A registry file, under the trust of `haft.toml`.
    pub(crate) fn load(&self, file: &Path) -> anyhow::Result<Registry> {
        let config = self.config()?;
        let mark = config.mark();
        Ok(accept::load(file, config.trust, mark.as_deref())?)
    }
}

/// The tools that there are to work with.
pub(crate) enum Tools {
    /// All that were meant.
    All(Registry),
    /// Those that build, of some that do not. Nothing is called with them.
    Sound(Registry),
}

/// A registry of nothing.
fn no_tools() -> anyhow::Result<Registry> {
    let (namespace, prompts) = (Namespace::parse("none")?, BTreeMap::new());
    let parts = Parts { namespace: &namespace, prompts: &prompts, entries: &[] };
    let (at, by) = ("1970-01-01T00:00:00Z".to_owned(), "haft".to_owned());
    let build = Build { at, by, commit: None };
    Ok(Registry::load(&parts.write(&build, None), &Trust::default())?)
}

/// Paths below the current folder are shown without it.
fn shorten(here: &Path, path: PathBuf) -> PathBuf {
    path.strip_prefix(here).map(Path::to_path_buf).unwrap_or(path)
}

/// Compiles a toolset, or says what is wrong with it.
pub(crate) fn compiled(toolset: &Path, out: &Output) -> anyhow::Result<Registry> {
    let checked = checked(toolset, Reuse::Unchanged)?;
    if checked.has_errors() {
        // Whoever calls a tool wants to know what stands in the way, not all there is to improve.
        let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
        let errors: Vec<_> = checked.diagnostics.iter().filter(is_error).cloned().collect();
        report(&errors, toolset, Show::Some, out);
        bail!("`{}` does not build; `haft lint` shows the warnings, too", toolset.display());
    }
    Ok(checked.registry()?)
}

/// Checks a toolset, with a progress bar when it takes a while.
pub(crate) fn checked(toolset: &Path, reuse: Reuse) -> anyhow::Result<Checked> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} tools") {
        bar.set_style(style);
    }
    let progress = |done: usize, of: usize| {
        // A short build is over before a bar could be read.
        if of >= 200 && done.is_multiple_of(50) {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        }
    };
    let checked = check(toolset, reuse, &progress);
    bar.finish_and_clear();
    Ok(checked?)
}

/// Prints the diagnostics for people.
pub(crate) fn report(diagnostics: &[Diagnostic], toolset: &Path, show: Show, out: &Output) {
    let rendered = text(diagnostics, toolset, &prefix(toolset), show, out.colour());
    if !rendered.is_empty() {
        out.note(rendered.trim_end());
    }
}

/// What leads from the current folder to the files of a toolset.
pub(crate) fn prefix(toolset: &Path) -> String {
    match toolset.to_string_lossy().trim_end_matches('/') {
        "." | "" => String::new(),
        path => format!("{}/", path.trim_start_matches("./")),
    }
}
