//! The questions that calls of a session were answered with, wherever they were put first.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use haft_core::{Envelope, ErrorKind};

/// So many are known, the newest: the others can be asked again.
const MOST: usize = 64;

/// Their ids. The same call in another session finds the question that waits already, and who asks
/// now may see and answer it as if it were the first to ask.
#[derive(Default)]
pub(super) struct Questions(Mutex<VecDeque<String>>);

impl Questions {
    fn ids(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers what a call waits for.
    pub(super) fn hear(&self, envelope: &Envelope) {
        let Some(id) = asked(envelope).filter(|id| !self.has(id)) else { return };
        let mut ids = self.ids();
        ids.push_back(id.to_owned());
        while ids.len() > MOST {
            ids.pop_front();
        }
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.ids().iter().any(|one| one == id)
    }
}

fn asked(envelope: &Envelope) -> Option<&str> {
    let error = envelope.result.as_ref().err()?;
    let asks = error.kind == ErrorKind::ConfirmationRequired;
    error.details.as_ref().filter(|_| asks)?.get("confirmation")?.get("id")?.as_str()
}
