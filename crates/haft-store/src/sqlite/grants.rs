//! Whether those may use a connection of whom the trail says so.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use haft_core::Digest;
use haft_core::connection::Grant;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::agree::Differing;
use super::forget::gaps;
use super::read;
use crate::tables::Res;
use crate::trail::{Broken, Fault, Written};
use crate::vault;

/// Tenant and connection.
pub(super) type Name = (String, String);

/// The last entry on a connection, and its grants from then on, each as it is written.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Told {
    number: u64,
    grants: BTreeSet<String>,
}

/// Who may use what, as the trail tells it. A connection whose making was forgotten is not among them.
#[derive(Default)]
pub(super) struct Grants(HashMap<Name, Told>);

/// An entry on a connection.
#[derive(Deserialize)]
struct Changed {
    connection: String,
    what: String,
    to: Option<Grant>,
    from: Option<String>,
}

impl Grants {
    pub(super) fn since(standing: Vec<(Name, Told)>) -> Self {
        Self(standing.into_iter().collect())
    }

    pub(super) fn standing(&self) -> Vec<(Name, Told)> {
        self.0.clone().into_iter().collect()
    }

    /// Takes an entry on a connection in.
    pub(super) fn take(&mut self, entry: &Written<'_>) {
        let Ok(said) = serde_json::from_str::<Changed>(entry.body) else { return };
        let name = (entry.tenant.to_owned(), said.connection);
        if matches!(said.what.as_str(), "made" | "removed") {
            self.0.insert(name, Told { number: entry.number, ..Told::default() });
            return;
        }
        let Some(told) = self.0.get_mut(&name) else { return };
        match (said.what.as_str(), said.to) {
            ("granted", Some(grant)) => drop(told.grants.insert(text(&grant))),
            ("revoked", _) => {
                let left = told.grants.iter().filter_map(|one| {
                    let grant: Grant = serde_json::from_str(one).ok()?;
                    vault::without(grant, said.from.as_deref()).as_ref().map(text)
                });
                told.grants = left.collect();
            }
            _ => return,
        }
        told.number = entry.number;
    }

    /// The connections whose grants are not those that the trail tells of.
    pub(super) fn against(&self, conn: &Connection) -> Res<Vec<Differing>> {
        // A file that no newer haft has opened has no such table.
        let table = "SELECT 1 FROM sqlite_schema WHERE name = 'connection_grants'";
        if read::one(conn, table, (), |row| row.get::<_, i64>(0))?.is_none() {
            return Ok(Vec::new());
        }
        let (there, nothing) = (there(conn)?, BTreeSet::new());
        let may_be_forgotten = !gaps(conn)?.is_empty();
        let mut differing = Vec::new();
        for (name, grants) in &there {
            let number = match self.0.get(name) {
                Some(told) if told.grants == *grants => continue,
                Some(told) => told.number,
                None if may_be_forgotten => continue,
                None => 0,
            };
            differing.push(differs(name, grants, number));
        }
        let gone = self
            .0
            .iter()
            .filter(|(name, told)| !told.grants.is_empty() && !there.contains_key(*name));
        differing.extend(gone.map(|(name, told)| differs(name, &nothing, told.number)));
        differing.sort_by_key(|one| one.broken.number);
        Ok(differing)
    }
}

fn differs(name: &Name, grants: &BTreeSet<String>, number: u64) -> Differing {
    let broken = Broken { number, tenant: Some(name.0.clone()), fault: Fault::Grants };
    Differing { marks: vec![Digest::of_json(&json!(["grants", name, grants]))], broken }
}

/// The grants of each connection. What cannot be read fits nothing.
fn there(conn: &Connection) -> Res<BTreeMap<Name, BTreeSet<String>>> {
    let sql = "SELECT tenant, connection, body FROM connection_grants";
    let rows = read::all(conn, sql, (), |row| {
        let text = |at: usize| -> rusqlite::Result<String> {
            let bytes = row.get_ref(at)?.as_bytes_or_null()?.unwrap_or_default();
            Ok(String::from_utf8_lossy(bytes).into_owned())
        };
        Ok(((text(0)?, text(1)?), text(2)?))
    })?;
    let mut there = BTreeMap::<Name, BTreeSet<String>>::new();
    for (name, body) in rows {
        let grant = serde_json::from_str::<Grant>(&body);
        // A grant counts for what its text says, whatever row it stands in.
        let is_here = |grant: &Grant| (&grant.tenant, &grant.connection) == (&name.0, &name.1);
        let body = grant.ok().filter(is_here).as_ref().map_or(body, text);
        there.entry(name).or_default().insert(body);
    }
    Ok(there)
}

fn text(grant: &Grant) -> String {
    json!(grant).to_string()
}
