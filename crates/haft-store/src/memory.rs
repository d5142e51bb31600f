//! The store in memory: the reference that the others are held to, and the fake for tests.
//!
//! It forgets everything with the last handle on it. Records of calls without effects are put into
//! the audit trail when somebody looks, so that recording one costs next to nothing; of those that
//! wait, the oldest go when there are too many, and [`Memory::dropped`] counts them.

mod about;
mod configs;
mod forget;
#[cfg(test)]
mod interleavings;
mod port;
mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::clock::{Clock, Steady, Stored, System};
use crate::machine::Owner;
use rows::Rows;

/// A store in memory.
///
/// ```
/// use haft_core::call::Principal;
/// use haft_core::port::Blocks as _;
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let store = haft_store::Memory::new();
/// let mara = Principal::user("mara");
/// store.block("acme", &mara, 60_000, "spam").await.unwrap();
/// assert!(store.blocked("acme", &mara).await.unwrap().is_some());
/// # });
/// ```
pub struct Memory {
    shared: Arc<Shared>,
    owner: Owner,
}

struct Shared {
    rows: Mutex<Rows>,
    clock: Steady,
    any_blocks: AtomicBool,
    dropped: AtomicU64,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(Arc::new(System::default()))
    }

    /// An empty store with a clock of its own.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        let mut rows = Rows::default();
        let owner = rows.join();
        let shared = Shared {
            rows: Mutex::new(rows),
            clock: Steady::new(clock, Stored::default()),
            any_blocks: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared), owner }
    }

    /// Another handle on the same content, as another process would have. What a handle carries out
    /// when it is dropped, it leaves behind like a process that was killed.
    #[must_use]
    pub fn join(&self) -> Self {
        let owner = self.shared.rows.lock().join();
        Self { shared: Arc::clone(&self.shared), owner }
    }

    /// How many handles there are on this content, this one included.
    #[must_use]
    pub fn handles(&self) -> usize {
        self.shared.rows.lock().handles()
    }

    /// How many records of calls were dropped because nobody looked at them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }

    fn on<T>(&self, step: impl FnOnce(&mut Rows) -> T) -> T {
        let times = self.shared.clock.times();
        let mut rows = self.shared.rows.lock();
        rows.begin(self.owner, times);
        step(&mut rows)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.shared.rows.lock().leave(self.owner);
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}
