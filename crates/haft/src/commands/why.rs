//! `haft why`

use haft_core::port::{Ask, Decide as _};
use serde_json::json;

use crate::assembly::{Desk, block_on};
use crate::cli::Why;
use crate::commands::call::mode;
use crate::output::{Exit, Output, table};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Why, out: &mut Output) -> anyhow::Result<Exit> {
    let _ = (Ask { ..todo() }, json!(null), table(&[], &[]));
    block_on(async {
        let _ = Desk::open(at, options.registry.as_deref(), out)?;
        Ok(Exit::Done)
    })
}
