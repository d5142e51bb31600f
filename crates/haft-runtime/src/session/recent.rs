//! The last calls of a session by the model's id: a message that is sent again is answered again.

use haft_core::Digest;
use haft_core::session::{Recent, Session};
use serde_json::Value;

/// So many calls are remembered.
const KEPT: usize = 100;

/// Larger answers are not remembered here; the ledger has those of side effects.
const MAX_ANSWER: usize = 64 * 1024;

/// What is known of a call id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    /// Nothing; it is remembered from now on.
    New,
    /// The same call is running, or was cut off.
    Before,
    /// The same call was answered.
    Answered(Value),
    /// The id was used for another call.
    Other,
}

/// Looks a call id up and remembers it.
pub(crate) fn enter(session: &mut Session, id: &str, fingerprint: &Digest) -> Seen {
    if let Some(known) = session.recent.iter().find(|recent| recent.id == id) {
        return match &known.answer {
            _ if known.fingerprint != *fingerprint => Seen::Other,
            Some(answer) => Seen::Answered(answer.clone()),
            None => Seen::Before,
        };
    }
    if session.recent.len() >= KEPT {
        session.recent.pop_front();
    }
    let fingerprint = fingerprint.clone();
    session.recent.push_back(Recent { id: id.to_owned(), fingerprint, answer: None });
    Seen::New
}

/// Remembers the answer; an answer that invites to try again is none.
pub(crate) fn answered(session: &mut Session, id: &str, answer: Option<Value>) {
    let keep = |answer: &Value| answer.to_string().len() <= MAX_ANSWER;
    match answer.filter(keep) {
        Some(answer) => remember(session, id, answer),
        None => session.recent.retain(|recent| recent.id != id || recent.answer.is_some()),
    }
}

/// Remembers an answer, however large.
pub(crate) fn remember(session: &mut Session, id: &str, answer: Value) {
    if let Some(known) = session.recent.iter_mut().find(|recent| recent.id == id) {
        known.answer = Some(answer);
    }
}

/// Whether the same call was answered under its id.
pub(crate) fn is_answered(session: &Session, id: &str, fingerprint: &Digest) -> bool {
    let same = |one: &Recent| one.id == id && one.fingerprint == *fingerprint;
    session.recent.iter().any(|one| same(one) && one.answer.is_some())
}
