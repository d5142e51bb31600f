//! What a program that runs for long does from time to time, and at its end.

use std::time::Duration;

use haft_core::ledger::EffectRecord;
use haft_core::port::{Forgotten, StoreError};
use tokio::time::Instant;

use super::{Inner, Runtime};

impl Inner {
    /// Notices what other processes have left, at most once a second however many wait for them.
    pub(crate) async fn ask_after_others(&self) {
        const PAUSE: Duration = Duration::from_secs(1);
        let now = Instant::now();
        let is_due = {
            let mut last = self.asked_after.lock();
            let since = *last.get_or_insert(now);
            let is_due = now.saturating_duration_since(since) >= PAUSE;
            if is_due {
                *last = Some(now);
            }
            is_due
        };
        if is_due && let Ok(left) = self.store.recover().await {
            self.effects_left(&left);
        }
    }
}

impl Runtime {
    /// Takes over effects that nobody carries out any more: their process is gone, or could not record
    /// in time what became of them. Returns those whose outcome is unknown now. Cheap enough for
    /// every second.
    ///
    /// # Errors
    ///
    /// The store cannot be read or written.
    pub async fn recover(&self) -> Result<Vec<EffectRecord>, StoreError> {
        let left = self.inner.store.recover().await?;
        self.inner.effects_left(&left);
        Ok(left)
    }

    /// Takes over what nobody carries out any more, and forgets what may be forgotten. To be called at
    /// the start and from time to time. Returns the effects whose outcome is unknown now.
    ///
    /// # Errors
    ///
    /// The store cannot be written.
    pub async fn tend(&self) -> Result<Vec<EffectRecord>, StoreError> {
        let left = self.recover().await?;
        self.inner.store.purge().await?;
        Ok(left)
    }

    /// Forgets records that are older than they are kept, if need be in many small steps. To be
    /// called from time to time by whoever runs for long.
    ///
    /// # Errors
    ///
    /// The store cannot be written. What went until then is gone; the next time goes on from there.
    pub async fn forget(&self) -> Result<Forgotten, StoreError> {
        let mut went = Forgotten::default();
        let Some(keep) = self.inner.settings.keep_records else { return Ok(went) };
        let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let before_ms = self.inner.store.now_ms().saturating_sub(keep_ms);
        loop {
            went.add(&self.inner.store.forget(before_ms).await?);
            if !went.more {
                return Ok(went);
            }
        }
    }

    /// How many effects this process is carrying out.
    #[must_use]
    pub fn effects_running(&self) -> usize {
        self.inner.tasks.running()
    }

    /// Waits for effects that are being carried out and for tokens that are being renewed, at most
    /// so long. Returns how many effects are left; those stay on record as started, and become
    /// unknown.
    pub async fn drain(&self, at_most: Duration) -> usize {
        let over = async {
            self.inner.tasks.drained().await;
            if let Some(broker) = &self.inner.broker {
                broker.rest().await;
            }
        };
        let _ = tokio::time::timeout(at_most, over).await;
        self.inner.tasks.running()
    }
}
