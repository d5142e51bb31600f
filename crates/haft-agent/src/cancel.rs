//! Calling a turn off.

use std::sync::Arc;

use tokio::sync::watch;

/// Called off once, for everyone who holds a clone.
#[derive(Clone, Debug)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Cancel {
    /// Not called off yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls it off.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was called off.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is called off.
    pub async fn cancelled(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}
