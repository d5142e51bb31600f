//! `haft mcp`

use std::sync::Arc;

use anyhow::Context as _;
use haft_core::Principal;
use haft_runtime::Runtime;
use haft_runtime::toolbox::Agent;
use haft_server::mcp::{Seat, serve_lines};
use haft_server::who::{Keys, facts};
use haft_server::{Door, Hub};

use super::lint::counted;
use crate::assembly::{Desk, block_on, plain};
use crate::cli::Mcp;
use crate::config::Config;
use crate::output::{Exit, Given as _, Output, misuse};
use crate::source::Place;

/// How long begun effects are waited for when the client has gone.
const DRAIN: std::time::Duration = std::time::Duration::from_secs(25);
/// How often the store is looked at.
const FOLLOW: std::time::Duration = std::time::Duration::from_secs(1);

pub(crate) fn run(at: &Place, options: &Mcp, out: &mut Output) -> anyhow::Result<Exit> {
    block_on(async {
        let hub = Hub::default();
        let publish = Arc::new(hub.clone());
        let equip = |config: &mut Config| equip(config, options);
        let desk = Desk::open_with(at, options.registry.as_deref(), publish, &equip, out)?;
        desk.sound()?;
        desk.warn(out).await;
        desk.tend(out).await?;
        let agent = agent(&desk, options)?;
        let mut caller = desk.caller(&agent, options.tenant.as_deref(), None)?;
        desk.known(&caller)?;
        if let Some(subject) = &options.subject {
            caller.subject = Some(Principal::parse(subject).given("--subject")?);
        }
        let said = crate::facts::known(&desk, &caller, options.user.as_deref())?;
        caller.user = facts::of(&caller.actor, caller.subject.as_ref(), &said);
        let limits = desk.config.server.limits.clone();
        let door = Door::new(desk.runtime.clone(), hub, Keys::default(), Vec::new(), limits);
        let door = Arc::new(door.with_mcp(desk.config.mcp.clone()));
        let (from, to) = (tokio::io::stdin(), tokio::io::stdout());
        let following = tokio::spawn(follow(desk.runtime.clone()));
        let served = serve_lines(door, Seat::local(caller), from, to).await;
        following.abort();
        served.context("the client")?;
        let left = desk.runtime.drain(DRAIN).await;
        if left > 0 {
            let (left, verb) = (counted(left, "effect"), if left == 1 { "was" } else { "were" });
            out.note(&format!("{left} {verb} still running; see `haft effects`"));
        }
        haft_core::port::Journal::flush(&*desk.store).await.context("the last records")?;
        Ok(Exit::Done)
    })
}

/// The agent that is named, else the first: of the tenant that is named, or of `haft.toml`.
fn agent(desk: &Desk, options: &Mcp) -> anyhow::Result<String> {
    if let Some(named) = &options.agent {
        return Ok(named.clone());
    }
    let mut all = desk.config.records().agents;
    if let Some(declared) = all.iter_mut().find(|one| is_meant(one, options)) {
        return Ok(std::mem::take(&mut declared.id));
    }
    let Some(tenant) = &options.tenant else { return Ok("default".to_owned()) };
    let stored = desk.runtime.agents(tenant).into_iter().next();
    let named = plain(tenant);
    stored.ok_or_else(|| misuse(format!("--tenant: `{named}` has no agent, or is none")))
}

/// Gives the agent the connections of the command line, before those of `haft.toml`.
fn equip(config: &mut Config, options: &Mcp) -> anyhow::Result<()> {
    if options.connections.is_empty() {
        return Ok(());
    }
    config.records = config.records();
    let Some(found) = config.records.agents.iter_mut().find(|one| is_meant(one, options)) else {
        let named = plain(options.agent.as_deref().unwrap_or("default"));
        let why = format!(
            "`--connection` is for agents of `haft.toml`, and `{named}` is not declared there"
        );
        return Err(misuse(why));
    };
    found.connections.extend(options.connections.iter().cloned());
    Ok(())
}

fn is_meant(agent: &Agent, options: &Mcp) -> bool {
    options.agent.as_ref().is_none_or(|id| agent.id == *id)
        && options.tenant.as_ref().is_none_or(|tenant| agent.tenant == *tenant)
}

/// Puts in force what other processes change in the store, such as grants. While it cannot be read,
/// what was in force stays so.
async fn follow(runtime: Runtime) {
    loop {
        tokio::time::sleep(FOLLOW).await;
        let _ = runtime.refresh().await;
    }
}
