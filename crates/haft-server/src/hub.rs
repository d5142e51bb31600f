//! Events, handed to whoever watches, and kept for a while for whoever comes back. Who cannot keep up
//! loses events and is told how many.

mod kept;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_core::port::Publish;
use haft_core::record::Event;
use tokio::sync::broadcast::{self, Receiver, Sender};

use kept::Kept;
pub(crate) use kept::{Lost, Mark, Seen};

/// How many events wait for a slow watcher.
const WAITING: usize = 1024;

/// The place where events meet their watchers.
#[derive(Clone, Debug)]
pub struct Hub {
    to: Sender<Arc<Seen>>,
    kept: Arc<Mutex<Kept>>,
    /// Whether somebody may be expected back. Every call asks, and most of the time nobody is.
    awaits: Arc<AtomicBool>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { to: broadcast::channel(WAITING).0, kept: Arc::default(), awaits: Arc::default() }
    }
}

impl Hub {
    /// Everything from now on.
    pub(crate) fn watch(&self) -> Receiver<Arc<Seen>> {
        self.subscribe(&mut self.kept())
    }

    /// Everything after an event that was seen before, or from now on.
    pub(crate) fn follow(&self, after: Option<&Mark>) -> Following {
        let mut kept = self.kept();
        let from = self.subscribe(&mut kept);
        let (lost, first) = after.map_or_else(Default::default, |after| kept.after(after));
        drop(kept);
        Following { lost, first: first.into(), from, hub: self.clone() }
    }

    fn subscribe(&self, kept: &mut Kept) -> Receiver<Arc<Seen>> {
        if !self.is_heard(kept) {
            kept.begin();
        }
        self.to.subscribe()
    }

    fn is_heard(&self, kept: &Kept) -> bool {
        self.to.receiver_count() > 0 || kept.is_awaited()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publish for Hub {
    fn publish(&self, event: &Event) {
        let mut kept = self.kept();
        let seen = kept.take(event);
        // Nobody is watching: nothing to do. Sent while nobody else publishes, so that watchers see
        // events in the order of their numbers.
        let _ = self.to.send(seen);
    }

    fn is_listening(&self) -> bool {
        if self.to.receiver_count() > 0 {
            return true;
        }
        if !self.awaits.load(Ordering::Acquire) {
            return false;
        }
        let mut kept = self.kept();
        let awaited = kept.is_awaited();
        if !awaited {
            kept.end();
        }
        self.awaits.store(awaited, Ordering::Release);
        awaited
    }
}

/// Whoever follows what happens, and may come back.
pub(crate) struct Following {
    /// What was lost before the first event.
    pub(crate) lost: Option<Lost>,
    /// What is told before anything new.
    pub(crate) first: VecDeque<Arc<Seen>>,
    pub(crate) from: Receiver<Arc<Seen>>,
    hub: Hub,
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut kept = self.hub.kept();
        kept.await_back();
        self.hub.awaits.store(true, Ordering::Release);
    }
}
