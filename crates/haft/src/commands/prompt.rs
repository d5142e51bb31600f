//! `haft prompt`

use haft_build::prompt::compose;
use haft_core::contract::Mode;

use crate::bundled;
use crate::cli::{ModeName, Prompt};
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Prompt, out: &mut Output) -> anyhow::Result<Exit> {
    let at = &bundled::or_here(at, options.registry.as_deref(), out)?;
    let registry = at.registry(options.registry.as_deref(), out)?;
    let mode = match options.mode {
        ModeName::Text => Mode::Text,
        ModeName::Voice => Mode::Voice,
    };
    out.result(&compose(&registry, mode));
    Ok(Exit::Done)
}
