//! Effects after the fact: asking whether one happened, saying so, and undoing it.

mod about;
mod answer;
mod arguments;
mod contract;
mod events;

mod probe;
mod undo;

pub use probe::{Found, Probed};
pub use undo::{UndoTarget, Undone, UndoneStatus};

use haft_core::call::PrincipalKind;
use haft_core::port::StoreError;
use haft_core::{Caller, ErrorKind, ToolError};

use crate::redact::is_hidden;

/// Whether a note says nothing that anybody could read.
#[must_use]
pub fn is_empty_note(note: &str) -> bool {
    note.chars().all(|letter| letter.is_whitespace() || is_hidden(letter))
}

/// A model says neither what happened nor what is to be undone.
fn for_people(by: &Caller) -> Result<(), ToolError> {
    match by.actor.kind {
        PrincipalKind::User | PrincipalKind::Service => Ok(()),
        PrincipalKind::Agent => {
            Err(ToolError::new(ErrorKind::Denied, "an agent cannot do this; a person has to"))
        }
    }
}

fn refused(error: &StoreError) -> ToolError {
    match error {
        StoreError::Missing => ToolError::new(ErrorKind::NotFound, "there is no such effect")
            .suggest("list the effects and take an id from there"),
        StoreError::WrongState(why) => ToolError::new(ErrorKind::Conflict, why.clone()),
        StoreError::Stale => {
            ToolError::new(ErrorKind::Conflict, "somebody else changed the effect just now")
        }
        StoreError::Unavailable(_) | StoreError::InDoubt(_) | StoreError::Tampered(_) => {
            ToolError::new(ErrorKind::StoreUnavailable, "the ledger cannot be read or written now")
                .caused_by(error)
        }
    }
}
