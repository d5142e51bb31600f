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

/// Stops a victim at a place, lets another answer for what it has begun, and lets it go on. Returns
/// how many were killed.
pub(super) async fn stop(
    client: &mut Client,
    stage: &Stage,
    point: &str,
    act: Act,
) -> anyhow::Result<u64> {
    need_failpoints()?;
    let mut stopped = Victim::start(stage, Some(&format!("{point}:stop")), TIMES)?;
    let patience = Instant::now() + Duration::from_secs(20);
    let mut begun = Vec::new();
    // One call at a time, so that it is stopped while nothing is being written. Some do not come as
    // far as the place; then the next one does.
    while !stopped.is_stopped() {
        anyhow::ensure!(Instant::now() < patience, "the victim was not stopped at `{point}`");
        if client.is_idle() {
            begun.extend(client.begin(&mut stopped, act, 1).await);
        }
        client.hear(&mut stopped, Duration::from_millis(10)).await;
    }
    tokio::time::sleep(LEASE + Duration::from_millis(100)).await;
    let parked = client.park(&begun);
    // Half a request is no request until the other half comes, so a probe could be wrong here.
    client.probes(point != "mid_body");
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
