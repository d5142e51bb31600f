//! Whether the ledger and what is configured say what the audit trail says: what was edited in the
//! one table does not fit the other, which nobody can edit unseen.

use std::collections::HashMap;

use haft_core::Digest;
use haft_core::record::AuditEntry;
use rusqlite::Connection;
use serde::Deserialize;

use super::fault::of_read;
use crate::tables::Res;
use crate::trail::{Broken, Fault};

/// The last word of the trail on each effect and on each thing that is configured.
#[derive(Default)]
pub(super) struct Words {
    effects: HashMap<String, Word>,
    configs: HashMap<Name, (u64, Option<Digest>)>,
}

/// Kind, tenant and id of a thing that is configured.
type Name = (String, String, String);

struct Word {
    number: u64,
    state: String,
}

/// What a thing says from then on; no digest where it was removed.
#[derive(Deserialize)]
struct Configured {
    kind: String,
    id: String,
    digest: Option<Digest>,
}

#[derive(Deserialize)]
struct Said {
    call: String,
    state: String,
}

impl Words {
    /// Takes an entry in. What it says of no effect, or too late, changes nothing.
    pub(super) fn take(&mut self, entry: &AuditEntry) {
        if entry.kind == "config"
            && let Ok(said) = serde_json::from_str::<Configured>(&entry.body)
        {
            let name = (said.kind, entry.tenant.clone(), said.id);
            self.configs.insert(name, (entry.number, said.digest));
        }
        if !matches!(entry.kind.as_str(), "settle" | "unknown" | "resolve" | "undo") {
            return;
        }
        if let Ok(said) = serde_json::from_str::<Said>(&entry.body) {
            self.effects.insert(said.call, Word { number: entry.number, state: said.state });
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
                let word = self.effects.get(&call);
                if word.is_none_or(|word| word.state != state) {
                    let number = word.map_or(0, |word| word.number);
                    return Ok(Some(Broken { number, tenant: Some(tenant), fault: Fault::Ledger }));
                }
            }
            Ok(None)
        };
        match read().map_err(|error| of_read(&error))? {
            Some(broken) => Ok(Some(broken)),
            None => self.against_configs(conn),
        }
    }

    /// The first thing that is configured and not as it was written, or written and not there.
    fn against_configs(&self, conn: &Connection) -> Res<Option<Broken>> {
        // A file that no newer haft has opened has no such table.
        let table = "SELECT 1 FROM sqlite_schema WHERE name = 'configs'";
        if super::read::one(conn, table, (), |row| row.get::<_, i64>(0))?.is_none() {
            return Ok(None);
        }
        let sql = "SELECT kind, tenant, id, body FROM configs ORDER BY kind, tenant, id";
        let found = super::read::all(conn, sql, (), |row| {
            let name: Name = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((name, row.get::<_, Option<String>>(3)?))
        })?;
        let broken = |name: &Name, number: u64| {
            Some(Broken { number, tenant: Some(name.1.clone()), fault: Fault::Config })
        };
        let mut left = self.configs.clone();
        for (name, body) in &found {
            let said = left.remove(name);
            let now = body.as_deref().map(digest_of);
            match said {
                Some((_, digest)) if digest == now => {}
                Some((number, _)) => return Ok(broken(name, number)),
                None => return Ok(broken(name, 0)),
            }
        }
        let gone = left.iter().map(|(name, (number, _))| (*number, name)).min();
        Ok(gone.and_then(|(number, name)| broken(name, number)))
    }
}

/// What cannot be read fits nothing.
fn digest_of(body: &str) -> Digest {
    match serde_json::from_str(body) {
        Ok(value) => Digest::of_json(&value),
        Err(_) => Digest::of_bytes(body.as_bytes()),
    }
}
