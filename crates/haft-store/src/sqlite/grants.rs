//! Who may use a connection is what the trail's last word on it says: what a row alone says, anybody may
//! have written.
//!
//! Every change of the grants of a connection is an entry that names all of them from then on, each by
//! its digest. A grant counts where its row and that entry both have it.

mod agree;
mod found;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use haft_core::Digest;
use haft_core::connection::Grant;
use rusqlite::{Connection, Row};
use serde::Deserialize;
use serde_json::json;

use super::approvals::follows;
use super::fault::of_read;
use super::{read, row};
use crate::tables::Res;

pub(super) use agree::{Grants, Name, Told};
pub(super) use found::put as put_found;

/// The conditions of the index of words on grants.
macro_rules! words {
    () => {
        " FROM audit INDEXED BY audit_grants WHERE kind = 'connection' \
         AND iif(json_valid(body), body ->> '$.grants', NULL) IS NOT NULL"
    };
}

const LAST_WORD: &str = concat!(
    "SELECT number, at_ms, tenant, kind, body, previous, hash",
    words!(),
    " AND tenant = ?1 AND iif(json_valid(body), body ->> '$.connection', NULL) = ?2 \
     ORDER BY number DESC LIMIT 1"
);

/// Of all connections: from the index alone.
const NEWEST: &str = concat!("SELECT max(number)", words!());

const ROWS: &str =
    "SELECT tenant, connection, body FROM connection_grants ORDER BY tenant, connection, body";

/// What an entry on a connection says. Most say nothing of its grants.
#[derive(Deserialize)]
struct Word {
    connection: String,
    grants: Option<BTreeSet<Digest>>,
}

/// A row, whatever somebody has made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) tenant: String,
    pub(super) connection: String,
    pub(super) body: String,
}

impl Kept {
    /// A grant counts for what its text says; where that is of another connection than its row, it is no
    /// grant.
    pub(super) fn grant(&self) -> Option<Grant> {
        let grant: Grant = serde_json::from_str(&self.body).ok()?;
        let is_here = grant.tenant == self.tenant && grant.connection == self.connection;
        is_here.then_some(grant)
    }
}

/// What a grant is known by in the trail.
pub(super) fn digest(grant: &Grant) -> Digest {
    Digest::of_json(&json!(grant))
}

/// The grants of a connection as the last entry on them says, if that is as it was written and the next one
/// follows from it.
pub(super) fn standing(
    conn: &Connection,
    tenant: &str,
    connection: &str,
) -> Res<Option<BTreeSet<Digest>>> {
    let find = || -> rusqlite::Result<Option<BTreeSet<Digest>>> {
        let mut statement = conn.prepare_cached(LAST_WORD)?;
        let mut rows = statement.query((tenant, connection))?;
        let Some(found) = rows.next()? else { return Ok(None) };
        let entry = row::written(found)?;
        if !entry.is_intact() || !follows(conn, entry.number, &entry.hash)? {
            return Ok(None);
        }
        Ok(serde_json::from_str::<Word>(entry.body).ok().and_then(|word| word.grants))
    };
    find().map_err(|error| of_read(&error))
}

/// Whether an entry is the last word on who may use its connection.
pub(super) fn is_last_word(conn: &Connection, tenant: &str, number: u64, body: &str) -> Res<bool> {
    let Ok(word) = serde_json::from_str::<Word>(body) else { return Ok(false) };
    if word.grants.is_none() {
        return Ok(false);
    }
    let last = |found: &Row<'_>| row::unsigned(found, 0);
    let last = read::one(conn, LAST_WORD, (tenant, word.connection), last)?;
    Ok(last == Some(number))
}

/// Every row, however odd.
fn rows(conn: &Connection) -> Res<Vec<Kept>> {
    read::all(conn, ROWS, (), |found| {
        let text = |at: usize| -> rusqlite::Result<String> {
            let bytes = found.get_ref(at)?.as_bytes_or_null()?.unwrap_or_default();
            Ok(String::from_utf8_lossy(bytes).into_owned())
        };
        Ok(Kept { tenant: text(0)?, connection: text(1)?, body: text(2)? })
    })
}

/// What was found in force, and of which rows and which last entry. It is asked for every second, and
/// seldom anything has changed.
#[derive(Default)]
pub(super) struct Memory {
    rows: Vec<Kept>,
    newest: Option<u64>,
    in_force: Vec<Grant>,
}

impl Memory {
    /// The grants that count.
    pub(super) fn in_force(&mut self, conn: &Connection) -> Res<Vec<Grant>> {
        // One view of both tables.
        let _view = conn.unchecked_transaction().map_err(|error| of_read(&error))?;
        let rows = rows(conn)?;
        let newest = |found: &Row<'_>| found.get::<_, Option<i64>>(0);
        let newest = read::one(conn, NEWEST, (), newest)?.flatten();
        let newest = newest.and_then(|number| u64::try_from(number).ok());
        if rows != self.rows || newest != self.newest {
            self.in_force = in_force(conn, &rows)?;
            (self.rows, self.newest) = (rows, newest);
        }
        Ok(self.in_force.clone())
    }
}

fn in_force(conn: &Connection, rows: &[Kept]) -> Res<Vec<Grant>> {
    let (mut told, mut all) = (HashMap::new(), Vec::new());
    for kept in rows {
        let name = (&kept.tenant, &kept.connection);
        let told = match told.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(standing(conn, &kept.tenant, &kept.connection)?.unwrap_or_default())
            }
        };
        let stands = |grant: &Grant| told.contains(&digest(grant));
        match kept.grant().filter(stands) {
            Some(grant) => all.push(grant),
            None => {
                let Kept { tenant, connection, .. } = kept;
                tracing::error!(event = "grant_not_in_trail", tenant, connection);
            }
        }
    }
    Ok(all)
}
