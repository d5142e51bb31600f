//! `haft diff`

use std::path::Path;

use haft_build::diff::compare;
use haft_core::Registry;

use crate::cli::{Diff, FailOn};
use crate::output::{Exit, Output};
use crate::source;

pub(crate) fn run(options: &Diff, out: &mut Output) -> anyhow::Result<Exit> {
    let old = read(&options.old, out)?;
    let new = read(&options.new, out)?;
    let diff = compare(&old, &new);
    if options.json {
        out.json(&diff)?;
    } else {
        out.result(&diff.render_text());
    }
    let failed = match options.fail_on {
        Some(FailOn::Breaking) => diff.is_breaking(),
        Some(FailOn::Bump) => diff.has_unpaid_bumps(),
        Some(FailOn::Any) => !diff.is_empty(),
        None => false,
    };
    Ok(if failed { Exit::Findings } else { Exit::Done })
}

/// Either side may be a registry or a toolset. Pins are not asked: an old registry is what one
/// compares with.
fn read(path: &Path, out: &Output) -> anyhow::Result<Registry> {
    if path.is_dir() {
        return source::compiled(path, out);
    }
    Ok(haft_build::accept::load(path, haft_core::registry::Trust::default(), None)?)
}
