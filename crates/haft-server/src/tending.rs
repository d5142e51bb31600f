//! Keeping the store in order while the server runs.

use std::sync::Arc;
use std::time::Duration;

use haft_core::port::{Checked, Condition, StoreError};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::door::Door;

/// So often it is looked whether effects were left and how the store is: that costs next to nothing.
const LOOK: Duration = Duration::from_secs(1);

/// A check of the trail that could not be made is made again after so long.
const AGAIN: Duration = Duration::from_secs(60);

/// Takes over effects that nobody carries out any more, and forgets what is due, from time to time
/// until it is dropped. What could not be done is tried again the next time.
pub(crate) async fn keep(door: Arc<Door>) {
    let mut watch = Watch::default();
    let mut due = Instant::now() + door.limits.tend;
    // Beside the rest, which must not wait for what takes so long.
    let mut checking = JoinSet::new();
    loop {
        tokio::time::sleep(door.limits.tend.min(LOOK)).await;
        let tends = Instant::now() >= due;
        let condition = door.runtime.store().condition();
        watch.conditions(&condition, tends);
        while checking.try_join_next().is_some() {}
        if condition.check_due && checking.is_empty() {
            checking.spawn(check(Arc::clone(&door)));
        }
        let done = match tends {
            true => everything(&door).await,
            false => door.runtime.recover().await.map(|left| crate::logs::unknown(&left)),
        };
        watch.done(done, tends);
        if tends {
            due = Instant::now() + door.limits.tend;
        }
    }
}

/// Checks all of the audit trail: when the server was started, only its end was. The store itself stops
/// the effects of those whose entries were touched.
async fn check(door: Arc<Door>) {
    let began = Instant::now();
    match door.runtime.store().verify().await {
        Ok(found) if found.unseen.is_some() => touched(&door, &found).await,
        // Somebody has looked at it, and need not be told every day.
        Ok(Checked { broken: Some((entry, why)), .. }) => {
            let seconds = began.elapsed().as_secs();
            tracing::info!(event = "trail_checked", acknowledged = entry, why = %why, seconds);
        }
        Ok(found) => {
            let seconds = began.elapsed().as_secs();
            tracing::info!(event = "trail_checked", entries = found.entries, seconds);
        }
        Err(error) => {
            tracing::warn!(event = "trail_not_checked", why = %error);
            // It stays due.
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// Says what a check has found that nobody has looked at, and whose effects are refused for it,
/// whoever asked for the check.
pub(crate) async fn touched(door: &Door, found: &Checked) {
    if let Some((entry, why)) = &found.unseen {
        tracing::error!(event = "trail_touched", entry, why = %why);
        crate::logs::touched(&refused(door).await);
    }
}

/// The tenants whose effects are not taken, and why.
async fn refused(door: &Door) -> Vec<(String, String)> {
    let mut refused = Vec::new();
    for tenant in &door.runtime.configured().records.tenants {
        if let Err(StoreError::Tampered(why)) = door.runtime.store().trusts(&tenant.id).await {
            refused.push((tenant.id.clone(), why));
        }
    }
    refused
}

async fn everything(door: &Door) -> Result<(), StoreError> {
    crate::logs::unknown(&door.runtime.tend().await?);
    let went = door.runtime.forget().await?;
    door.metrics.forgot(&went);
    if went.anything() {
        tracing::info!(
            event = "records_forgotten",
            calls = went.calls,
            entries = went.entries,
            confirmations = went.confirmations,
            sessions = went.sessions,
        );
    }
    Ok(())
}

/// What has been said already: nobody reads the same line every second.
#[derive(Default)]
struct Watch {
    said: Condition,
    fails: bool,
}

impl Watch {
    fn conditions(&mut self, now: &Condition, tends: bool) {
        match (self.said.clock_off_ms, now.clock_off_ms) {
            (None, Some(off)) => {
                tracing::warn!(event = "clock_jumped", seconds = off / 1000);
            }
            (Some(_), None) => tracing::warn!(event = "clock_agrees_again"),
            (Some(_), Some(_)) | (None, None) => {}
        }
        self.said.clock_off_ms = now.clock_off_ms;
        let first = self.said.dropped == 0;
        if now.dropped > self.said.dropped && (first || tends) {
            let records = now.dropped - self.said.dropped;
            tracing::warn!(event = "records_dropped", records, since_start = now.dropped);
            self.said.dropped = now.dropped;
        }
    }

    fn done(&mut self, done: Result<(), StoreError>, tends: bool) {
        let failed = done.is_err();
        if let Err(error) = done
            && (tends || !self.fails)
        {
            tracing::warn!(event = "store_not_tended", why = %error);
        }
        self.fails = failed;
    }
}
