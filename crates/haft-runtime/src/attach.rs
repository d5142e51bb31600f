//! Duplicates of a call that is running here wait for its answer instead of running.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::Digest;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::path::Answer;

/// What is running in this process, by key.
#[derive(Default)]
pub(crate) struct Running {
    calls: Mutex<HashMap<Digest, Entry>>,
}

struct Entry {
    call: String,
    answer: watch::Receiver<Option<Arc<Answer>>>,
}

/// A call that is running; its answer goes to everyone who waits.
pub(crate) struct Leading {
    running: Arc<Running>,
    key: Digest,
    call: String,
    answer: watch::Sender<Option<Arc<Answer>>>,
}

impl Running {
    /// Enters a call that was granted the right to run.
    pub(crate) fn lead(self: &Arc<Self>, key: &Digest, call: &str) -> Leading {
        let (sender, receiver) = watch::channel(None);
        let entry = Entry { call: call.to_owned(), answer: receiver };
        self.calls.lock().insert(key.clone(), entry);
        Leading { running: self.clone(), key: key.clone(), call: call.to_owned(), answer: sender }
    }

    /// Whether a call runs under a key here.
    pub(crate) fn has(&self, key: &Digest) -> bool {
        self.calls.lock().contains_key(key)
    }

    /// Waits for the call that runs under a key here: its id and its answer. `None` when none does, or
    /// when it ended without an answer.
    pub(crate) async fn follow(&self, key: &Digest) -> Option<(String, Arc<Answer>)> {
        let of = |entry: &Entry| (entry.call.clone(), entry.answer.clone());
        let (call, mut answer) = self.calls.lock().get(key).map(of)?;
        let found = answer.wait_for(Option::is_some).await.ok()?;
        Some((call, found.clone()?))
    }
}

impl Leading {
    /// Whether anybody waits: beside the receiver in the table there is another.
    pub(crate) fn is_followed(&self) -> bool {
        self.answer.receiver_count() > 1
    }

    /// Gives the answer to everyone who waits.
    pub(crate) fn answer(&self, answer: Arc<Answer>) {
        self.answer.send_replace(Some(answer));
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        let mut calls = self.running.calls.lock();
        // A later attempt under the same key may stand there by now.
        if calls.get(&self.key).is_some_and(|entry| entry.call == self.call) {
            calls.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod interleavings;
