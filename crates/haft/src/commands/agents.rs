//! `haft agents`

use haft_core::Caller;
use haft_core::config::Kind;
use haft_core::contract::Mode;
use serde_json::json;

use crate::assembly::{Desk, block_on};
use crate::cli::Agents;
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Agents, out: &mut Output) -> anyhow::Result<Exit> {
    block_on(async {
        let desk = Desk::open(at, None, out)?;
        let tenant = &options.operator.tenant;
        crate::named::tenant(&desk.store, &desk.config, tenant).await?;
        let configured = desk.runtime.configured();
        let mut rows = Vec::new();
        for agent in configured.records.agents.iter().filter(|one| one.tenant == *tenant) {
            let catalog = desk.runtime.catalog(&Caller::agent(tenant, &agent.id), Mode::Text);
            let declared = desk.runtime.is_declared(Kind::Agent, tenant, &agent.id);
            let source = if declared { "declared" } else { "stored" };
            rows.push((agent.id.clone(), source, catalog.len(), catalog.unavailable().len()));
        }
        if options.json {
            let one = |(id, source, usable, other): &(String, &str, usize, usize)| json!({ "id": id, "source": source, "tools": usable, "unavailable": other });
            out.json(&rows.iter().map(one).collect::<Vec<_>>())?;
            return Ok(Exit::Done);
        }
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(id, source, usable, other)| {
                vec![id, source.to_owned(), usable.to_string(), other.to_string()]
            })
            .collect();
        out.table(&["AGENT", "SOURCE", "TOOLS", "NOT AVAILABLE"], 3, &rows);
        Ok(Exit::Done)
    })
}
