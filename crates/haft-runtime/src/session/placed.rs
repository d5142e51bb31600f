//! The calls that have their place in a session and are on their way here, by the model's id.
//!
//! A session remembers an id before the ledger has an entry. Sent again in between, it is either a call
//! that is on its way still, or one that was cut off and that nobody carries out any more.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::Digest;
use parking_lot::Mutex;

type Id = (String, String);

/// The calls that are on their way.
#[derive(Default)]
pub(crate) struct Placed {
    calls: Mutex<HashMap<Id, (usize, Option<Digest>)>>,
}

/// A call that is on its way, for as long as this is held.
pub(crate) struct Held {
    placed: Arc<Placed>,
    id: Id,
}

impl Placed {
    /// Notes that a call is on its way under a key of the ledger.
    pub(crate) fn hold(self: &Arc<Self>, session: &str, call: &str, key: Option<Digest>) -> Held {
        let id = (session.to_owned(), call.to_owned());
        self.calls.lock().entry(id.clone()).or_insert((0, key)).0 += 1;
        Held { placed: self.clone(), id }
    }

    /// Whether a call of this id is on its way, and if so under which key.
    pub(crate) fn under(&self, session: &str, call: &str) -> Option<Option<Digest>> {
        let calls = self.calls.lock();
        calls.get(&(session.to_owned(), call.to_owned())).map(|(_, key)| key.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut calls = self.placed.calls.lock();
        if let Some((count, _)) = calls.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                calls.remove(&self.id);
            }
        }
    }
}
