//! Which files are taken, and what lies beside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use haft_core::ledger::State;
use haft_core::port::{Journal as _, Ledger as _, Store as _, StoreError};
use haft_store::{Options, Sqlite, Verify};
use rusqlite::Connection;
use serde_json::json;

use crate::bed::{Bed, SCHEMA, call_record, claim, fresh, settle, settled, word};

#[track_caller]
fn check(bed: &Bed, words: &str) {
    let refused = Sqlite::open(bed.path(), Options::default()).unwrap_err();
    assert_eq!(refused, StoreError::Unavailable(words.to_owned()));
}

#[test]
fn a_newer_schema_is_refused() {
    let bed = Bed::sqlite();
    drop(bed.open());
    let conn = Connection::open(bed.path()).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    check(
        &bed,
        &format!(
            "the database has schema 99 and this haft knows up to {SCHEMA}; use the newer haft that wrote it"
        ),
    );
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let bed = Bed::sqlite();
    let conn = Connection::open(bed.path()).unwrap();
    conn.execute_batch("CREATE TABLE theirs (x)").unwrap();
    check(&bed, "the file is another program's database; name another file");
    let tables: i64 =
        conn.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

#[test]
fn what_is_no_database_is_refused() {
    let bed = Bed::sqlite();
    fs::write(bed.path(), "not a database, but long enough to be looked at").unwrap();
    let refused = Sqlite::open(bed.path(), Options::default()).unwrap_err();
    assert!(refused.to_string().contains("cannot be opened"), "{refused}");
}

#[test]
fn several_processes_may_make_the_database_at_once() {
    let bed = Arc::new(Bed::sqlite());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let bed = Arc::clone(&bed);
            std::thread::spawn(move || bed.open().is_writable())
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
}

#[tokio::test]
async fn the_audit_trail_is_append_only_even_by_hand() {
    let bed = Bed::sqlite();
    let store = bed.open();
    store.note("acme", "note", serde_json::json!(1)).await.unwrap();
    let conn = Connection::open(bed.path()).unwrap();
    for sql in ["DELETE FROM audit", "UPDATE audit SET body = '{}'"] {
        let refused = conn.execute(sql, ()).unwrap_err();
        assert_eq!(refused.to_string(), "the audit trail is append-only");
    }
}

#[cfg(unix)]
#[test]
fn the_key_is_its_owners_alone_and_stays_the_same() {
    use std::os::unix::fs::PermissionsExt as _;

    let bed = Bed::sqlite();
    let first = bed.open_sqlite(|_| ()).public_key().unwrap();
    let second = bed.open_sqlite(|_| ()).public_key().unwrap();
    assert_eq!(first, second);
    let key = bed.path().with_extension("db.key");
    assert_eq!(fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);
}

/// A store whose queue is full drops records of calls without effects, and says how many.
#[tokio::test]
async fn records_that_find_no_room_are_counted() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.queue = 1);
    // Another process holds the database, so that the writer waits.
    let other = Connection::open(bed.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for n in 0..10 {
        store.record(call_record(&format!("c{n}"), "a", n).into());
    }
    other.execute_batch("COMMIT").unwrap();
    store.flush().await.unwrap();
    let filter = haft_core::port::CallFilter { tenant: "acme".into(), ..Default::default() };
    let written = store.calls(filter).await.unwrap().len() as u64;
    assert!(store.dropped() >= 8 && store.dropped() + written == 10, "{}", store.dropped());
}

/// A record that was taken and could not be written is counted as well.
#[tokio::test]
async fn records_that_cannot_be_written_are_counted() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.busy = std::time::Duration::from_millis(20));
    let other = Connection::open(bed.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for n in 0..3 {
        store.record(call_record(&format!("c{n}"), "a", n).into());
    }
    assert!(store.flush().await.is_err());
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(store.condition().dropped, 3);
}

/// Whoever waits for room does not lose its record.
#[tokio::test]
async fn whoever_waits_for_room_finds_some() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.queue = 1);
    for n in 0..200 {
        store.room().await;
        store.record(call_record(&format!("c{n}"), "a", n).into());
    }
    store.flush().await.unwrap();
    assert_eq!(store.dropped(), 0);
}

#[tokio::test]
async fn a_database_that_another_process_holds_too_long_is_not_available() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.busy = std::time::Duration::from_millis(20));
    let other = Connection::open(bed.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.note("acme", "note", serde_json::json!(1)).await;
    let why = "another process holds the database; try again";
    assert_eq!(refused, Err(StoreError::Unavailable(why.into())));
    other.execute_batch("COMMIT").unwrap();
    store.note("acme", "note", serde_json::json!(1)).await.unwrap();
}

/// The indexes that keep claims cheap, however large the ledger is.
#[test]
fn hot_questions_are_answered_from_an_index() {
    let bed = Bed::sqlite();
    drop(bed.open());
    let conn = Connection::open(bed.path()).unwrap();
    let table = [
        (
            "act = ?1 AND (state = 'started' OR state = 'unknown') AND tenant = ?2",
            "effects_open (act=?)",
        ),
        (
            "deed = ?1 AND (state = 'started' OR state = 'unknown') AND tenant = ?2",
            "effects_deeds (deed=?)",
        ),
        (
            "(state = 'started' OR state = 'unknown') AND state = 'started' AND owner <> ?1",
            "effects_open",
        ),
        ("confirmation = ?1 AND tenant = ?2", "effects_confirmation (confirmation=?)"),
        ("due_at_ms IS NOT NULL AND due_at_ms <= ?1 ORDER BY due_at_ms", "effects_due"),
        (
            "tenant = ?1 AND (state = 'unknown' OR state = 'compensating' OR state = 'stuck') \
             AND state IN ('unknown') ORDER BY id DESC LIMIT 5",
            "effects_attention",
        ),
    ];
    for (condition, index) in table {
        let sql = format!("EXPLAIN QUERY PLAN SELECT tool FROM effects WHERE {condition}");
        let mut statement = conn.prepare(&sql).unwrap();
        let unbound = vec![rusqlite::types::Null; statement.parameter_count()];
        let plan: String =
            statement.query_row(rusqlite::params_from_iter(unbound), |row| row.get(3)).unwrap();
        assert!(plan.contains(index), "{condition}: {plan}");
    }
}

/// A copy that was made while the store was in use, put in the place of a database that is lost.
#[test]
fn a_copy_of_a_store_in_use_is_whole_and_its_effects_are_not_done_again() {
    let bed = Bed::sqlite();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("restored.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let head = runtime.block_on(async {
        let store = bed.open();
        for at in 0..50 {
            settled(&*store, claim(&at.to_string()), State::Succeeded).await;
        }
        let conn = Connection::open(bed.path()).unwrap();
        conn.execute("VACUUM INTO ?1", [path.to_str().unwrap()]).unwrap();
        let head = store.verify().await.unwrap().head;
        // What comes after the copy is not in it.
        settled(&*store, claim("later"), State::Succeeded).await;
        head
    });
    let options = Options { clock: bed.clock.clone(), ..Options::default() };
    let restored = Sqlite::open(path, options).unwrap();
    runtime.block_on(async {
        let checked = restored.verify().await.unwrap();
        assert_eq!((checked.entries, checked.broken, checked.head), (100, None, head));
        for at in 0..50 {
            let again = restored.claim(claim(&at.to_string())).await.unwrap();
            assert_eq!(word(&again), "answered", "{at}");
        }
        assert_eq!(word(&restored.claim(claim("later")).await.unwrap()), "fresh 1");
    });
}

/// Nothing is begun that nobody would find on record.
#[cfg(unix)]
#[tokio::test]
async fn a_store_whose_files_were_moved_away_takes_no_effects() {
    for (lost, back) in
        [("haft.db", false), ("haft.db", true), ("haft.db-wal", false), ("haft.db-shm", false)]
    {
        let dir = tempfile::tempdir().unwrap();
        let (path, lost) = (dir.path().join("haft.db"), dir.path().join(lost));
        let store = Sqlite::open(&path, Options::default()).unwrap();
        settled(&store, claim("before"), State::Succeeded).await;
        fs::rename(&lost, dir.path().join("aside")).unwrap();
        if back {
            // A copy in its place is another file.
            fs::copy(dir.path().join("aside"), &lost).unwrap();
        }
        let refused = store.claim(claim("after")).await.unwrap_err();
        let StoreError::Unavailable(why) = refused else { panic!("{refused:?}") };
        assert!(why.contains("was removed or replaced while it was in use"), "{why}");
        assert!(!store.is_writable());
    }
}

/// Its log and who is alive would be there once for each name.
#[cfg(unix)]
#[test]
fn a_database_with_a_second_name_is_refused() {
    let bed = Bed::sqlite();
    drop(bed.open());
    let other = bed.path().with_file_name("other.db");
    fs::hard_link(bed.path(), &other).unwrap();
    for path in [bed.path(), other.clone()] {
        let refused = Sqlite::open(&path, Options::default()).unwrap_err().to_string();
        assert!(refused.contains("has several names (hard links)"), "{refused}");
    }
    fs::remove_file(other).unwrap();
    assert!(bed.open().is_writable());
}

/// Opens a store in a thread, so that one that waits for ever fails the test and does not hold it.
#[cfg(unix)]
fn opened(bed: &Bed) -> Result<(), String> {
    let path = bed.path();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let options = Options { verify: haft_store::Verify::Whole, ..Options::default() };
        // Closing it signs the end of the trail.
        tell.send(Sqlite::open(path, options).map(drop).map_err(|error| error.to_string()))
    });
    told.recv_timeout(std::time::Duration::from_secs(60)).expect("it waits for ever")
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_or_a_folder_in_the_place_of_a_file_is_not_waited_for() {
    let pipe = |path: &Path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let folder = |path: &Path| fs::create_dir(path).unwrap();
    for (name, opens) in [
        ("checked", true),
        ("checkpoints.lock", true),
        ("head", false),
        ("checkpoints", false),
        ("key", false),
    ] {
        for put in [pipe as fn(&Path), folder] {
            let bed = Bed::sqlite();
            let store = bed.open_sqlite(|_| ());
            store.note("acme", "note", json!("x")).await.unwrap();
            drop(store);
            let path = PathBuf::from(format!("{}.{name}", bed.path().display()));
            let _ = fs::remove_file(&path);
            put(&path);
            match opened(&bed) {
                Ok(()) => assert!(opens, "{name}"),
                Err(why) => {
                    let says =
                        why.contains(&*path.to_string_lossy()) && why.contains("move it away");
                    assert!(!opens && says, "{name}: {why}");
                }
            }
        }
    }
}

/// Two processes that name one database differently are two owners of it, and see each other.
#[cfg(unix)]
#[tokio::test]
async fn a_database_behind_a_link_is_the_one_that_it_leads_to() {
    let bed = Bed::sqlite();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("haft.db");
    // It leads to where there is nothing yet.
    std::os::unix::fs::symlink(bed.path(), &link).unwrap();
    let options = Options { clock: bed.clock.clone(), ..Options::default() };
    let linked = Sqlite::open(&link, options.clone()).unwrap();
    let ticket = fresh(&linked, claim("running")).await;
    let other = bed.open_sqlite(|_| ());
    assert_eq!(other.recover().await.unwrap(), [], "its owner is alive");
    settle(&linked, &ticket, State::Succeeded, Some(serde_json::json!({ "paid": true }))).await;
    assert_eq!(other.public_key().unwrap(), linked.public_key().unwrap());
    drop((linked, other));
    for path in [&link, &bed.path()] {
        let whole = haft_store::sqlite::verify_here(path).unwrap();
        assert!(whole.is_ok_and(|found| found.entries > 2), "{}", path.display());
        let opened = Sqlite::open(path, Options { verify: Verify::Whole, ..options.clone() });
        assert!(opened.unwrap().trusts("acme").await.is_ok(), "{}", path.display());
    }
    let beside: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    assert_eq!(beside.len(), 1, "{beside:?}");
}
