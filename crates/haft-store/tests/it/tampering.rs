//! Forgetting does not put a trail in order that somebody has touched: it never signs for what it did
//! not find as it was written.

use haft_core::Principal;
use haft_core::port::{Journal as _, Ledger as _, Store as _, StoreError};
use haft_core::record::AuditEntry;
use haft_store::Sqlite;
use haft_store::trail::Fault;
use rusqlite::{Connection, params};
use serde_json::json;

use crate::bed::{Bed, START, claim, word};
use crate::trail::{forgotten, touch, verdict, written};

const DAY: i64 = 86_400_000;

/// As a server does it: until there is no more, or something is wrong.
async fn forget(store: &Sqlite, before_ms: i64) -> Result<u64, StoreError> {
    let mut entries = 0;
    loop {
        let went = store.forget(before_ms).await?;
        entries += went.entries;
        if !went.more {
            return Ok(entries);
        }
    }
}

#[track_caller]
fn tampered(refused: Result<u64, StoreError>, why: &str) {
    match refused {
        Err(StoreError::Tampered(said)) => assert!(said.starts_with(why), "{said}"),
        other => panic!("{other:?}"),
    }
}

async fn more(store: &Sqlite) {
    for n in 0..4 {
        store.note("acme", "note", json!({ "more": n })).await.unwrap();
    }
}

#[tokio::test]
async fn entries_that_were_made_older_are_not_forgotten() {
    let bed = written().await;
    let store = bed.open_sqlite(|_| ());
    touch(&bed, "UPDATE audit SET at_ms = 0 WHERE number IN (1, 2)");
    tampered(forget(&store, START - DAY).await, "entry 1 was changed");
    let refused = store.claim(claim("k")).await;
    assert!(matches!(refused, Err(StoreError::Tampered(_))), "effects stop: {refused:?}");
    tampered(forget(&store, START - DAY).await, "entry 1 was changed");
    drop(store);
    assert_eq!(verdict(&bed).unwrap_err().number, 1);
}

#[tokio::test]
async fn what_forgetting_finds_was_not_there_for_whoever_looked_before() {
    let bed = written().await;
    let (store, other) = (bed.open_sqlite(|_| ()), bed.open_sqlite(|_| ()));
    bed.clock.advance(1);
    other.acknowledge(&Principal::user("ines"), "nothing to see yet").await.unwrap();
    more(&store).await;
    touch(&bed, "UPDATE audit SET body = '{}' WHERE number = 8");
    bed.clock.advance(2 * DAY);
    tampered(forget(&store, i64::MAX).await, "entry 8 was changed");
    for _ in 0..2 {
        let refused = store.trusts("acme").await;
        assert!(matches!(refused, Err(StoreError::Tampered(_))), "{refused:?}");
    }
    other.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    forget(&store, i64::MAX).await.unwrap();
    store.trusts("acme").await.unwrap();
}

/// Every entry older, with hashes that fit.
pub(crate) fn rewrite(bed: &Bed) {
    touch(bed, "");
    let conn = Connection::open(bed.path()).unwrap();
    let sql = "SELECT number, tenant, kind, body, previous FROM audit ORDER BY number";
    let mut found = conn.prepare(sql).unwrap();
    let rows = found.query_map((), |row| {
        Ok(AuditEntry {
            number: row.get::<_, i64>(0)? as u64,
            at_ms: 0,
            tenant: row.get(1)?,
            kind: row.get(2)?,
            body: row.get(3)?,
            previous: haft_core::Digest::from_raw(&row.get(4)?),
            hash: haft_core::Digest::from_raw(&[0; 32]),
        })
    });
    let mut last = None;
    for mut entry in rows.unwrap().map(Result::unwrap) {
        entry.previous = last.unwrap_or(entry.previous);
        let hash = entry.expected_hash();
        let sql = "UPDATE audit SET at_ms = 0, previous = ?2, hash = ?3 WHERE number = ?1";
        let params = params![entry.number as i64, entry.previous.raw(), hash.raw()];
        conn.execute(sql, params).unwrap();
        last = Some(hash);
    }
}

#[tokio::test]
async fn a_chain_that_was_written_anew_is_not_forgotten_over_what_was_signed() {
    let bed = written().await;
    let store = bed.open_sqlite(|_| ());
    more(&store).await;
    rewrite(&bed);
    tampered(forget(&store, START - DAY).await, "entry 6 is not the one that was signed");
    drop(store);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Rewritten);
}

#[tokio::test]
async fn a_gap_that_somebody_else_made_larger_is_not_signed() {
    let bed = forgotten().await;
    let store = bed.open_sqlite(|_| ());
    more(&store).await;
    touch(
        &bed,
        "UPDATE forgotten SET last = 5, hash = (SELECT hash FROM audit WHERE number = 5); \
         DELETE FROM calls WHERE number = 5; DELETE FROM audit WHERE number = 5",
    );
    tampered(forget(&store, i64::MAX).await, "entries from 1 on are said to be forgotten");
    drop(store);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Forgotten);
}

#[tokio::test]
async fn nothing_is_forgotten_by_a_time_that_was_put_into_the_database() {
    let bed = written().await;
    let store = bed.open_sqlite(|_| ());
    touch(&bed, &format!("UPDATE clock SET now_ms = now_ms + {}", 91 * DAY));
    // One that is opened now takes it, and says that it is far from the machine's.
    let ahead = START + 91 * DAY;
    let misled = bed.open_sqlite(|_| ());
    assert_eq!(misled.now_ms(), ahead);
    let refused = forget(&misled, ahead - 90 * DAY).await.unwrap_err();
    assert!(matches!(refused, StoreError::WrongState(_)), "{refused}");
    assert!(refused.to_string().contains("91 days ahead"), "{refused}");
    // One that runs does not follow it.
    store.purge().await.unwrap();
    assert_eq!(store.now_ms(), START);
    drop(misled);
    assert_eq!(verdict(&bed).map(|found| (found.entries, found.forgotten)), Ok((6, 0)));
    // The machine's clock has caught up.
    bed.clock.advance(91 * DAY);
    let store = bed.open_sqlite(|_| ());
    assert_eq!(forget(&store, ahead - 90 * DAY).await, Ok(0), "the time is in doubt at first");
    bed.clock.advance(DAY / 12);
    assert_eq!(forget(&store, ahead - 90 * DAY).await, Ok(5));
}

#[tokio::test]
async fn nothing_is_forgotten_of_a_trail_that_was_found_touched() {
    let bed = written().await;
    touch(&bed, "UPDATE audit SET body = '{}' WHERE number = 3");
    for _ in 0..2 {
        let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
        tampered(forget(&store, i64::MAX).await, "entry 3 was changed");
    }
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    store.acknowledge(&Principal::user("ines"), "a restored backup").await.unwrap();
    // Entry 6 is not the newest any more; that somebody has looked stays, and so does the fault.
    assert_eq!(forget(&store, i64::MAX).await, Ok(5));
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
    drop(store);
    assert_eq!(verdict(&bed).unwrap_err().number, 3, "the fault is still told");
}

#[tokio::test]
async fn whatever_was_touched_is_told_however_much_is_forgotten_since() {
    let forged = "SELECT 5, 6, previous, hash, at_ms, signature FROM forgotten";
    let table = [
        "UPDATE audit SET body = '{}' WHERE number = 5",
        "UPDATE audit SET at_ms = 0 WHERE number = 5",
        "UPDATE audit SET previous = zeroblob(32) WHERE number = 6",
        "UPDATE audit SET hash = zeroblob(32) WHERE number = 5",
        "UPDATE audit SET number = 0 WHERE number = 5",
        "DELETE FROM audit WHERE number = 5",
        "DELETE FROM audit WHERE number = 6",
        "DELETE FROM audit WHERE number >= 6",
        "DELETE FROM forgotten",
        "UPDATE forgotten SET last = 3",
        "UPDATE forgotten SET last = 5",
        "UPDATE forgotten SET first = 2",
        "UPDATE forgotten SET previous = randomblob(32)",
        "UPDATE forgotten SET hash = zeroblob(32)",
        "UPDATE forgotten SET at_ms = 1",
        &format!("INSERT INTO forgotten {forged}"),
        &format!("INSERT INTO forgotten {forged}; DELETE FROM audit WHERE number IN (5, 6)"),
    ];
    for sql in table {
        let bed = forgotten().await;
        let store = bed.open_sqlite(|_| ());
        if !sql.contains(">= 6") {
            more(&store).await;
        }
        touch(&bed, &format!("PRAGMA foreign_keys = OFF; {sql}"));
        let _ = forget(&store, i64::MAX).await;
        assert!(verdict(&bed).is_err(), "{sql}");
        bed.clock.advance(1);
        store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
        more(&store).await;
        for _ in 0..2 {
            bed.clock.advance(2 * DAY);
            forget(&store, i64::MAX).await.expect(sql);
            assert!(verdict(&bed).is_err(), "after somebody has looked: {sql}");
        }
        drop(store);
        let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1", "{sql}");
    }
}

#[tokio::test]
async fn a_lost_key_can_be_acknowledged_although_entries_were_forgotten() {
    let bed = forgotten().await;
    std::fs::remove_file(bed.path().with_extension("db.key")).unwrap();
    let verifying = || bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    let store = verifying();
    let refused = store.claim(claim("k")).await;
    assert!(matches!(refused, Err(StoreError::Tampered(_))), "{refused:?}");
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "the key was lost").await.unwrap();
    drop(store);
    let store = verifying();
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
    // What comes after is forgotten as ever, and stays apart from what the lost key has signed.
    more(&store).await;
    bed.clock.advance(2 * DAY);
    assert_eq!(forget(&store, i64::MAX).await, Ok(5), "entries 5, 6, 9, 10, 11");
    drop(store);
    assert_eq!(word(&verifying().claim(claim("k2")).await.unwrap()), "fresh 1");
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Checkpoint, "that is still told");
    touch(
        &bed,
        "UPDATE forgotten SET last = last - 1 WHERE first = (SELECT max(first) FROM forgotten)",
    );
    let refused = verifying().claim(claim("k3")).await;
    assert!(matches!(refused, Err(StoreError::Tampered(_))), "{refused:?}");
}
