//! Whether the ledger and what is configured say what the audit trail says: what was edited in the
//! one table does not fit the other, which nobody can edit unseen.

use std::collections::{HashMap, HashSet};

use haft_core::Digest;
use haft_core::ledger::State;
use haft_core::record::AuditEntry;
use rusqlite::Connection;
use serde::Deserialize;

use super::fault::of_read;
use crate::steps::configs::SHRED;
use crate::steps::proof::Proof;
use crate::tables::Res;
use crate::trail::{Broken, Fault};

/// The last word of the trail on each effect and on each thing that is configured.
#[derive(Default)]
pub(super) struct Words {
    effects: HashMap<String, Word>,
    /// By key: the last word on what is there.
    kept: HashMap<Digest, Kept>,
    configs: HashMap<Name, (u64, Option<Digest>)>,
    /// The latest time in the trail: a clock that was ahead for a while forgot by it.
    latest_ms: i64,
}

/// Kind, tenant and id of a thing that is configured.
type Name = (String, String, String);

struct Word {
    number: u64,
    state: String,
    proof: Option<Proof>,
}

/// An entry of the ledger that has to be there for a while.
struct Kept {
    number: u64,
    tenant: String,
    proof: Proof,
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
    /// An older haft did not say so much.
    #[serde(flatten)]
    proof: Option<Proof>,
}

impl Word {
    fn fits(&self, state: &str, asked: &str, answer: Option<&str>) -> bool {
        let fits = |proof: &Proof| proof.fits(asked, answer);
        self.state == state && self.proof.as_ref().is_none_or(fits)
    }
}

impl Words {
    /// Takes an entry in. What it says of no effect, or too late, changes nothing.
    pub(super) fn take(&mut self, entry: &AuditEntry) {
        self.latest_ms = self.latest_ms.max(entry.at_ms);
        if entry.kind == "config"
            && let Ok(said) = serde_json::from_str::<Configured>(&entry.body)
        {
            let name = (said.kind, entry.tenant.clone(), said.id);
            self.configs.insert(name, (entry.number, said.digest));
        }
        if entry.kind == SHRED {
            self.kept.retain(|_, kept| kept.tenant != entry.tenant);
        }
        if !matches!(entry.kind.as_str(), "settle" | "unknown" | "resolve" | "undo") {
            return;
        }
        if let Ok(said) = serde_json::from_str::<Said>(&entry.body) {
            let (number, tenant) = (entry.number, entry.tenant.clone());
            if let Some(proof) = said.proof.clone() {
                self.kept.insert(proof.key.clone(), Kept { number, tenant, proof });
            }
            let Said { call, state, proof } = said;
            self.effects.insert(call, Word { number, state, proof });
        }
    }

    /// The first effect of the ledger on which the two do not agree, or that is gone before its time;
    /// else the first such thing that is configured. What a person has looked at is passed over.
    pub(super) fn against(&self, conn: &Connection, looked: u64) -> Res<Option<Broken>> {
        let counts = |number: u64| number > looked || looked == 0;
        let (edited, found) = self.edited(conn, counts)?;
        if edited.is_some() {
            return Ok(edited);
        }
        match self.removed(conn, &found, counts)? {
            Some(broken) => Ok(Some(broken)),
            None => Ok(self.against_configs(conn)?.filter(|broken| counts(broken.number))),
        }
    }

    /// The first entry that does not say what the trail says, and the keys of those before it.
    fn edited(
        &self,
        conn: &Connection,
        counts: impl Fn(u64) -> bool,
    ) -> Res<(Option<Broken>, HashSet<Digest>)> {
        let mut found = HashSet::new();
        let mut read = || -> rusqlite::Result<Option<Broken>> {
            let sql = "SELECT call, tenant, state, key, effect, result FROM effects ORDER BY id";
            let mut statement = conn.prepare(sql)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let (call, tenant): (String, String) = (row.get(0)?, row.get(1)?);
                found.insert(Digest::from_raw(&row.get(3)?));
                let (state, asked): (String, String) = (row.get(2)?, row.get(4)?);
                let (word, answer) = (self.effects.get(&call), row.get::<_, Option<String>>(5)?);
                let agrees = match word {
                    Some(word) => word.fits(&state, &asked, answer.as_deref()),
                    // Nothing is said of what has only begun.
                    None => state == State::Started.as_str(),
                };
                let number = word.map_or(0, |word| word.number);
                if !agrees && counts(number) {
                    return Ok(Some(Broken { number, tenant: Some(tenant), fault: Fault::Ledger }));
                }
            }
            Ok(None)
        };
        let broken = read().map_err(|error| of_read(&error))?;
        Ok((broken, found))
    }

    /// The first entry that is not there and has to be.
    fn removed(
        &self,
        conn: &Connection,
        found: &HashSet<Digest>,
        counts: impl Fn(u64) -> bool,
    ) -> Res<Option<Broken>> {
        let clock = "SELECT now_ms FROM clock";
        let now_ms = super::read::one(conn, clock, (), |row| row.get(0))?.unwrap_or(i64::MAX);
        let now_ms = self.latest_ms.max(now_ms);
        let gone = self.kept.iter().filter(|(key, kept)| {
            !found.contains(*key) && kept.proof.holds_at(now_ms) && counts(kept.number)
        });
        Ok(gone.map(|(_, kept)| kept).min_by_key(|kept| kept.number).map(|kept| Broken {
            number: kept.number,
            tenant: Some(kept.tenant.clone()),
            fault: Fault::Ledger,
        }))
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
