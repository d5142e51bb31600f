//! Catalogs as dialects show them, rendered once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_core::{Digest, Tool};
use haft_runtime::toolbox::Catalog;
use haft_wire::tools::target::has_strict;
use haft_wire::{Dialect, Rendering, Strictness, Target};
use serde_json::json;

use crate::problem::Problem;

/// How many renderings are kept.
const KEPT: usize = 256;

/// Renderings by what they were made from.
#[derive(Default)]
pub(crate) struct Renderings {
    made: Mutex<HashMap<Digest, Arc<Rendering>>>,
}

impl Renderings {
    /// The tools of a catalog in a dialect.
    pub(crate) fn of(&self, catalog: &Catalog, target: Target) -> Arc<Rendering> {
        let key = key(catalog, target);
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rendering) = made().get(&key) {
            return rendering.clone();
        }
        let tools: Vec<&Tool> = catalog.list().map(|one| &*one.tool).collect();
        let rendering = Arc::new(target.render(tools));
        let mut made = made();
        if made.len() >= KEPT {
            made.clear();
        }
        made.insert(key, rendering.clone());
        rendering
    }
}

fn key(catalog: &Catalog, target: Target) -> Digest {
    let tools: Vec<_> = catalog.list().map(|one| json!([one.tool.id, one.tool.digest])).collect();
    Digest::of_json(&json!([target.name(), tools]))
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
