//! `haft describe`

use super::show::find;
use crate::bundled;
use crate::cli::Describe;
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Describe, out: &mut Output) -> anyhow::Result<Exit> {
    let at = &bundled::or_here(at, options.registry.as_deref(), out)?;
    let registry = at.registry(options.registry.as_deref(), out)?;
    let tool = find(&registry, &options.tool)?;
    out.line(tool.doc.trim_end());
    Ok(Exit::Done)
}
