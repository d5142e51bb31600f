//! A victim that is stopped for longer than its lease, while another takes over.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::child::{Stage, Times, Victim};
use super::client::Client;
use super::{Until, need_failpoints};
use crate::words::Act;

/// A short lease, so that it is over soon.
const TIMES: Times = Times { deadline: 300, grace: 300 };
const LEASE: Duration = Duration::from_millis(600);
/// After so long something is wrong with the victim.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many calls a victim has that is stopped while it is busy.
const BUSY: usize = 16;

/// Stops a victim, lets another answer for what it has begun, and lets it go on. Returns how many
/// were killed.
pub(super) async fn stop(
    client: &mut Client,
    stage: &Stage,
    point: Option<&str>,
    act: Act,
) -> anyhow::Result<u64> {
    let (mut stopped, begun) = match point {
        Some(point) => at(client, stage, point, act).await?,
        None => busy(client, stage, act).await?,
    };
    tokio::time::sleep(LEASE + Duration::from_millis(100)).await;
    let parked = client.park(&begun);
    // Half a request is no request until the other half comes, so a probe could be wrong where one may
    // have been sent.
    client.probes(point.is_some_and(|point| point != "mid_body"));
    let mut other = Victim::start(stage, None, TIMES)?;
    // The stopped one may hold the database; then the other ends, and tries again later.
    let served = client.serve(&mut other, Until::Idle, Some(act)).await?;
    client.unpark(parked);
    stopped.signal(Signal::SIGCONT);
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until && client.hear(&mut stopped, Duration::from_millis(300)).await {}
    client.probes(true);
    for victim in [&mut stopped, &mut other] {
        victim.signal(Signal::SIGKILL);
        victim.wait().await?;
    }
    client.give_up();
    Ok(if served { 2 } else { 1 })
}

/// A victim that is stopped at a place, and what it has begun.
async fn at(
    client: &mut Client,
    stage: &Stage,
    point: &str,
    act: Act,
) -> anyhow::Result<(Victim, Vec<usize>)> {
    need_failpoints()?;
    let mut victim = Victim::start(stage, Some(&format!("{point}:stop")), TIMES)?;
    let patience = Instant::now() + PATIENCE;
    let mut begun = Vec::new();
    // One call at a time, so that it is stopped while nothing is being written. Some do not come as
    // far as the place; then the next one does.
    while !victim.is_stopped() {
        anyhow::ensure!(Instant::now() < patience, "the victim was not stopped at `{point}`");
        if client.is_idle() {
            begun.extend(client.begin(&mut victim, act, 1).await);
        }
        client.hear(&mut victim, Duration::from_millis(10)).await;
    }
    Ok((victim, begun))
}

/// A victim that is stopped while it carries calls out, and which ones.
async fn busy(
    client: &mut Client,
    stage: &Stage,
    act: Act,
) -> anyhow::Result<(Victim, Vec<usize>)> {
    let mut victim = Victim::start(stage, None, TIMES)?;
    let begun = client.begin(&mut victim, act, BUSY).await;
    // One has ended, so the others are on their way.
    anyhow::ensure!(client.hear(&mut victim, PATIENCE).await, "the victim says nothing");
    victim.signal(Signal::SIGSTOP);
    let patience = Instant::now() + PATIENCE;
    while !victim.is_stopped() {
        anyhow::ensure!(Instant::now() < patience, "the victim was not stopped");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok((victim, begun))
}
