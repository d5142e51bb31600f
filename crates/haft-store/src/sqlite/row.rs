//! Rows as our words.

use std::ops::Range;

use haft_core::Digest;
use haft_core::contract::SideEffectPolicy;
use haft_core::digest;
use haft_core::ledger::{EffectRecord, Keep, State};
use haft_core::record::{AuditEntry, Confirmation};
use rusqlite::types::{Type, ValueRef};
use rusqlite::{Error, Params, Result, Row};
use serde::de::DeserializeOwned;

use super::sealing::{Place, Seals};
use crate::machine::Head;
use crate::steps::proof::Stored;
use crate::trail::{NOTHING, Written};

/// The columns of [`head`], in its order.
macro_rules! head_columns {
    () => {
        "id, tenant, call, key, fingerprint, state, epoch, class, owner, lease_until_ms, \
         keep_result_ms, keep_key_ms"
    };
}
pub(super) use head_columns;

pub(super) fn head(row: &Row<'_>) -> Result<Head> {
    Ok(Head {
        id: row.get(0)?,
        tenant: row.get(1)?,
        call: row.get(2)?,
        key: row.get(3)?,
        fingerprint: row.get(4)?,
        state: word(row, 5, State::parse)?,
        epoch: unsigned(row, 6)?,
        class: word(row, 7, class)?,
        owner: row.get(8)?,
        lease_until_ms: row.get(9)?,
        keep: Keep { result_ms: unsigned(row, 10)?, key_ms: unsigned(row, 11)? },
    })
}

/// The columns of [`effect`], in its order.
macro_rules! effect_columns {
    () => {
        "effect, key, fingerprint, state, epoch, started_at_ms, ended_at_ms, result, error, \
         intents, confirmation, resolution, compensation_id, compensation_result, tenant"
    };
}
pub(super) use effect_columns;

pub(super) fn effect(row: &Row<'_>, seals: &Seals<'_>) -> Result<EffectRecord> {
    let (key, tenant) = (digest(row, 1)?, row.get_ref(14)?.as_str()?);
    let at = |column| Place::effect(column, tenant, key.hex());
    Ok(EffectRecord {
        effect: seals
            .json(row, 0, at("effects.effect"))?
            .ok_or_else(|| unreadable(0, "no effect"))?,
        key: key.clone(),
        fingerprint: digest(row, 2)?,
        state: word(row, 3, State::parse)?,
        epoch: unsigned(row, 4)?,
        started_at_ms: row.get(5)?,
        ended_at_ms: row.get(6)?,
        result: seals.json(row, 7, at("effects.result"))?,
        error: seals.json(row, 8, at("effects.error"))?,
        intents: seals.json(row, 9, at("effects.intents"))?.unwrap_or_default(),
        confirmation: row.get(10)?,
        resolution: seals.json(row, 11, at("effects.resolution"))?,
        compensation_id: row.get(12)?,
        compensation_result: seals.json(row, 13, at("effects.compensation_result"))?,
    })
}

/// The columns of [`stored`], in its order: what was asked, what goes before the entry does, the rest.
macro_rules! stored_columns {
    () => {
        concat!(stored_columns!(before), ", deed, part_of")
    };
    // Of a file of before effects said of what they are parts.
    (deeds) => {
        concat!(stored_columns!(before), ", deed, NULL")
    };
    // Of a file of before there were deeds.
    (none) => {
        concat!(stored_columns!(before), ", NULL, NULL")
    };
    (before) => {
        "effect, result, intents, compensation_result, key, fingerprint, act, tenant, call, tool, \
         session, turn_group, class, state, epoch, owner, lease_until_ms, keep_result_ms, \
         keep_key_ms, started_at_ms, ended_at_ms, error, confirmation, resolution, compensation_id"
    };
}
pub(super) use stored_columns;

/// How many columns there are in [`stored_columns`].
pub(super) const STORED: usize = 27;

/// The last ones, which what an earlier version began does not have.
const DEED: usize = STORED - 2;
const PART_OF: usize = STORED - 1;

/// An entry of the ledger, by the bytes of its digests.
pub(super) struct RawStored {
    pub(super) asked: [u8; 32],
    pub(super) answer: Option<[u8; 32]>,
    pub(super) rest: [u8; 32],
}

pub(super) fn stored(row: &Row<'_>) -> Result<Stored> {
    let RawStored { asked, answer, rest } = stored_raw(row)?;
    let digest = |raw: [u8; 32]| Digest::from_raw(&raw);
    Ok(Stored { asked: digest(asked), answer: answer.map(digest), rest: digest(rest) })
}

/// Reads any content, also such as nobody of ours would have written.
pub(super) fn stored_raw(row: &Row<'_>) -> Result<RawStored> {
    let (asked, body, rest) = (0..1, 1..4, 4..STORED);
    let mut any = false;
    for at in body.clone() {
        any |= row.get_ref(at)? != ValueRef::Null;
    }
    let answer = any.then(|| of_columns(row, body)).transpose()?;
    Ok(RawStored { asked: of_columns(row, asked)?, answer, rest: of_columns(row, rest)? })
}

/// The digest of columns; kinds and lengths keep one from running into the next. That of a single text
/// is the text's.
fn of_columns(row: &Row<'_>, columns: Range<usize>) -> Result<[u8; 32]> {
    if columns.len() == 1
        && let ValueRef::Text(text) = row.get_ref(columns.start)?
    {
        return Ok(digest::raw_of(text));
    }
    let mut bytes = Vec::with_capacity(512);
    for at in columns {
        let mut put = |kind: u8, value: &[u8]| {
            bytes.push(kind);
            bytes.extend((value.len() as u64).to_be_bytes());
            bytes.extend(value);
        };
        match row.get_ref(at)? {
            ValueRef::Null | ValueRef::Blob(&[]) if at == PART_OF => {}
            ValueRef::Blob(blob) if at == PART_OF => put(5, blob),
            ValueRef::Null if at == DEED => {}
            ValueRef::Null => put(0, &[]),
            ValueRef::Integer(number) => put(1, &number.to_be_bytes()),
            ValueRef::Real(number) => put(2, &number.to_be_bytes()),
            ValueRef::Text(text) => put(3, text),
            ValueRef::Blob(blob) => put(4, blob),
        }
    }
    Ok(digest::raw_of(&bytes))
}

/// `id, body`.
pub(super) fn confirmation(
    row: &Row<'_>,
    seals: &Seals<'_>,
    tenant: &str,
) -> Result<Option<Confirmation>> {
    seals.json(row, 1, Place::confirmation(tenant, row.get_ref(0)?.as_str()?))
}

/// As it is stored, where it lies: `number, at_ms, tenant, kind, body, previous, hash`. An entry that
/// cannot be read says nothing and follows from none, which whoever checks the chain finds: one of them
/// must not keep the others from being looked at.
pub(super) fn written<'r>(row: &'r Row<'_>) -> Result<Written<'r>> {
    let number = unsigned(row, 0)?;
    let hash = row.get(6).unwrap_or(NOTHING);
    let (at_ms, said, previous) = (0, "", NOTHING);
    let unread = Written { number, at_ms, tenant: said, kind: said, body: said, previous, hash };
    Ok(readable(row, number).unwrap_or(unread))
}

fn readable<'r>(row: &'r Row<'_>, number: u64) -> Result<Written<'r>> {
    Ok(Written {
        number,
        at_ms: row.get(1)?,
        tenant: row.get_ref(2)?.as_str()?,
        kind: row.get_ref(3)?.as_str()?,
        body: row.get_ref(4)?.as_str()?,
        previous: row.get(5)?,
        hash: row.get(6)?,
    })
}

/// As it is stored: `number, at_ms, tenant, kind, body, previous, hash`.
pub(super) fn audit(row: &Row<'_>) -> Result<AuditEntry> {
    Ok(AuditEntry {
        number: unsigned(row, 0)?,
        at_ms: row.get(1)?,
        tenant: row.get(2)?,
        kind: row.get(3)?,
        body: row.get(4)?,
        previous: digest(row, 5)?,
        hash: digest(row, 6)?,
    })
}

pub(super) fn unsigned(row: &Row<'_>, at: usize) -> Result<u64> {
    row.get::<_, i64>(at).map(|number| u64::try_from(number).unwrap_or_default())
}

/// Puts an entry into the trail, with [`entry_values`].
pub(super) const PUT_ENTRY: &str = "INSERT INTO audit (number, at_ms, tenant, kind, body, previous, \
                                    hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// An entry of the trail as its row has it.
pub(super) fn entry_values(entry: &AuditEntry) -> impl Params + '_ {
    let AuditEntry { number, at_ms, tenant, kind, body, previous, hash } = entry;
    (signed(*number), at_ms, tenant, kind, body, previous.raw(), hash.raw())
}

/// A number as SQLite keeps it.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn digest(row: &Row<'_>, at: usize) -> Result<Digest> {
    row.get(at).map(|bytes| Digest::from_raw(&bytes))
}

/// JSON text, or nothing. An answer of `null` is not the same as none.
pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> Result<Option<T>> {
    let text = row.get_ref(at)?.as_str_or_null()?;
    text.map(|text| serde_json::from_str(text).map_err(|error| unreadable(at, error))).transpose()
}

fn word<T>(row: &Row<'_>, at: usize, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
    let word = row.get_ref(at)?.as_str()?;
    parse(word).ok_or_else(|| unreadable(at, format!("`{word}` is no word of ours")))
}

pub(super) fn class(word: &str) -> Option<SideEffectPolicy> {
    let classes = [
        SideEffectPolicy::Pure,
        SideEffectPolicy::Idempotent,
        SideEffectPolicy::Compensatable,
        SideEffectPolicy::Irreversible,
    ];
    classes.into_iter().find(|class| class.as_str() == word)
}

pub(super) fn unreadable(
    at: usize,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> Error {
    Error::FromSqlConversionFailure(at, Type::Text, why.into())
}
