//! Events, handed to whoever watches. Who cannot keep up loses events and is told how many.

use haft_core::port::Publish;
use haft_core::record::Event;
use std::sync::Arc;
use tokio::sync::broadcast::{self, Receiver, Sender};

/// How many events wait for a slow watcher.
const WAITING: usize = 1024;

/// The place where events meet their watchers.
#[derive(Clone, Debug)]
pub struct Hub {
    to: Sender<Arc<Event>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { to: broadcast::channel(WAITING).0 }
    }
}

impl Hub {
    /// Everything from now on.
    #[must_use]
    pub fn watch(&self) -> Receiver<Arc<Event>> {
        self.to.subscribe()
    }
}

impl Publish for Hub {
    fn publish(&self, event: &Event) {
        // Nobody is watching: nothing to do.
        let _ = self.to.send(Arc::new(event.clone()));
    }

    fn is_listening(&self) -> bool {
        self.to.receiver_count() > 0
    }
}
