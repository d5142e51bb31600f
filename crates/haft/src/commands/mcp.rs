//! `haft mcp`

use std::io::{ErrorKind, Read as _};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use haft_core::Caller;
use haft_core::port::Store as _;
use haft_runtime::Runtime;
use haft_runtime::policy::Delegation;
use haft_runtime::toolbox::Agent;
use haft_server::mcp::{Seat, serve_lines_until};
use haft_server::who::{Keys, facts};
use haft_server::{DRAIN, Door, Hub};
use tokio::io::{AsyncWriteExt as _, DuplexStream};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::lint::counted;
use super::serve::{ending, last, told};
use crate::assembly::{Desk, block_on, plain};
use crate::cli::Mcp;
use crate::config::Config;
use crate::named;
use crate::output::{Exit, Output, misuse};
use crate::source::Place;

/// How often the store is looked at.
const FOLLOW: Duration = Duration::from_secs(1);
/// So much is read at once.
const PIECE: usize = 64 << 10;

pub(crate) fn run(at: &Place, options: &Mcp, out: &mut Output) -> anyhow::Result<Exit> {
    let told = told::listen()?;
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
            caller.subject = Some(named::principal(subject, "--subject")?);
            warn_of_nobody(&desk, &caller, out);
        }
        let said = crate::facts::known(&desk, &caller, options.user.as_deref())?;
        caller.user = facts::of(&caller.actor, caller.subject.as_ref(), &said);
        let limits = desk.config.server.limits.clone();
        let door = Door::new(desk.runtime.clone(), hub, Keys::default(), Vec::new(), limits);
        let door = Arc::new(door.with_mcp(desk.config.mcp.clone()));
        let (told, again) = told.serving(ending::time(Duration::ZERO));
        let following = tokio::spawn(follow(desk.runtime.clone()));
        let served = tokio::select! {
            served = serve(&desk, door, Seat::local(caller), told) => served,
            () = again => Ok(()),
        };
        following.abort();
        // What is left by now goes on without anybody.
        let left = desk.runtime.drain(Duration::ZERO).await;
        if left > 0 {
            let (effects, verb) = (counted(left, "effect"), if left == 1 { "was" } else { "were" });
            out.note(&format!("{effects} {verb} still running; see `haft effects`"));
        }
        last(&desk, None).await?;
        served.context("the client")?;
        Ok(if left > 0 { Exit::Findings } else { Exit::Done })
    })
}

/// Serves the client until it has gone or the process is told to stop, and then waits for what has begun.
async fn serve(
    desk: &Desk,
    door: Arc<Door>,
    seat: Seat,
    told: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let (stop, stopping) = watch::channel(None);
    // Heard by itself: whoever serves may be waiting for the client to take something.
    let late = async {
        told.await;
        stop.send_replace(Some(Instant::now()));
        tokio::time::sleep(DRAIN).await;
    };
    let mut until = stopping.clone();
    let told = async move { drop(until.wait_for(Option::is_some).await) };
    let serving = serve_lines_until(door, seat, input()?, tokio::io::stdout(), told);
    let served = tokio::select! {
        served = serving => served,
        // It does not take its answers.
        () = late => Ok(()),
    };
    let spent = stopping.borrow().map_or(Duration::ZERO, |told| told.elapsed());
    desk.runtime.drain(DRAIN.saturating_sub(spent)).await;
    served
}

/// Standard input, read on a thread of its own: nobody waits for that at the end, though the client may keep
/// its end open.
fn input() -> std::io::Result<DuplexStream> {
    let (mut to, from) = tokio::io::duplex(PIECE);
    let runtime = Handle::current();
    let read = move || {
        let mut piece = vec![0; PIECE];
        let mut from = std::io::stdin().lock();
        loop {
            let size = match from.read(&mut piece) {
                Ok(size) => size,
                Err(why) if why.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            let read = piece.get(..size).filter(|read| !read.is_empty());
            let Some(read) = read else { return };
            if runtime.block_on(to.write_all(read)).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("input".to_owned()).spawn(read)?;
    Ok(from)
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

/// Says that the agent may do nothing for the subject: its client would see few tools, or none, and not why.
fn warn_of_nobody(desk: &Desk, caller: &Caller, out: &mut Output) {
    let Some(subject) = caller.subject.as_ref().filter(|one| **one != caller.actor) else { return };
    let now_ms = desk.store.now_ms();
    let configured = desk.runtime.configured();
    let is_theirs = |one: &Delegation| {
        (&*one.tenant, &one.actor, &one.subject) == (&*caller.tenant, &caller.actor, subject)
            && one.until.0 > now_ms
    };
    if configured.records.delegations.iter().any(is_theirs) {
        return;
    }
    let (actor, subject) = (plain(&caller.actor.to_string()), plain(&subject.to_string()));
    out.note(&format!(
        "warning: no delegation lets `{actor}` act for `{subject}`, so no tools of the project are served; \
         add one to `[[delegations]]`, or leave `--subject` out"
    ));
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
