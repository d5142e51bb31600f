//! When no connection can be accepted: the process has no file descriptors left, say.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So long after the last failure it counts as over. Whoever hangs up frees one descriptor, and the
/// next client takes it: in between, nothing has changed.
const OVER: Duration = Duration::from_secs(1);

/// The last time that a connection could not be accepted, until that is over.
#[derive(Default)]
pub(crate) struct Shortage(Mutex<Option<Instant>>);

impl Shortage {
    /// A connection could not be accepted. Said once, when it begins.
    pub(crate) fn begins(&self, error: &io::Error) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.replace(Instant::now()).is_none() {
            tracing::warn!(event = "connections_not_accepted", why = %error);
        }
    }

    /// A connection was accepted.
    pub(crate) fn may_end(&self) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|at| at.elapsed() >= OVER) {
            *last = None;
            tracing::warn!(event = "connections_accepted_again");
        }
    }

    /// Whether connections are turned away now.
    pub(crate) fn is_now(&self) -> bool {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|at| at.elapsed() < OVER)
    }
}
