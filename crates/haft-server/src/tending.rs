//! Keeping the store in order while the server runs.

use std::sync::Arc;
use std::time::Duration;

use haft_core::port::{Condition, StoreError};
use tokio::time::Instant;

use crate::door::Door;

/// So often it is looked whether effects were left and how the store is: that costs next to nothing.
const LOOK: Duration = Duration::from_secs(1);

/// Takes over effects that nobody carries out any more, and forgets what is due, from time to time
/// until it is dropped. What could not be done is tried again the next time.
pub(crate) async fn keep(door: Arc<Door>) {
    let mut watch = Watch::default();
    let mut due = Instant::now() + door.limits.tend;
    loop {
        tokio::time::sleep(door.limits.tend.min(LOOK)).await;
        let tends = Instant::now() >= due;
        watch.conditions(&door.runtime.store().condition(), tends);
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
