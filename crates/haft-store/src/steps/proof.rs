//! What the audit trail says of an entry of the ledger, so that nobody edits or removes it unseen.

use haft_core::Digest;
use haft_core::ledger::State;
use haft_core::record::AuditEntry;
use serde::{Deserialize, Serialize};

use super::journal::BEGIN;
use crate::machine::{self, Head};
use crate::tables::{Res, Tables};

/// What must be true of the entry under a key from then on: of what is stored, sealed or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Proof {
    pub(crate) key: Digest,
    /// Of what was asked for.
    pub(crate) asked: Digest,
    /// Of what goes before the entry does: the answer and what came with it. An older haft took it of
    /// the answer's text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<Digest>,
    /// Of everything else in the entry; an older haft did not say so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rest: Option<Digest>,
    /// From when on the entry may be gone; none for one that has to be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) forget_at_ms: Option<i64>,
}

/// An entry as it is stored. When it is due to be forgotten follows from the rest, so that is no part.
pub(crate) struct Stored {
    pub(crate) asked: Digest,
    pub(crate) answer: Option<Digest>,
    pub(crate) rest: Digest,
}

/// Whether entries of this kind say how an effect stands from then on.
pub(crate) fn is_word(kind: &str) -> bool {
    matches!(kind, BEGIN | "settle" | "unknown" | "resolve" | "undo")
}

impl Proof {
    /// What an entry of the trail says of an effect, if it does. An older haft did not.
    pub(crate) fn told_by(entry: &AuditEntry) -> Option<Self> {
        if !is_word(&entry.kind) {
            return None;
        }
        serde_json::from_str(&entry.body).ok()
    }

    /// Of an entry as it was just written, in this state since then. None in a store that nobody can
    /// edit.
    pub(crate) fn of(
        on: &mut impl Tables,
        head: &Head,
        (state, ended_at_ms): (State, Option<i64>),
    ) -> Res<Option<Self>> {
        let forget = |ended| machine::due_at_ms(state, ended, head.keep, false);
        let forget_at_ms = ended_at_ms.and_then(forget);
        let proof = Self::under(on, &head.key, head.id)?;
        Ok(proof.map(|proof| Self { forget_at_ms, ..proof }))
    }

    /// Of an entry that has to be there: it has only begun.
    pub(crate) fn under(on: &mut impl Tables, key: &[u8; 32], id: i64) -> Res<Option<Self>> {
        let key = || Digest::from_raw(key);
        Ok(on.stored(id)?.map(|Stored { asked, answer, rest }| Self {
            key: key(),
            asked,
            answer,
            rest: Some(rest),
            forget_at_ms: None,
        }))
    }
}
