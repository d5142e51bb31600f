//! Whether an approval stands in the trail: what a row alone says, anybody may have written.

use haft_core::record::{Confirmation, ConfirmationStatus};
use haft_core::{Digest, Principal};
use rusqlite::{Connection, Row};
use serde::Deserialize;
use serde_json::json;

use super::agree::Differing;
use super::fault::of_read;
use super::{read, row};
use crate::clock::JUMP_MS;
use crate::tables::Res;
use crate::trail::{Broken, Fault};

/// A tenant's entries that are not those of calls, the newest first: few were written since anything was
/// asked that can still be approved.
const WORDS: &str = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit \
    INDEXED BY audit_rare WHERE tenant = ?1 \
    AND kind <> 'call' AND kind <> 'settle' AND kind <> 'late' AND kind <> 'begin' \
    ORDER BY number DESC";

const ROWS: &str = "SELECT tenant, id, binding, status, asked_at_ms, body FROM confirmations";

/// What an entry says of a confirmation.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Word {
    #[serde(skip)]
    number: u64,
    id: String,
    status: String,
    by: Option<Principal>,
    /// Of an approval; an older haft did not say.
    binding: Option<Digest>,
    expires_at_ms: Option<i64>,
}

impl Word {
    fn approves(&self) -> bool {
        self.status == ConfirmationStatus::Approved.as_str()
    }
}

/// Whether the last word of the trail on a confirmation is that it was approved: by whom it says, for what
/// it says, and for as long.
pub(super) fn stands(conn: &Connection, confirmation: &Confirmation) -> Res<bool> {
    let Confirmation { tenant, id, asked_at_ms, .. } = confirmation;
    Ok(last_word(conn, tenant, id, *asked_at_ms)?.is_some_and(|word| {
        word.approves()
            && word.by == confirmation.decided_by
            && word.binding.as_ref() == Some(&confirmation.binding)
            && word.expires_at_ms == Some(confirmation.expires_at_ms)
    }))
}

/// The last entry on a confirmation, if that is as it was written and the next one follows from it.
fn last_word(conn: &Connection, tenant: &str, id: &str, asked_at_ms: i64) -> Res<Option<Word>> {
    let find = || -> rusqlite::Result<Option<Word>> {
        let mut statement = conn.prepare_cached(WORDS)?;
        let mut rows = statement.query((tenant,))?;
        while let Some(found) = rows.next()? {
            let entry = row::written(found)?;
            if entry.at_ms < asked_at_ms.saturating_sub(JUMP_MS) {
                return Ok(None);
            }
            if entry.kind != "confirmation" {
                continue;
            }
            let said = serde_json::from_str::<Word>(entry.body).ok();
            let Some(said) = said.filter(|word| word.id == id) else { continue };
            let whole = entry.is_intact() && follows(conn, entry.number, &entry.hash)?;
            return Ok(whole.then_some(Word { number: entry.number, ..said }));
        }
        Ok(None)
    };
    find().map_err(|error| of_read(&error))
}

/// Whether the entry after this one, if there is one, is linked to it.
pub(super) fn follows(conn: &Connection, number: u64, hash: &[u8; 32]) -> rusqlite::Result<bool> {
    let sql = "SELECT previous = ?2 FROM audit WHERE number = ?1 + 1";
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query((row::signed(number), hash))?;
    rows.next()?.map_or(Ok(true), |found| found.get(0))
}

/// A row, as far as it can be read without the tenant's key.
struct Asked {
    tenant: String,
    id: String,
    binding: Option<Digest>,
    status: String,
    asked_at_ms: i64,
    clear: Clear,
}

/// What stands in the row's text: all of it, or what is clear beside the seal.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Clear {
    status: Option<String>,
    binding: Option<Digest>,
    #[serde(default)]
    expires_at_ms: i64,
}

impl Asked {
    fn is_approved(&self) -> bool {
        let approved = ConfirmationStatus::Approved.as_str();
        self.status == approved || self.clear.status.as_deref() == Some(approved)
    }

    fn fits(&self, word: &Word) -> bool {
        // An older haft did not say for what; nobody can use that up.
        let Some(binding) = &word.binding else { return word.approves() };
        word.approves()
            && self.binding.as_ref() == Some(binding)
            && self.clear.binding.as_ref().is_none_or(|clear| clear == binding)
            && word.expires_at_ms == Some(self.clear.expires_at_ms)
    }
}

/// Confirmations that are approved and could be used, and whose last word in the trail is not that.
pub(super) fn unfounded(conn: &Connection, now_ms: i64) -> Res<Vec<Differing>> {
    // A file that no newer haft has opened cannot be looked through like this.
    let index = "SELECT 1 FROM sqlite_schema WHERE name = 'audit_rare'";
    if read::one(conn, index, (), |found| found.get::<_, i64>(0))?.is_none() {
        return Ok(Vec::new());
    }
    let mut differing = Vec::new();
    for asked in read::all(conn, ROWS, (), asked)? {
        // What was asked by a clock that was ahead is void, and cannot be used.
        let is_ahead = asked.asked_at_ms.saturating_sub(now_ms) > JUMP_MS;
        if !asked.is_approved() || is_ahead || asked.clear.expires_at_ms <= now_ms {
            continue;
        }
        let word = last_word(conn, &asked.tenant, &asked.id, asked.asked_at_ms)?;
        if word.as_ref().is_some_and(|word| asked.fits(word)) {
            continue;
        }
        let mark = json!(["confirmation", asked.tenant, asked.id, asked.binding, word.is_some()]);
        let (number, tenant) = (word.map_or(0, |word| word.number), Some(asked.tenant));
        let broken = Broken { number, tenant, fault: Fault::Approval };
        differing.push(Differing { marks: vec![Digest::of_json(&mark)], broken });
    }
    Ok(differing)
}

fn asked(found: &Row<'_>) -> rusqlite::Result<Asked> {
    let text = |at| -> rusqlite::Result<String> {
        let bytes = found.get_ref(at)?.as_bytes_or_null()?.unwrap_or_default();
        Ok(String::from_utf8_lossy(bytes).into_owned())
    };
    Ok(Asked {
        tenant: text(0)?,
        id: text(1)?,
        binding: row::digest(found, 2).ok(),
        status: text(3)?,
        asked_at_ms: found.get(4)?,
        clear: serde_json::from_str(&text(5)?).unwrap_or_default(),
    })
}
