//! The calls that have their place in a session and are on their way here, by the model's id.
//!
//! A session remembers an id before the ledger has an entry. Sent again in between, it is either a call
//! that is on its way still, or one that was cut off and that nobody carries out any more.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

type Id = (String, String);

/// The calls that are on their way.
#[derive(Default)]
pub(crate) struct Placed {
    calls: Mutex<HashMap<Id, usize>>,
}

/// A call that is on its way, for as long as this is held.
pub(crate) struct Held {
    placed: Arc<Placed>,
    id: Id,
}

impl Placed {
    /// Notes that a call is on its way.
    pub(crate) fn hold(self: &Arc<Self>, session: &str, call: &str) -> Held {
        let id = (session.to_owned(), call.to_owned());
        *self.calls.lock().entry(id.clone()).or_default() += 1;
        Held { placed: self.clone(), id }
    }

    /// Whether a call of this id is on its way.
    pub(crate) fn has(&self, session: &str, call: &str) -> bool {
        self.calls.lock().contains_key(&(session.to_owned(), call.to_owned()))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut calls = self.placed.calls.lock();
        if let Some(count) = calls.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                calls.remove(&self.id);
            }
        }
    }
}
