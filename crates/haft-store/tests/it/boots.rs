//! What processes that come one after another, and starts of the machine, know of the time between them.

use std::path::Path;
use std::sync::Arc;

use haft_core::ledger::State;
use haft_core::port::{EffectFilter, Journal as _, Ledger as _, Store as _, StoreError};
use haft_store::{Manual, Options, Sqlite};
use rusqlite::Connection;

use crate::bed::{Bed, KEEP, LEASE, START, claim, fresh, settled, word};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;

fn open(path: &Path, clock: &Arc<Manual>) -> Sqlite {
    Sqlite::open(path, Options { clock: clock.clone(), ..Options::default() }).unwrap()
}

/// A store with one effect whose key is kept for ten minutes, and the clock of its machine.
async fn settled_once() -> (tempfile::TempDir, Arc<Manual>) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Manual::of_boot(START, Some("one"));
    settled(&open(&dir.path().join("haft.db"), &clock), claim("k"), State::Succeeded).await;
    (dir, clock)
}

/// Every process lasts a moment, and finds another wrong time each.
#[tokio::test]
async fn a_clock_that_is_wrong_in_one_way_after_another_forgets_no_key() {
    let (dir, clock) = settled_once().await;
    let path = dir.path().join("haft.db");
    for days in [31, 64, 400, -2, 1_000] {
        clock.set_wall(START + days * DAY);
        let store = open(&path, &clock);
        assert_eq!((store.now_ms(), store.condition().clock_off_ms), (START, Some(days * DAY)));
        assert_eq!(store.purge().await, Ok(0), "{days}");
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "answered", "{days}");
        store.note("acme", "note", serde_json::json!(days)).await.unwrap();
    }
    // Nor where the machine is started anew each time.
    for (days, boot) in [(31, "two"), (64, "three"), (1_000, "four")] {
        let clock = Manual::of_boot(START + days * DAY, Some(boot));
        let store = open(&path, &clock);
        assert_eq!(store.now_ms(), START + days * DAY, "there is nothing else to go by");
        assert_eq!(store.purge().await, Ok(0), "{days}");
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "answered", "{days}");
        store.note("acme", "note", serde_json::json!(days)).await.unwrap();
    }
}

/// What is due is forgotten by processes none of which lasts an hour.
#[tokio::test]
async fn processes_that_last_a_moment_forget_what_is_due() {
    let (dir, clock) = settled_once().await;
    let path = dir.path().join("haft.db");
    clock.advance(i64::try_from(KEEP.key_ms).unwrap() - 1);
    assert_eq!(open(&path, &clock).purge().await, Ok(0));
    clock.advance(1);
    assert_eq!(open(&path, &clock).purge().await, Ok(1));
}

/// A lease that ran out while nobody looked has run out, whatever the clock says.
#[tokio::test]
async fn a_lease_ends_between_two_processes_by_the_ticks() {
    let (dir, clock) = settled_once().await;
    let path = dir.path().join("haft.db");
    let store = open(&path, &clock);
    fresh(&store, claim("running")).await;
    std::mem::forget(store);
    clock.advance(LEASE);
    clock.set_wall(START - 30 * DAY);
    let store = open(&path, &clock);
    assert_eq!(store.now_ms(), START + LEASE);
    assert_eq!(store.recover().await.unwrap().len(), 1);
}

/// A jump that one process has seen and none has ended is believed by the one that finds it to last.
#[tokio::test]
async fn a_clock_that_was_set_right_between_processes_is_believed_after_ten_minutes() {
    let (dir, clock) = settled_once().await;
    let path = dir.path().join("haft.db");
    clock.set_wall(START + DAY);
    for minute in 0..11 {
        let store = open(&path, &clock);
        assert_eq!(store.now_ms(), START + minute * MINUTE);
        store.note("acme", "note", serde_json::json!(minute)).await.unwrap();
        clock.advance(MINUTE);
    }
    let store = open(&path, &clock);
    assert_eq!((store.now_ms(), store.condition().clock_off_ms), (START + DAY + 11 * MINUTE, None));
}

/// Somebody who was stopped in the middle of a write keeps nobody from reading what stands there.
#[tokio::test]
async fn a_store_opens_while_another_process_holds_it_and_is_read() {
    let bed = Bed::sqlite();
    settled(&*bed.open(), claim("k"), State::Succeeded).await;
    let other = Connection::open(bed.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; UPDATE clock SET held_ms = held_ms + 1").unwrap();
    let store = bed.open_sqlite(|options| options.busy = std::time::Duration::from_millis(20));
    let of_acme = EffectFilter { tenant: "acme".into(), limit: 10, ..EffectFilter::default() };
    assert_eq!(store.effects(of_acme).await.unwrap().len(), 1);
    assert!(haft_store::sqlite::verify_here(&bed.path()).unwrap().is_ok());
    let refused = store.claim(claim("new")).await.unwrap_err();
    let why = "another process holds the database; try again";
    assert_eq!(refused, StoreError::Unavailable(why.into()));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(word(&store.claim(claim("new")).await.unwrap()), "fresh 1");
}
