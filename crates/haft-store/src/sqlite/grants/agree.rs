//! Whether the grants that are there are those that the trail tells of.

use std::collections::{BTreeSet, HashMap};

use haft_core::Digest;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::agree::Differing;
use super::super::{read, schema};
use super::{Kept, Word, digest, rows};
use crate::tables::Res;
use crate::trail::{Broken, Fault, Written};

/// Tenant and connection.
pub(in super::super) type Name = (String, String);

/// The last entry on the grants of a connection, and what it says.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(in super::super) struct Told {
    number: u64,
    grants: BTreeSet<Digest>,
}

/// Who may use what, as the trail tells it.
pub(in super::super) struct Grants {
    told: HashMap<Name, Told>,
    /// Whether that is all there is to tell: not where these words begin in the midst of a trail, of which an
    /// older haft has left nothing to go on from.
    is_whole: bool,
}

impl Default for Grants {
    fn default() -> Self {
        Self { told: HashMap::new(), is_whole: true }
    }
}

impl Grants {
    pub(in super::super) fn since(standing: Option<Vec<(Name, Told)>>) -> Self {
        let is_whole = standing.is_some();
        Self { told: standing.into_iter().flatten().collect(), is_whole }
    }

    pub(in super::super) fn standing(&self) -> Option<Vec<(Name, Told)>> {
        self.is_whole.then(|| self.told.clone().into_iter().collect())
    }

    /// Takes an entry on a connection in.
    pub(in super::super) fn take(&mut self, entry: &Written<'_>) {
        let Ok(word) = serde_json::from_str::<Word>(entry.body) else { return };
        let Some(grants) = word.grants else { return };
        // What an older haft left was taken in whole, with the entries before this one.
        self.is_whole |= entry.tenant.is_empty() && word.connection.is_empty();
        let name = (entry.tenant.to_owned(), word.connection);
        self.told.insert(name, Told { number: entry.number, grants });
    }

    /// The grants that are there and not in the trail, then those in the trail that are not there.
    pub(in super::super) fn against(&self, conn: &Connection) -> Res<Vec<Differing>> {
        if !self.is_whole || !self.is_told(conn)? {
            return Ok(Vec::new());
        }
        let (mut left, mut differing) = (self.left(), Vec::new());
        for kept in rows(conn)? {
            let name = (kept.tenant.clone(), kept.connection.clone());
            let told = self.told.get(&name);
            let known = kept.grant().map(|grant| digest(&grant));
            let known = known.filter(|one| told.is_some_and(|told| told.grants.contains(one)));
            match known {
                Some(digest) => drop(left.remove(&(name, digest))),
                None => differing.push(invented(&kept, told.map_or(0, |told| told.number))),
            }
        }
        let mut gone: Vec<_> =
            left.into_iter().map(|((name, digest), number)| (number, name, digest)).collect();
        gone.sort_unstable();
        differing.extend(gone.into_iter().map(|(number, name, digest)| {
            let mark = Digest::of_json(&json!(["no grant", name, digest]));
            differs(name.0, number, mark)
        }));
        Ok(differing)
    }

    /// Whether the trail tells of grants at all: not where no newer haft has opened the file.
    fn is_told(&self, conn: &Connection) -> Res<bool> {
        let table = "SELECT 1 FROM sqlite_schema WHERE name = 'connection_grants'";
        if read::one(conn, table, (), |found| found.get::<_, i64>(0))?.is_none() {
            return Ok(false);
        }
        Ok(!self.told.is_empty() || schema::tells_grants(conn)?)
    }

    /// Every grant that has to be there, with the entry that says so.
    fn left(&self) -> HashMap<(Name, Digest), u64> {
        let all = self.told.iter().flat_map(|(name, told)| {
            let one = |digest: &Digest| ((name.clone(), digest.clone()), told.number);
            told.grants.iter().map(one)
        });
        all.collect()
    }
}

fn invented(kept: &Kept, number: u64) -> Differing {
    let Kept { tenant, connection, body } = kept;
    let mark = Digest::of_json(&json!(["grant", tenant, connection, body]));
    differs(tenant.clone(), number, mark)
}

fn differs(tenant: String, number: u64, mark: Digest) -> Differing {
    let broken = Broken { number, tenant: Some(tenant), fault: Fault::Grants };
    Differing { marks: vec![mark], broken }
}
