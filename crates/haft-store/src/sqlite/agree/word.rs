//! What an entry of the trail says of an effect, and what the ledger says of it. Kept small: there are
//! as many as there are effects.

use std::borrow::Cow;
use std::hash::{BuildHasher as _, Hash, RandomState};

use haft_core::Digest;
use haft_core::contract::SideEffectPolicy;
use haft_core::digest;
use haft_core::ledger::{Keep, State};
use rusqlite::Row;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

use crate::machine;
use crate::sqlite::row::{self, RawStored};
use crate::steps::proof::Proof;

/// The bytes of a digest.
pub(super) type Raw = [u8; 32];

/// What stands for digests while two of them are compared, in a part of the room. Nobody outside of this
/// check knows what it is made with, so nobody can have made two texts that share one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Tag([u8; 16]);

/// Makes tags.
#[derive(Default)]
pub(super) struct Tags([RandomState; 2]);

impl Tags {
    pub(super) fn of(&self, what: impl Hash) -> Tag {
        let Self([first, second]) = self;
        let both = [first.hash_one(&what), second.hash_one(&what)];
        let mut tag = [0; 16];
        tag.iter_mut()
            .zip(both.into_iter().flat_map(u64::to_le_bytes))
            .for_each(|(to, from)| *to = from);
        Tag(tag)
    }

    /// Of a call. It only says where to look.
    pub(super) fn call(&self, call: &str) -> u64 {
        let Self([first, _]) = self;
        first.hash_one(call)
    }
}

/// What an entry says of an effect.
#[derive(Clone, Copy)]
pub(super) struct Word {
    pub(super) number: u64,
    /// The call, as the words hash it; 0 where it is not known any more.
    pub(super) call: u64,
    /// Whose, as the words number them.
    pub(super) tenant: u32,
    /// None where it is no word of ours.
    pub(super) state: Option<State>,
    pub(super) proof: Option<Proved>,
}

// There are as many as there are effects: whoever adds to one adds that to the memory of every check.
const _: () = assert!(size_of::<Word>() <= 72, "a word is small");

/// What must be true of the entry under a key.
#[derive(Clone, Copy)]
pub(super) struct Proved {
    /// Of what was asked, and of the rest of the entry where that is part of it.
    said: Tag,
    /// Of the answer, or that there is none.
    answer: Tag,
    /// [`NEVER`] where it must be there however late it is.
    forget_at_ms: i64,
    is_whole: bool,
}

/// Later than anything.
const NEVER: i64 = i64::MAX;

/// A [`Proof`] as it was said.
#[derive(Clone, Copy)]
pub(super) struct Told {
    pub(super) key: Raw,
    asked: Raw,
    answer: Option<Raw>,
    rest: Option<Raw>,
    forget_at_ms: Option<i64>,
}

impl Told {
    /// Without the key, and small.
    pub(super) fn proved(&self, tags: &Tags) -> Proved {
        Proved {
            said: tags.of((self.asked, self.rest)),
            answer: tags.of(self.answer),
            forget_at_ms: self.forget_at_ms.unwrap_or(NEVER),
            is_whole: self.rest.is_some(),
        }
    }

    /// Whether the effect has not come to an end.
    pub(super) fn is_open(&self) -> bool {
        self.forget_at_ms.is_none()
    }
}

/// The part of an entry's body that is a word. An older haft did not say so much.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    pub(super) call: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) state: Cow<'a, str>,
    #[serde(default, deserialize_with = "raw")]
    pub(super) key: Option<Raw>,
    #[serde(default, deserialize_with = "raw")]
    asked: Option<Raw>,
    #[serde(default, deserialize_with = "raw")]
    answer: Option<Raw>,
    #[serde(default, deserialize_with = "raw")]
    rest: Option<Raw>,
    #[serde(default)]
    forget_at_ms: Option<i64>,
}

fn raw<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Raw>, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(from)?;
    Ok(text.and_then(|text| digest::parse_raw(&text)))
}

impl Said<'_> {
    /// The key, and what must be true of the entry under it.
    pub(super) fn told(&self) -> Option<Told> {
        let (answer, rest, forget_at_ms) = (self.answer, self.rest, self.forget_at_ms);
        Some(Told { key: self.key?, asked: self.asked?, answer, rest, forget_at_ms })
    }
}

impl Proved {
    /// Whether everything in the entry is part of it.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether the entry must be there at this time.
    pub(super) fn holds_at(&self, now_ms: i64) -> bool {
        self.forget_at_ms == NEVER || self.forget_at_ms > now_ms
    }
}

impl Word {
    pub(super) fn fits(&self, found: &Found<'_>, now_ms: i64, tags: &Tags) -> bool {
        let same = self.state.is_some() && self.state == found.state;
        let Some(proof) = &self.proof else { return same };
        let (told, stored) = (proof.answer, &found.stored);
        let rest = proof.is_whole.then_some(stored.rest);
        let same = same && proof.said == tags.of((stored.asked, rest));
        if !proof.is_whole {
            // An answer that is no longer kept says nothing.
            return same && (found.answer.is_none() || told == tags.of(found.answer));
        }
        let gone = || {
            stored.answer.is_none() && found.answer_until_ms.is_some_and(|until| until <= now_ms)
        };
        same && found.in_time && (told == tags.of(stored.answer) || gone())
    }
}

/// A word that is written down, for whoever reads on later.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Open {
    number: u64,
    pub(super) tenant: String,
    state: State,
    proof: Proof,
}

impl Open {
    pub(super) fn of(told: &Told, word: &Word, tenant: &str) -> Option<Self> {
        let Told { key, asked, answer, rest, forget_at_ms } = *told;
        let digest = |raw: Raw| Digest::from_raw(&raw);
        let (answer, rest) = (answer.map(digest), rest.map(digest));
        let proof = Proof { key: digest(key), asked: digest(asked), answer, rest, forget_at_ms };
        Some(Self { number: word.number, tenant: tenant.to_owned(), state: word.state?, proof })
    }

    /// What was said and the word, of a tenant that has this number now. Which call it was of is not known
    /// any more.
    pub(super) fn word(&self, tenant: u32, tags: &Tags) -> (Told, Word) {
        let Proof { key, asked, answer, rest, forget_at_ms } = &self.proof;
        let told = Told {
            key: key.raw(),
            asked: asked.raw(),
            answer: answer.as_ref().map(Digest::raw),
            rest: rest.as_ref().map(Digest::raw),
            forget_at_ms: *forget_at_ms,
        };
        let (number, state, proof) = (self.number, Some(self.state), Some(told.proved(tags)));
        (told, Word { number, tenant, call: 0, state, proof })
    }
}

/// An entry of the ledger, whatever somebody has made of it.
pub(super) struct Found<'r> {
    pub(super) key: Option<Raw>,
    pub(super) call: &'r str,
    /// None where it cannot be read.
    pub(super) tenant: Option<&'r str>,
    pub(super) state: Option<State>,
    pub(super) class: Option<SideEffectPolicy>,
    stored: RawStored,
    /// Of the answer's text alone.
    answer: Option<Raw>,
    pub(super) started_at_ms: i64,
    /// When its answer may be gone, if ever; and whether it is forgotten when that says so.
    answer_until_ms: Option<i64>,
    in_time: bool,
}

/// Reads the columns of [`super::ROWS`].
pub(super) fn found<'r>(row: &'r Row<'_>) -> rusqlite::Result<Found<'r>> {
    let stored = row::stored_raw(row)?;
    let key = row.get_ref(4)?.as_blob().ok().and_then(|blob| Raw::try_from(blob).ok());
    let state = row.get_ref(13)?.as_str().ok().and_then(State::parse);
    let keep = Keep { result_ms: row::unsigned(row, 17)?, key_ms: row::unsigned(row, 18)? };
    let ended: Option<i64> = row.get(20)?;
    let due = |has_body| machine::due_at_ms(state?, ended?, keep, has_body);
    let answer = row.get_ref(1)?.as_str_or_null().ok().flatten();
    Ok(Found {
        key,
        call: row.get_ref(8)?.as_str().unwrap_or_default(),
        tenant: row.get_ref(7)?.as_str().ok(),
        class: row.get_ref(12)?.as_str().ok().and_then(row::class),
        answer: answer.map(|text| digest::raw_of(text.as_bytes())),
        started_at_ms: row.get(19)?,
        answer_until_ms: due(true),
        in_time: due(stored.answer.is_some()) == row.get::<_, Option<i64>>(row::STORED)?,
        state,
        stored,
    })
}

impl Found<'_> {
    /// Without its answer, which goes in its time.
    pub(super) fn marks(&self) -> Vec<Digest> {
        let digest = |raw: &Raw| Digest::from_raw(raw);
        let row = json!([digest(&self.stored.asked), digest(&self.stored.rest)]);
        std::iter::once(Digest::of_json(&row)).chain(self.key.as_ref().map(digest)).collect()
    }
}
