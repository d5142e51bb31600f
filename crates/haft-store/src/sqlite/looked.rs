//! That somebody has looked into the trail and gone on. It counts where the trail has the entry that
//! says so, as it was written, and the store's key has signed that: a row alone is anybody's.

use std::ops::RangeInclusive;

use haft_core::Digest;
use haft_core::record::AuditEntry;
use haft_core::registry::{PublicKey, Signature, SigningKey};
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::agree::Differing;
use super::tx::Tx;
use super::{read, row};
use crate::steps::journal::{ACKNOWLEDGE, written};
use crate::tables::{Looked, Res, Tables as _};
use crate::trail::{Broken, Fault, Link};

const ROWS: &str = "SELECT number, at_ms, by, hash, signature FROM acknowledged \
                    ORDER BY number DESC, at_ms DESC";

/// What a file has that no newer haft has opened.
const OLD_ROWS: &str = "SELECT number, at_ms, by, NULL, NULL FROM acknowledged \
                        ORDER BY number DESC, at_ms DESC";

const ENTRY: &str = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit \
                     WHERE number = ?1";

/// Said where effects stop although somebody has looked, which is not signed.
pub(super) const AGAIN: &str = "somebody is said to have looked, which is not signed with this store's key \
    and counts for nothing: where it was you, under an older haft or a key that was lost, say so again \
    with `haft audit acknowledge`";

/// At most so much of what somebody has looked at is in one entry of the trail.
const MARKS_AT_ONCE: usize = 4_096;

/// An entry of the trail that says so.
#[derive(Serialize)]
struct Looks<'a> {
    by: &'a str,
    note: &'a str,
    faults: &'a [Digest],
    /// Where there are several, of which the last one is signed and speaks for those before.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
}

/// A row, whoever wrote it.
struct Said {
    number: u64,
    at_ms: i64,
    by: String,
    hash: Option<Digest>,
    signature: Option<Signature>,
}

/// What a row is worth.
enum Worth {
    /// It counts, for these entries.
    Signed(RangeInclusive<u64>),
    /// The trail has its entry, and nobody has signed it.
    Unsigned,
    /// The trail does not have its entry.
    Alone,
}

/// What somebody has looked at.
#[derive(Default)]
pub(super) struct Acknowledged {
    /// The last that counts.
    pub(super) last: Looked,
    /// The entries that count.
    vouched: Vec<RangeInclusive<u64>>,
    /// Those that count for nothing, but are in the trail.
    pub(super) unsigned: Vec<Broken>,
    /// Those that nothing in the trail tells of.
    pub(super) alone: Vec<Differing>,
}

impl Acknowledged {
    pub(super) fn read(conn: &Connection, key: &PublicKey) -> Res<Self> {
        let mut all = Self::default();
        for said in rows(conn)? {
            let broken = |fault| Broken { number: said.number, tenant: None, fault };
            match said.worth(conn, key)? {
                Worth::Signed(entries) => {
                    if all.vouched.is_empty() {
                        all.last = said.looked();
                    }
                    all.vouched.push(entries);
                }
                Worth::Unsigned => all.unsigned.push(broken(Fault::Unsigned)),
                Worth::Alone => all
                    .alone
                    .push(Differing { marks: vec![said.mark()], broken: broken(Fault::Unfounded) }),
            }
        }
        Ok(all)
    }

    /// Whether what an entry says was looked at, was.
    pub(super) fn vouches_for(&self, number: u64) -> bool {
        self.vouched.iter().any(|entries| entries.contains(&number))
    }
}

/// The last time that somebody has looked.
pub(super) fn last(conn: &Connection, key: &PublicKey) -> Res<Looked> {
    for said in rows(conn)? {
        if let Worth::Signed(_) = said.worth(conn, key)? {
            return Ok(said.looked());
        }
    }
    Ok(Looked::default())
}

/// Writes that somebody has looked at what these marks are of, and signs it. Returns when.
pub(super) fn put(
    tx: &mut Tx<'_>,
    by: &str,
    note: &str,
    marks: &[Digest],
    key: &SigningKey,
) -> Res<i64> {
    let (mut left, from) = (marks, tx.link.number + 1);
    loop {
        let (faults, rest) = left.split_at(left.len().min(MARKS_AT_ONCE));
        let first = (faults.len() < marks.len()).then_some(from);
        tx.append("", ACKNOWLEDGE, written(&Looks { by, note, faults, first })?)?;
        if rest.is_empty() {
            break;
        }
        left = rest;
    }
    let (Link { number, hash }, at_ms) = (tx.link.clone(), tx.now_ms);
    let signature = written(&key.sign(&statement(number, &hash, at_ms, by)))?;
    let sql = "INSERT INTO acknowledged (number, at_ms, by, hash, signature) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    tx.execute(sql, (row::signed(number), at_ms, by, hash.raw(), signature)).map(|_| at_ms)
}

fn statement(number: u64, hash: &Digest, at_ms: i64, by: &str) -> String {
    format!("haft audit acknowledgement 1\n{number}\n{hash}\n{at_ms}\n{by}\n")
}

/// The newest first. What cannot be read in a row is not there.
fn rows(conn: &Connection) -> Res<Vec<Said>> {
    let signed = "SELECT 1 FROM pragma_table_info('acknowledged') WHERE name = 'signature'";
    let sql = match read::one(conn, signed, (), |found| found.get::<_, i64>(0))? {
        Some(_) => ROWS,
        None => OLD_ROWS,
    };
    read::all(conn, sql, (), |found| {
        Ok(Said {
            number: row::unsigned(found, 0).unwrap_or(u64::MAX),
            at_ms: found.get(1)?,
            by: String::from_utf8_lossy(found.get_ref(2)?.as_bytes().unwrap_or_default()).into(),
            hash: row::digest(found, 3).ok(),
            signature: row::json(found, 4).ok().flatten(),
        })
    })
}

/// The first of the entries that an acknowledgement is spread over, where there are several.
#[derive(Deserialize)]
struct From {
    first: Option<u64>,
}

impl Said {
    fn worth(&self, conn: &Connection, key: &PublicKey) -> Res<Worth> {
        let Some(entry) = self.entry(conn)? else { return Ok(Worth::Alone) };
        let of_it = self.hash.as_ref() == Some(&entry.hash) && self.at_ms == entry.at_ms;
        let is_signed = of_it
            && self.signature.as_ref().is_some_and(|signature| {
                let said = statement(self.number, &entry.hash, self.at_ms, &self.by);
                signature.key == *key && signature.covers(&said)
            });
        if !is_signed {
            return Ok(Worth::Unsigned);
        }
        let from = serde_json::from_str::<From>(&entry.body).ok().and_then(|from| from.first);
        Ok(Worth::Signed(from.unwrap_or(self.number)..=self.number))
    }

    /// Its entry, where that is as it was written.
    fn entry(&self, conn: &Connection) -> Res<Option<AuditEntry>> {
        let read = |found: &Row<'_>| Ok(row::audit(found).ok());
        let entry = read::one(conn, ENTRY, (row::signed(self.number),), read)?.flatten();
        Ok(entry.filter(|entry| {
            entry.kind == ACKNOWLEDGE
                && entry.tenant.is_empty()
                && entry.hash == entry.expected_hash()
        }))
    }

    fn looked(&self) -> Looked {
        Looked { number: self.number, at_ms: self.at_ms }
    }

    fn mark(&self) -> Digest {
        Digest::of_json(&json!(["acknowledged", self.number, self.at_ms, self.by]))
    }
}
