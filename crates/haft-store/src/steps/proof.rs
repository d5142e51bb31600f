//! What the audit trail says of an entry of the ledger, so that nobody edits or removes it unseen.

use haft_core::Digest;
use haft_core::ledger::State;
use serde::{Deserialize, Serialize};

use crate::machine::{self, Head};
use crate::tables::{Res, Tables};

/// What must be true of the entry under a key from then on: of its texts as they are stored, sealed or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    pub(crate) key: Digest,
    /// Of what was asked for.
    pub(crate) asked: Digest,
    /// Of the answer, where there is one; it goes before the entry does.
    pub(crate) answer: Option<Digest>,
    /// From when on the entry may be gone; none for one that has to be there.
    pub(crate) forget_at_ms: Option<i64>,
}

impl Proof {
    /// Of an entry as it was just written, in this state since then.
    pub(crate) fn of(
        on: &mut impl Tables,
        head: &Head,
        (state, ended_at_ms): (State, Option<i64>),
    ) -> Res<Self> {
        let (asked, answer) = on.texts(head.id)?;
        let forget = |ended| machine::due_at_ms(state, ended, head.keep, false);
        Ok(Self {
            key: Digest::from_raw(&head.key),
            asked: digest(&asked),
            answer: answer.as_deref().map(digest),
            forget_at_ms: ended_at_ms.and_then(forget),
        })
    }

    /// Whether an entry asks and answers this. An answer that is no longer kept says nothing.
    pub(crate) fn fits(&self, asked: &str, answer: Option<&str>) -> bool {
        self.asked == digest(asked)
            && answer.is_none_or(|answer| self.answer == Some(digest(answer)))
    }

    /// Whether the entry must be there at this time.
    pub(crate) fn holds_at(&self, now_ms: i64) -> bool {
        self.forget_at_ms.is_none_or(|forget| forget > now_ms)
    }
}

fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}
