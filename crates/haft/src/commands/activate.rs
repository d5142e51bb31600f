//! `haft activate` and `haft deactivate`

use anyhow::anyhow;
use haft_runtime::config::ChangeError;

use crate::assembly::{Desk, block_on};
use crate::cli::Switch;
use crate::named;
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) fn run(
    at: &Place,
    options: &Switch,
    enabled: bool,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    block_on(async {
        let desk = Desk::open(at, None, out)?;
        let by = named::principal(&options.operator.actor, "--as")?;
        let (tenant, agent, tool) = (&options.operator.tenant, &options.agent, &options.tool);
        let state = desk.runtime.set_tool(&by, tenant, agent, tool, enabled).await;
        let state = state.map_err(|error| match error == ChangeError::Missing {
            true => anyhow!("there is no agent `{agent}` of tenant `{tenant}`"),
            false => anyhow!("{error}"),
        })?;
        if options.json {
            out.json(&state)?;
            return Ok(Exit::Done);
        }
        let word = if enabled { "on" } else { "off" };
        out.line(&format!("`{}` is turned {word} for `{agent}`", state.tool));
        if enabled && !state.available {
            let why = state.why.map_or("something is missing", |why| why.in_words());
            out.line(&format!("it cannot be used yet: {why}"));
            out.line(&format!("  {}", state.enable.as_deref().unwrap_or("see `haft why`")));
        }
        Ok(Exit::Done)
    })
}
