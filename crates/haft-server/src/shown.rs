//! Catalogs as dialects show them, rendered once.

use std::sync::Arc;

use haft_core::Tool;
use haft_runtime::toolbox::Catalog;
use haft_wire::tools::target::has_strict;
use haft_wire::{Dialect, Rendering, Strictness, Target};

use crate::problem::Problem;

/// How many renderings are kept.
const KEPT: usize = 256;

/// Renderings by what they were made from.
pub(crate) struct Renderings(haft_wire::Renderings);

impl Default for Renderings {
    fn default() -> Self {
        Self(haft_wire::Renderings::keeping(KEPT))
    }
}

impl Renderings {
    /// The tools of a catalog in a dialect.
    pub(crate) fn of(&self, catalog: &Catalog, target: Target) -> Arc<Rendering> {
        let tools: Vec<&Tool> = catalog.list().map(|one| &*one.tool).collect();
        self.0.whole(target, &tools).rendering
    }
}

/// What a request asks for.
pub(crate) fn target(format: &str, strict: bool) -> Result<Target, Problem> {
    let dialect: Dialect =
        format.parse().map_err(|error| Problem::malformed(format!("`format`: {error}")))?;
    if strict && !has_strict(dialect) {
        let why = format!("`{dialect}` has no strict mode; leave `strict` out");
        return Err(Problem::malformed(why));
    }
    let strictness = if strict { Strictness::Strict } else { Strictness::Plain };
    Ok(Target::new(dialect, strictness))
}
