//! The tools that tell about tools: `reg_describe` and `reg_search`.
//!
//! They are tools like all others: they have contracts (written as folders beside this file), stand
//! in catalogs, and are called through the path. What they answer is what the caller's own catalog
//! shows, so nobody learns of a tool by asking for it. They are there when a runtime is built
//! [with them](crate::runtime::Builder::guide).
//!
//! Since they show nothing that the catalog does not, no allowlist has to name them; the deny list,
//! an agent's activations and a tenant's definitions can take them away.

mod describe;
mod index;
mod search;
mod words;

use std::sync::{Arc, LazyLock, Weak};

use haft_core::port::{Boxed, Ended, Execute, Job, Scope};
use haft_core::{ErrorKind, Registry, Tool, ToolError};
use serde_json::Value;

pub use index::{Document, Index, Place};
pub(crate) use search::document;

use crate::runtime::Inner;
use crate::shelf::Shelf;
use crate::toolbox::Catalog;

/// The id of the tool that gives documentation.
pub const DESCRIBE: &str = "haft__reg_describe";

/// The id of the tool that finds tools.
pub const SEARCH: &str = "haft__reg_search";

/// Compiled from the folders beside this file; a test holds the two together.
static REGISTRY: LazyLock<Result<Registry, String>> = LazyLock::new(|| {
    let text = include_str!("guide/registry.json");
    Registry::load(text, &haft_core::registry::Trust::default()).map_err(|why| why.to_string())
});

/// The contracts of the tools that tell about tools.
///
/// # Errors
///
/// What is wrong with them; only a broken build could make this happen.
pub fn registry() -> Result<&'static Registry, &'static str> {
    REGISTRY.as_ref().map_err(String::as_str)
}

/// Whether a tool is one of ours: the very content, not only the name.
pub(crate) fn is_ours(tool: &Tool) -> bool {
    let same = |ours: &Tool| ours.id == tool.id && ours.digest == tool.digest;
    tool.id.starts_with("haft__") && registry().is_ok_and(|all| all.tools.iter().any(same))
}

/// Runs our own tools, and leaves all others to whoever runs those.
pub(crate) struct Guide {
    /// Weak: the runtime holds this.
    inner: Weak<Inner>,
    others: Arc<dyn Execute>,
}

impl Guide {
    pub(crate) fn new(inner: Weak<Inner>, others: Arc<dyn Execute>) -> Self {
        Self { inner, others }
    }
}

impl Execute for Guide {
    fn can_run(&self, tool: &Tool) -> bool {
        is_ours(tool) || self.others.can_run(tool)
    }

    fn vet(&self, tool: &Tool, arguments: &Value) -> Result<(), ToolError> {
        self.others.vet(tool, arguments)
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        if !is_ours(&job.tool) {
            return self.others.execute(job);
        }
        let answer = match self.inner.upgrade() {
            Some(inner) => answer(&inner, &job),
            None => Err(ToolError::new(ErrorKind::Cancelled, "haft is shutting down")),
        };
        Box::pin(std::future::ready(match answer {
            Ok(data) => Ended::Returned { data, intents: Vec::new() },
            Err(error) => Ended::Failed(error),
        }))
    }
}

fn answer(inner: &Inner, job: &Job) -> Result<Value, ToolError> {
    let seen = Seen::of(inner, &job.scope)?;
    match job.tool.id.as_str() {
        DESCRIBE => describe::run(inner, &seen, &job.arguments),
        _ => search::run(&seen, &job.arguments),
    }
}

/// What the caller of a call sees.
struct Seen<'a> {
    scope: &'a Scope,
    shelf: Arc<Shelf>,
    catalog: Catalog,
}

impl<'a> Seen<'a> {
    fn of(inner: &Inner, scope: &'a Scope) -> Result<Self, ToolError> {
        let version = &*scope.session.registry_version;
        let shelf = inner.shelf(&scope.caller.tenant, Some(version)).ok_or_else(|| {
            ToolError::new(ErrorKind::Internal, "the registry of this call is not loaded")
        })?;
        let (session, now_ms) = (scope.session.id.as_deref(), inner.store.now_ms());
        let catalog = inner.catalog(&shelf, &scope.caller, scope.mode, session, now_ms);
        let catalog = match &scope.only {
            Some(only) => catalog.narrow(only).0,
            None => catalog,
        };
        Ok(Self { scope, shelf, catalog })
    }
}
