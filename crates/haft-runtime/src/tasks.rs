//! Work that outlives whoever asked for it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The effects that are being carried out.
pub(crate) struct Tasks {
    running: watch::Sender<usize>,
}

impl Default for Tasks {
    fn default() -> Self {
        Self { running: watch::Sender::new(0) }
    }
}

impl Tasks {
    /// Starts one.
    pub(crate) fn spawn<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.running.send_modify(|running| *running += 1);
        let counted = Counted(self.clone());
        tokio::spawn(async move {
            let _counted = counted;
            work.await
        })
    }

    /// Waits until none is left.
    pub(crate) async fn drained(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }

    /// How many there are.
    pub(crate) fn running(&self) -> usize {
        *self.running.borrow()
    }
}

struct Counted(Arc<Tasks>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.running.send_modify(|running| *running -= 1);
    }
}

/// Whether whoever asked is still there.
#[derive(Clone)]
pub(crate) struct Presence(Option<Arc<AtomicBool>>);

impl Presence {
    /// Of a caller without whom there is no call.
    pub(crate) fn certain() -> Self {
        Self(None)
    }

    /// Of a caller that may go away while its call goes on.
    pub(crate) fn watched() -> Self {
        Self(Some(Arc::default()))
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.0.as_ref().is_some_and(|gone| gone.load(Ordering::Acquire))
    }

    /// Dropped by a caller that goes away.
    pub(crate) fn leaving(&self) -> Leaving {
        Leaving(self.0.clone())
    }
}

/// Says that the caller has gone, unless it [`stayed`](Self::stayed).
pub(crate) struct Leaving(Option<Arc<AtomicBool>>);

impl Leaving {
    pub(crate) fn stayed(mut self) {
        self.0 = None;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(gone) = &self.0 {
            gone.store(true, Ordering::Release);
        }
    }
}
