//! The last calls of a session by the model's id: a message that is sent again is answered again.

use haft_core::Digest;
use haft_core::session::{Recent, Session};

/// So many calls are remembered.
const KEPT: usize = 100;

/// What is known of a call id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    /// Nothing; it is remembered from now on.
    New,
    /// The same call is running, or was cut off.
    Before,
    /// The same call was answered.
    Answered,
    /// The same call was answered with newer messages, and did not run.
    Superseded,
    /// The id was used for another call.
    Other,
}

/// Looks a call id up and remembers it.
pub(crate) fn enter(session: &mut Session, id: &str, fingerprint: &Digest) -> Seen {
    if let Some(known) = session.recent.iter().find(|recent| recent.id == id) {
        return match known.answered {
            _ if known.fingerprint != *fingerprint => Seen::Other,
            _ if known.superseded => Seen::Superseded,
            true => Seen::Answered,
            false => Seen::Before,
        };
    }
    if session.recent.len() >= KEPT {
        session.recent.pop_front();
    }
    let fingerprint = fingerprint.clone();
    let id = id.to_owned();
    let (answered, superseded) = (false, false);
    let group = Some(session.turn.group.clone());
    session.recent.push_back(Recent { id, fingerprint, answered, superseded, group });
    Seen::New
}

/// What a call came to, as far as whoever sends it again is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// An answer, which is kept.
    Kept,
    /// One that is too large for that. The id still stands for this call.
    TooLarge,
    /// Newer messages in its place, which are kept. It does not run under this id any more.
    Superseded,
    /// None: trying again may help.
    Nothing,
}

/// Remembers what a call came to. Returns whether its answer is to be kept.
pub(crate) fn answered(session: &mut Session, id: &str, came: Came) -> bool {
    match came {
        Came::Kept | Came::Superseded => {
            let known = session.recent.iter_mut().find(|recent| recent.id == id);
            known.is_some_and(|known| {
                known.superseded |= came == Came::Superseded;
                !std::mem::replace(&mut known.answered, true)
            })
        }
        Came::TooLarge => false,
        Came::Nothing => {
            session.recent.retain(|recent| recent.id != id || recent.answered);
            false
        }
    }
}

/// Whether a call of this name was answered with newer messages.
pub(crate) fn gave_way(session: &Session, id: &str) -> bool {
    session.recent.iter().any(|one| one.id == id && one.superseded)
}

/// Whether the same call was answered under its id.
pub(crate) fn is_answered(session: &Session, id: &str, fingerprint: &Digest) -> bool {
    let same = |one: &Recent| one.id == id && one.fingerprint == *fingerprint;
    session.recent.iter().any(|one| same(one) && one.answered)
}
