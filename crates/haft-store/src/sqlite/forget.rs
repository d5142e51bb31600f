//! Forgetting in SQLite.

use std::sync::Arc;

use haft_core::Digest;
use haft_core::port::{Forgotten, StoreError};
use rusqlite::{Connection, Row, params};

use super::row::{self, signed};
use super::tx::Tx;
use super::{Sqlite, read};
use crate::steps::forget::{self, AT_ONCE};
use crate::steps::journal::written;
use crate::tables::{Forgets, Old, Res};
use crate::trail::Gap;

/// At most so many bytes are forgotten in one transaction, however few entries that are.
const BYTES_AT_ONCE: u64 = 8 << 20;

/// The call and the confirmation that an entry is about. Only text is read from what it says: it
/// could be anything once somebody has touched it.
const OLD: &str = "SELECT a.number, a.at_ms, octet_length(a.body), a.tenant, a.kind, \
    coalesce(c.call, CASE WHEN json_valid(a.body) THEN CAST(a.body ->> '$.call' AS TEXT) END), \
    CASE WHEN a.kind = 'confirmation' AND json_valid(a.body) \
         THEN CAST(a.body ->> '$.id' AS TEXT) END \
    FROM audit a LEFT JOIN calls c ON c.number = a.number \
    WHERE a.number >= ?1 AND a.number < (SELECT max(number) FROM audit) ORDER BY a.number";

const GAP: &str = "SELECT first, last, previous, hash, at_ms, signature FROM forgotten";

impl Sqlite {
    /// One step, in a transaction that others share.
    pub(super) async fn forget_some(&self, before_ms: i64) -> Res<Forgotten> {
        let key = Arc::new(Self::signing_key(&self.path)?);
        let hand = *self.hand.lock();
        let step = move |tx: &mut Tx<'_>| forget::some(tx, hand, before_ms, AT_ONCE, &key);
        let (went, hand) = self.write(step).await?;
        *self.hand.lock() = hand;
        Ok(went)
    }
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
    ) -> rusqlite::Result<(Vec<Old>, bool)> {
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
            bytes += row::unsigned(found, 2)?;
            old.push(Old {
                number: row::unsigned(found, 0)?,
                tenant: found.get(3)?,
                kind: found.get(4)?,
                call: found.get(5)?,
                confirmation: found.get(6)?,
            });
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
    fn old(&mut self, from: u64, before_ms: i64, most: usize) -> Res<(Vec<Old>, bool)> {
        let found = self.read_old(from, before_ms, most);
        self.try_(found)
    }

    fn links(&mut self, number: u64) -> Res<(Digest, Digest)> {
        let sql = "SELECT previous, hash FROM audit WHERE number = ?1";
        let found = self.one(sql, (signed(number),), |found| {
            Ok((row::digest(found, 0)?, row::digest(found, 1)?))
        })?;
        found.ok_or(StoreError::Missing)
    }

    fn gap_to(&mut self, last: u64) -> Res<Option<Gap>> {
        // Gaps do not overlap: the one that begins last is the only one that can end here.
        let sql = "SELECT first, last, previous, hash, at_ms, signature FROM forgotten \
                   WHERE first <= ?1 ORDER BY first DESC LIMIT 1";
        Ok(self.one(sql, (signed(last),), gap)?.filter(|gap| gap.last == last))
    }

    fn gap_from(&mut self, first: u64) -> Res<Option<Gap>> {
        let sql = "SELECT first, last, previous, hash, at_ms, signature FROM forgotten \
                   WHERE first = ?1";
        self.one(sql, (signed(first),), gap)
    }

    fn cut(&mut self, gap: &Gap) -> Res<u64> {
        let inside = (signed(gap.first), signed(gap.last));
        self.execute("DELETE FROM forgotten WHERE first BETWEEN ?1 AND ?2", inside)?;
        let sql = "INSERT INTO forgotten (first, last, previous, hash, at_ms, signature) VALUES \
                   (?1, ?2, ?3, ?4, ?5, ?6)";
        let params = params![
            inside.0,
            inside.1,
            gap.previous.raw(),
            gap.hash.raw(),
            gap.at_ms,
            written(&gap.signature)?,
        ];
        self.execute(sql, params)?;
        let calls = self.execute("DELETE FROM calls WHERE number BETWEEN ?1 AND ?2", inside)?;
        self.execute("DELETE FROM audit WHERE number BETWEEN ?1 AND ?2", inside)?;
        Ok(calls as u64)
    }

    fn drop_confirmations(&mut self, before_ms: i64, most: usize) -> Res<u64> {
        let sql = "DELETE FROM confirmations WHERE rowid IN (\
                   SELECT rowid FROM confirmations WHERE asked_at_ms < ?1 AND \
                   CASE WHEN json_valid(body) THEN body ->> '$.expiresAtMs' END <= ?2 \
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
