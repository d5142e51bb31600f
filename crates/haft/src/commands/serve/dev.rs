//! `haft serve --dev`: tools that change are loaded for new sessions.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use haft_build::build::Reuse;
use haft_build::code::Severity;
use haft_build::diagnostic::Diagnostic;
use haft_build::diagnostic::render::Show;
use haft_runtime::Runtime;
use tokio::task::JoinHandle;

use crate::assembly::Desk;
use crate::config::Config;
use crate::output::Output;
use crate::registries::Kept;
use crate::source::{Place, checked, report};
use crate::watch::Seen;

/// How often the folders are looked at.
const EVERY: Duration = Duration::from_millis(300);

/// Stops watching when it is dropped.
pub(crate) struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Watches the toolset. What does not build is said, and what was served before stays.
pub(crate) fn watch(desk: &Desk, at: &Place, out: &Output) -> anyhow::Result<Watching> {
    let toolset = at.toolset()?;
    let again =
        Again { runtime: desk.runtime.clone(), config: at.config()?, toolset, out: out.again() };
    again
        .out
        .note(&format!("watching {}: changed tools are for new sessions", again.toolset.display()));
    Ok(Watching(tokio::spawn(again.forever())))
}

struct Again {
    runtime: Runtime,
    config: Config,
    toolset: PathBuf,
    out: Output,
}

impl Again {
    async fn forever(self) {
        let mut seen = Seen::of(&[&self.toolset]);
        loop {
            tokio::time::sleep(EVERY).await;
            let now = Seen::of(&[&self.toolset]);
            if now == seen {
                continue;
            }
            // Editors write in several steps: what is half written is whole a moment later.
            tokio::time::sleep(EVERY / 3).await;
            seen = Seen::of(&[&self.toolset]);
            match tokio::task::block_in_place(|| self.load()) {
                Ok(said) => self.out.note(&said),
                Err(error) => self.out.error(&format!("{error:#}; the tools from before stay")),
            }
        }
    }

    fn load(&self) -> anyhow::Result<String> {
        let checked = checked(&self.toolset, Reuse::Unchanged)?;
        if checked.has_errors() {
            let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
            let errors: Vec<_> = checked.diagnostics.iter().filter(is_error).cloned().collect();
            report(&errors, &self.toolset, Show::Some, &self.out);
            anyhow::bail!("`{}` does not build", self.toolset.display());
        }
        let registry = checked.registry()?;
        let version = registry.version.clone();
        if version == self.runtime.current().version {
            return Ok(format!("nothing in the tools has changed (registry {version})"));
        }
        // Rules are about tools: those of the new ones must hold before anybody can use them.
        // Loading makes them anew, together with what the store holds.
        self.config.policy(&registry).map_err(|found| wrong(&found))?;
        self.runtime.load(registry).map_err(|found| wrong(&found))?;
        // Sessions of it go on after a restart.
        let kept = Kept::of(&self.config).put(&self.runtime.current());
        kept.context("the registry cannot be kept for its sessions")?;
        Ok(format!("registry {version} is loaded for new sessions"))
    }
}

fn wrong(found: &[haft_runtime::policy::Problem]) -> anyhow::Error {
    let all: Vec<String> = found.iter().map(ToString::to_string).collect();
    anyhow::anyhow!("{}", all.join("; "))
}
