//! Forgetting in SQLite.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use haft_core::port::{Forgotten, StoreError};
use haft_core::record::AuditEntry;
use haft_core::registry::PublicKey;
use rusqlite::{Connection, Row, params};

use super::known::Evidence;
use super::row::{self, signed};
use super::tx::Tx;
use super::{Sqlite, grants, looked, read, reader, verify};
use crate::steps::forget::{self, AT_ONCE, Hand, Order};
use crate::steps::journal::written;
use crate::tables::{Cut, Forgets, Looked, Res};
use crate::trail::{self, Checkpoint, Gap, Link, Signed};

/// At most so many bytes are forgotten in one transaction, however few entries that are.
const BYTES_AT_ONCE: u64 = 8 << 20;

const OLD: &str = "SELECT number, at_ms, tenant, kind, body, previous, hash FROM audit \
    WHERE number >= ?1 AND number < (SELECT max(number) FROM audit) ORDER BY number";

const GAP: &str = "SELECT first, last, previous, hash, at_ms, signature FROM forgotten";

/// What forgetting remembers from one step to the next.
#[derive(Default)]
pub(super) struct Memory {
    hand: Hand,
    checkpoints: Checkpoints,
    /// When checkpoints of what was forgotten were dropped last.
    dropped_at_ms: Option<i64>,
}

/// The checkpoints, and which file they were read from: most steps find the same one.
#[derive(Clone, Default)]
struct Checkpoints {
    of: Option<(u64, SystemTime)>,
    signed: Arc<Signed>,
}

impl Sqlite {
    /// One step, in a transaction that others share. Nothing is forgotten of a trail that was
    /// touched, so that it stays for whoever looks into it.
    pub(super) async fn forget_some(&self, before_ms: i64) -> Res<Forgotten> {
        if let Err(touched) = self.shared.doubted() {
            self.has_looked().await.map_err(|_| touched)?;
            self.shared.doubted()?;
        }
        forget::in_time(self.shared.clock.lead_ms())?;
        let key = Self::signing_key(&self.path)?;
        let checkpoints = self.signed_heads().await?;
        let hand = self.forgetting.lock().hand.clone();
        let step = move |tx: &mut Tx<'_>| {
            let (most, checkpoints) = (AT_ONCE, &*checkpoints);
            forget::some(tx, hand.clone(), &Order { before_ms, most, key: &key, checkpoints })
        };
        match self.write(step).await? {
            Ok((went, hand)) => {
                self.forgetting.lock().hand = hand;
                if !went.more {
                    self.drop_checkpoints().await;
                }
                Ok(went)
            }
            Err(broken) => {
                // Whether or not that can be read: what was found is not lost over it.
                let _ = self.has_looked().await;
                self.shared.suspect(verify::suspects(&[broken]));
                self.shared.doubted().map(|()| Forgotten::default())
            }
        }
    }

    /// Once a day. What goes wrong is counted and tried again: the file is only longer than needed.
    async fn drop_checkpoints(&self) {
        let now_ms = self.shared.clock.now_ms();
        let before = self.forgetting.lock().dropped_at_ms.replace(now_ms);
        if let Some(before) = before.filter(|before| now_ms - before < forget::DAY_MS) {
            self.forgetting.lock().dropped_at_ms = Some(before);
            return;
        }
        let path = self.path.clone();
        if verify::aside(move || drop_forgotten(&path)).await.is_err() {
            self.shared.unsigned.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The checkpoints, read where nobody waits for it.
    async fn signed_heads(&self) -> Res<Arc<Signed>> {
        let (path, known) =
            (Self::checkpoints(&self.path), self.forgetting.lock().checkpoints.clone());
        let read = self.readers.look(move |_| known.read(&path)).await?;
        let signed = Arc::clone(&read.signed);
        self.forgetting.lock().checkpoints = read;
        Ok(signed)
    }
}

impl Checkpoints {
    fn read(self, path: &Path) -> Res<Self> {
        let of = std::fs::metadata(path).and_then(|file| Ok((file.len(), file.modified()?))).ok();
        if of.is_some() && of == self.of {
            return Ok(self);
        }
        match verify::signed(path)? {
            Ok(checkpoints) => Ok(Self { of, signed: Arc::new(trail::by_number(checkpoints)) }),
            Err(broken) => Err(StoreError::Tampered(verify::in_words(&broken))),
        }
    }
}

/// Drops the checkpoints of entries that were forgotten together with the one after: nothing is left
/// to compare them with. They agreed when the entries went. What is not signed stays, for
/// [`verify::verify`] to tell.
fn drop_forgotten(path: &Path) -> Res<()> {
    let key = Sqlite::signing_key(path)?.public();
    let conn = reader::open(path, Duration::from_secs(5))?;
    let (gaps, known) = (gaps(&conn)?, Evidence::of(&conn)?.link());
    let ours = gaps.into_iter().filter(|gap| gap.is_signed_by(&key));
    let gaps: BTreeMap<u64, Gap> = ours.map(|gap| (gap.first, gap)).collect();
    let inside = |one: &Checkpoint| {
        let gap = gaps.range(..=one.number).next_back();
        gap.is_some_and(|(_, gap)| one.number < gap.last)
    };
    // The one that the database knows has to be there, however old.
    let is_known = |one: &Checkpoint| known.as_ref().is_some_and(|link| link.hash == one.hash);
    let checkpoints = Sqlite::checkpoints(path);
    let Ok(read) = verify::signed(&checkpoints)? else { return Ok(()) };
    // Chosen before the file is locked: to check many signatures takes long.
    let gone: HashMap<_, _> = read
        .into_iter()
        .filter(|one| inside(one) && !is_known(one) && one.is_signed_by(&key))
        .map(|one| ((one.number, one.at_ms), one))
        .collect();
    trail::drop_some(&checkpoints, &gone).map_err(|error| {
        StoreError::Unavailable(format!("`{}` cannot be written: {error}", checkpoints.display()))
    })
}

/// Every gap of a trail. A file that no newer haft has opened has none.
pub(super) fn gaps(conn: &Connection) -> Res<Vec<Gap>> {
    let table = "SELECT 1 FROM sqlite_schema WHERE name = 'forgotten'";
    match read::one(conn, table, (), |found| found.get::<_, i64>(0))? {
        Some(_) => read::all(conn, GAP, (), gap),
        None => Ok(Vec::new()),
    }
}

fn gap(found: &Row<'_>) -> rusqlite::Result<Gap> {
    Ok(Gap {
        first: row::unsigned(found, 0)?,
        last: row::unsigned(found, 1)?,
        previous: row::digest(found, 2)?,
        hash: row::digest(found, 3)?,
        at_ms: found.get(4)?,
        signature: row::json(found, 5)?.ok_or_else(|| row::unreadable(5, "no signature"))?,
    })
}

impl Tx<'_> {
    fn read_old(
        &self,
        from: u64,
        before_ms: i64,
        most: usize,
    ) -> rusqlite::Result<(Vec<AuditEntry>, bool)> {
        let mut statement = self.conn.prepare_cached(OLD)?;
        let mut rows = statement.query((signed(from),))?;
        let (mut old, mut bytes) = (Vec::new(), 0);
        while let Some(found) = rows.next()? {
            // The clock never goes back, so none after this is older.
            if found.get::<_, i64>(1)? >= before_ms {
                return Ok((old, false));
            }
            if old.len() >= most || bytes >= BYTES_AT_ONCE {
                return Ok((old, true));
            }
            let entry = row::audit(found)?;
            bytes += entry.body.len() as u64;
            old.push(entry);
        }
        Ok((old, false))
    }

    /// Sessions from a place on, in the order in which they were begun: where each is, whether it
    /// was begun before this, and whether it may go.
    fn old_sessions(
        &mut self,
        from: i64,
        before_ms: i64,
        most: usize,
    ) -> Res<Vec<(i64, bool, bool)>> {
        let sql = "SELECT rowid, \
                   coalesce(CASE WHEN json_valid(body) THEN body ->> '$.createdAtMs' END, 0) < ?2, \
                   touched_at_ms < ?2 AND NOT EXISTS \
                       (SELECT 1 FROM effects WHERE session = sessions.id \
                        AND tenant = sessions.tenant) \
                   FROM sessions WHERE rowid >= ?1 ORDER BY rowid LIMIT ?3";
        let params = (from, before_ms, signed(most as u64));
        self.all(sql, params, |found| Ok((found.get(0)?, found.get(1)?, found.get(2)?)))
    }
}

impl Forgets for Tx<'_> {
    fn old(&mut self, from: u64, before_ms: i64, most: usize) -> Res<(Vec<AuditEntry>, bool)> {
        let found = self.read_old(from, before_ms, most);
        self.try_(found)
    }

    fn link(&mut self, number: u64) -> Res<Option<Link>> {
        let sql = "SELECT hash FROM audit WHERE number = ?1";
        let hash = self.one(sql, (signed(number),), |found| row::digest(found, 0))?;
        Ok(hash.map(|hash| Link { number, hash }))
    }

    fn gaps(&mut self, from: u64, to: u64) -> Res<Vec<Gap>> {
        let sql = "SELECT first, last, previous, hash, at_ms, signature FROM forgotten \
                   WHERE first BETWEEN \
                       coalesce((SELECT max(first) FROM forgotten WHERE first < ?1), ?1) AND ?2 \
                   ORDER BY first";
        self.all(sql, (signed(from), signed(to)), gap)
    }

    fn looked(&mut self, key: &PublicKey) -> Res<Looked> {
        looked::last(self.conn, key)
    }

    fn cut(&mut self, cut: &Cut) -> Res<u64> {
        for first in &cut.joined {
            self.execute("DELETE FROM forgotten WHERE first = ?1", (signed(*first),))?;
        }
        let gap = &cut.gap;
        let sql = "INSERT INTO forgotten (first, last, previous, hash, at_ms, signature) VALUES \
                   (?1, ?2, ?3, ?4, ?5, ?6)";
        let params = params![
            signed(gap.first),
            signed(gap.last),
            gap.previous.raw(),
            gap.hash.raw(),
            gap.at_ms,
            written(&gap.signature)?,
        ];
        self.execute(sql, params)?;
        // No more than was checked, whatever else somebody has put into the place of a gap.
        let goes = (signed(cut.first), signed(cut.last));
        let calls = self.execute("DELETE FROM calls WHERE number BETWEEN ?1 AND ?2", goes)?;
        self.execute("DELETE FROM audit WHERE number BETWEEN ?1 AND ?2", goes)?;
        Ok(calls as u64)
    }

    fn is_in_ledger(&mut self, tenant: &str, confirmation: &str) -> Res<bool> {
        let sql = "SELECT 1 FROM effects WHERE confirmation = ?1 AND tenant = ?2 LIMIT 1";
        let found = self.one(sql, (confirmation, tenant), |found| found.get::<_, i64>(0))?;
        Ok(found.is_some())
    }

    fn is_last_on_grants(&mut self, entry: &AuditEntry) -> Res<bool> {
        grants::is_last_word(self.conn, &entry.tenant, entry.number, &entry.body)
    }

    fn drop_confirmations(&mut self, before_ms: i64, most: usize) -> Res<u64> {
        let sql = "DELETE FROM confirmations WHERE rowid IN (\
                   SELECT rowid FROM confirmations WHERE asked_at_ms < ?1 AND \
                   CASE WHEN json_valid(body) THEN body ->> '$.expiresAtMs' END <= ?2 \
                   AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.confirmation = \
                       confirmations.id AND e.tenant = confirmations.tenant) \
                   ORDER BY asked_at_ms LIMIT ?3)";
        let params = (before_ms, self.now_ms, signed(most as u64));
        Ok(self.execute(sql, params)? as u64)
    }

    fn drop_sessions(&mut self, from: i64, before_ms: i64, most: usize) -> Res<(u64, i64, bool)> {
        let found = self.old_sessions(from, before_ms, most)?;
        let (mut went, mut next) = (0, from);
        for (place, old, goes) in &found {
            if !old {
                return Ok((went, next, false));
            }
            next = place + 1;
            if *goes {
                self.execute("DELETE FROM sessions WHERE rowid = ?1", (place,))?;
                went += 1;
            }
        }
        Ok((went, next, found.len() >= most))
    }
}
