//! What other processes change in the store, put in force here: from time to time, and by whoever comes in when
//! nobody has looked for longer than that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::door::Door;

/// How often it is looked.
const FOLLOW: Duration = Duration::from_secs(1);

/// Whoever comes in later than this after the last look looks first: the process was stopped, or is held up, and
/// what was revoked meanwhile is to open nothing.
const BEHIND: Duration = Duration::from_millis(1_500);

/// When it was last looked.
pub(crate) struct Followed {
    began: Instant,
    /// In milliseconds since then.
    looked: AtomicU64,
    /// One looks, and the others wait for what it finds.
    turn: Mutex<()>,
}

impl Default for Followed {
    fn default() -> Self {
        Self { began: Instant::now(), looked: AtomicU64::new(0), turn: Mutex::new(()) }
    }
}

impl Followed {
    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn is_behind(&self) -> bool {
        let since = self.elapsed_ms().saturating_sub(self.looked.load(Ordering::Acquire));
        Duration::from_millis(since) > BEHIND
    }
}

impl Door {
    /// Looks from time to time.
    pub(crate) async fn follow(&self) {
        loop {
            tokio::time::sleep(FOLLOW).await;
            let _turn = self.followed.turn.lock().await;
            self.look().await;
        }
    }

    /// Looks where nobody has for too long.
    pub(crate) async fn catch_up(&self) {
        if self.followed.is_behind() {
            // Boxed: hardly any request comes to this.
            Box::pin(self.look_once()).await;
        }
    }

    async fn look_once(&self) {
        let _turn = self.followed.turn.lock().await;
        if self.followed.is_behind() {
            self.look().await;
        }
    }

    /// While the store cannot be read, what was in force stays so.
    async fn look(&self) {
        // By the time before: what comes during the look may have been missed.
        let now = self.followed.elapsed_ms();
        let _ = self.runtime.refresh().await;
        self.followed.looked.store(now, Ordering::Release);
    }
}
