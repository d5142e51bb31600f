//! Disks that are full, and disks that fail.

use std::process::Command;

use haft_core::ledger::State;
use haft_core::port::{Journal as _, Ledger as _, Store, StoreError};
use haft_store::{Options, Sqlite};
use serde_json::json;

use crate::bed::{Bed, claim, ending, fresh, settled, word};

const FAILING: &str = "HAFT_STORE_FAILING_DISK";

#[tokio::test]
async fn a_full_database_refuses_and_goes_on_once_there_is_room() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.max_bytes = Some(400_000));
    settled(&store, claim("before"), State::Succeeded).await;
    let waits = fresh(&store, claim("waits")).await;
    let large = json!("x".repeat(50_000));
    let mut refused = None;
    for _ in 0..100 {
        refused = store.note("acme", "note", large.clone()).await.err();
        if refused.is_some() {
            break;
        }
    }
    let full = StoreError::Unavailable("the disk is full; make room".into());
    assert_eq!(refused, Some(full.clone()));
    assert!(!store.is_writable());
    let result = Some(json!("x".repeat(60_000)));
    let settling = store.settle(&waits, ending(State::Succeeded, result.clone()), None).await;
    assert_eq!(settling, Err(full), "an outcome that cannot be written is not answered");
    let read = store.effect("acme", "call of before").await.unwrap();
    assert_eq!(read.state, State::Succeeded, "reading goes on");
    bed.clock.advance(1_000);
    assert!(store.is_writable(), "somebody may try again");
    store.set_max_bytes(None).await.unwrap();
    store.settle(&waits, ending(State::Succeeded, result), None).await.unwrap();
    assert!(store.is_writable());
    assert_eq!(word(&store.claim(claim("waits")).await.unwrap()), "answered");
    let trail = store.audit(1, 1_000).await.unwrap();
    assert!(trail.windows(2).all(|pair| pair[1].previous == pair[0].hash));
}

/// The write-ahead log is copied into the database by its length too, not only by the number of rows.
#[tokio::test]
async fn large_entries_do_not_make_the_log_long() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|_| ());
    let large = json!("x".repeat(1 << 20));
    for _ in 0..40 {
        store.note("acme", "note", large.clone()).await.unwrap();
    }
    let log = bed.path().with_extension("db-wal");
    let length = std::fs::metadata(log).unwrap().len();
    assert!(length < 32 << 20, "{} MiB", length >> 20);
}

/// A commit that makes the log's file longer takes several times as long as one that does not.
#[tokio::test]
async fn the_log_is_written_over_and_not_made_longer() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|_| ());
    let log = bed.path().with_extension("db-wal");
    let length = || std::fs::metadata(&log).unwrap().len();
    let write = async |notes| {
        for _ in 0..notes {
            store.note("acme", "note", json!("x".repeat(100_000))).await.unwrap();
        }
        length()
    };
    let first = write(200).await;
    assert!((10 << 20..=16 << 20).contains(&first), "{first}");
    let then = write(300).await;
    assert!(then < first + (1 << 20), "{first} {then}: by no more than a commit");
    // Whoever reads needs what is in there, so that it goes on; afterwards it is as long as before.
    let reader = rusqlite::Connection::open(bed.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM audit").unwrap();
    assert!(write(300).await > 16 << 20);
    reader.execute_batch("COMMIT").unwrap();
    let afterwards = write(300).await;
    assert!(afterwards <= 16 << 20, "{afterwards}");
}

/// What does not fit fails alone; what shared its commit is written.
#[tokio::test]
async fn what_does_not_fit_fails_alone() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.max_bytes = Some(400_000));
    let large = json!("x".repeat(600_000));
    let small = json!("x");
    let (first, second, third) = tokio::join!(
        store.note("acme", "note", small.clone()),
        store.note("acme", "note", large),
        store.note("acme", "note", small),
    );
    assert!(matches!(second, Err(StoreError::Unavailable(_))));
    assert_eq!((first, third), (Ok(()), Ok(())));
    let trail = store.audit(1, 10).await.unwrap();
    assert_eq!(trail.len(), 2, "what was answered is there, and nothing else");
    assert!(trail.windows(2).all(|pair| pair[1].previous == pair[0].hash));
}

/// Does nothing unless it was started with files that cannot grow.
#[tokio::test]
async fn the_disk_fails_under_a_store() {
    let Ok(path) = std::env::var(FAILING) else { return };
    let store = Sqlite::open(path, Options::default()).unwrap();
    let large = json!("x".repeat(100_000));
    let mut failed = None;
    for _ in 0..200 {
        failed = store.note("acme", "note", large.clone()).await.err();
        if failed.is_some() {
            break;
        }
    }
    let failed = failed.unwrap().to_string();
    assert!(failed.contains("the disk failed"), "{failed}");
    assert!(!store.is_writable());
    let later = store.claim(claim("k")).await.unwrap_err();
    let StoreError::Unavailable(why) = &later else { panic!("{later:?}") };
    assert!(why.contains("restart"), "{why}");
    assert!(!store.audit(1, 10).await.unwrap().is_empty(), "reading goes on");
    println!("stood it");
}

/// A write beyond the limit on a file's size is an I/O error, not a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_failing_disk_ends_all_writing_and_no_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("haft.db");
    let script = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" --exact \
                  disk::the_disk_fails_under_a_store --nocapture";
    let output = Command::new("bash")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(FAILING, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("stood it"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // Whatever was answered before is there for the next process.
    let store = Sqlite::open(&path, Options::default()).unwrap();
    assert!(store.is_writable());
}
