//! Whether the ledger says what the audit trail says: an outcome that was edited in the one table
//! does not fit the other, which nobody can edit unseen.

use std::collections::HashMap;

use haft_core::record::AuditEntry;
use rusqlite::Connection;
use serde::Deserialize;

use super::fault::of_read;
use crate::tables::Res;
use crate::trail::{Broken, Fault};

/// The last word of the trail on each effect.
#[derive(Default)]
pub(super) struct Words(HashMap<String, Word>);

struct Word {
    number: u64,
    state: String,
}

#[derive(Deserialize)]
struct Said {
    call: String,
    state: String,
}

impl Words {
    /// Takes an entry in. What it says of no effect, or too late, changes nothing.
    pub(super) fn take(&mut self, entry: &AuditEntry) {
        if !matches!(entry.kind.as_str(), "settle" | "unknown" | "resolve" | "undo") {
            return;
        }
        if let Ok(said) = serde_json::from_str::<Said>(&entry.body) {
            self.0.insert(said.call, Word { number: entry.number, state: said.state });
        }
    }

    /// The first effect of the ledger on which the two do not agree.
    pub(super) fn against(&self, conn: &Connection) -> Res<Option<Broken>> {
        let read = || -> rusqlite::Result<Option<Broken>> {
            let sql =
                "SELECT call, tenant, state FROM effects WHERE state <> 'started' ORDER BY id";
            let mut statement = conn.prepare(sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let (call, tenant): (String, String) = (row.get(0)?, row.get(1)?);
                let state: String = row.get(2)?;
                let word = self.0.get(&call);
                if word.is_none_or(|word| word.state != state) {
                    let number = word.map_or(0, |word| word.number);
                    return Ok(Some(Broken { number, tenant: Some(tenant), fault: Fault::Ledger }));
                }
            }
            Ok(None)
        };
        read().map_err(|error| of_read(&error))
    }
}
