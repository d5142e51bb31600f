//! An older copy of a store, put back in its place: what was done since is not in it, and must not
//! silently be done again.

use std::fs;
use std::path::{Path, PathBuf};

use haft_core::Principal;
use haft_core::ledger::State;
use haft_core::port::{Journal as _, Ledger as _, Store as _, StoreError};
use haft_store::trail::Fault;
use haft_store::{Options, Sqlite, Verify};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::bed::{Bed, call_record, claim, settled, word};

/// A store of ten effects, and after a copy was made of it as many as this. Its process was then
/// killed, and the copy put back.
async fn restored(bed: &Bed, since: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = bed.open_sqlite(|_| ());
    for at in 0..10 {
        settled(&store, claim(&at.to_string()), State::Succeeded).await;
    }
    let copy = dir.path().join("haft.db");
    let conn = Connection::open(bed.path()).unwrap();
    conn.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    for at in 0..since {
        settled(&store, claim(&format!("since {at}")), State::Succeeded).await;
    }
    // As they are at this moment: nothing is signed when a process is killed.
    for beside in ["key", "head", "checkpoints"] {
        let of = |path: &Path| PathBuf::from(format!("{}.{beside}", path.display()));
        if of(&bed.path()).exists() {
            fs::copy(of(&bed.path()), of(&copy)).unwrap();
        }
    }
    dir
}

fn open(bed: &Bed, dir: &TempDir) -> Sqlite {
    let (clock, verify) = (bed.clock.clone(), Verify::Whole);
    let options = Options { clock, verify, ..Options::default() };
    Sqlite::open(dir.path().join("haft.db"), options).unwrap()
}

fn fault(dir: &TempDir) -> Option<(u64, Fault)> {
    let path = dir.path().join("haft.db");
    let key = Sqlite::signing_key(&path).unwrap().public();
    let found = haft_store::sqlite::verify(&path, &key, &Sqlite::checkpoints(&path)).unwrap();
    found.err().map(|broken| (broken.number, broken.fault))
}

#[tokio::test]
async fn a_copy_that_is_put_back_does_no_effects_until_somebody_has_looked() {
    // One effect is enough, however long before the next signature.
    // Nor does it matter whether what is written since ends before, at, or after the entry that is lost.
    for (since, written) in [(1, 1), (1, 2), (1, 3), (7, 13), (7, 14), (7, 15)] {
        let bed = Bed::sqlite();
        let dir = restored(&bed, since).await;
        let last = 2 * (10 + since as u64);
        assert_eq!(fault(&dir), Some((last, Fault::CutTail)), "before anybody has opened it");
        bed.clock.advance(60_000);
        // Whatever is written meanwhile, and however often it is opened, is no way around it.
        for _ in 0..3 {
            let store = open(&bed, &dir);
            for key in ["since 0", "new", "0"] {
                let refused = store.claim(claim(key)).await.unwrap_err();
                let StoreError::Tampered(why) = refused else { panic!("{refused:?}") };
                assert!(why.ends_with("an older copy of the store was put back"), "{why}");
            }
            for at in 0..written {
                store.record(call_record(&format!("read {at}"), "core__kb_search", 1).into());
            }
            store.flush().await.unwrap();
        }
        let store = open(&bed, &dir);
        store.acknowledge(&Principal::user("ines"), "compared with the bank").await.unwrap();
        for (key, expected) in [("0", "answered"), ("new", "fresh 1"), ("since 0", "fresh 1")] {
            assert_eq!(word(&store.claim(claim(key)).await.unwrap()), expected, "{key}");
        }
        drop(store);
        let store = open(&bed, &dir);
        assert_eq!(word(&store.claim(claim("next")).await.unwrap()), "fresh 1", "and stays so");
        drop(store);
        assert!(fault(&dir).is_some(), "that it was is still told");
        let by_tail = || {
            let options = Options { clock: bed.clock.clone(), short: 0, ..Options::default() };
            let options = Options { verify: Verify::Tail, ..options };
            Sqlite::open(dir.path().join("haft.db"), options).unwrap()
        };
        drop(by_tail());
        // Whatever a server's daily check tells of it, the next opening reads the tail.
        for _ in 0..2 {
            let store = by_tail();
            assert!(store.condition().check_due);
            assert!(store.verify().await.unwrap().broken.is_some());
            store.trusts("acme").await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_head_that_is_no_text_says_nothing() {
    let bed = Bed::sqlite();
    let dir = restored(&bed, 1).await;
    fs::write(dir.path().join("haft.db.head"), [0xff; 8]).unwrap();
    assert_eq!(fault(&dir), None);
    assert_eq!(word(&open(&bed, &dir).claim(claim("new")).await.unwrap()), "fresh 1");
}

/// Without it nobody would notice that an older copy was put back.
#[tokio::test]
async fn a_store_whose_head_cannot_be_told_is_not_opened() {
    let bed = Bed::sqlite();
    let head = PathBuf::from(format!("{}.head", bed.path().display()));
    fs::create_dir(&head).unwrap();
    let refused = Sqlite::open(bed.path(), Options::default()).unwrap_err();
    assert!(refused.to_string().contains(&format!("`{}` cannot be", head.display())), "{refused}");
}

/// The disk is full, or so it seems to whoever writes this file.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_head_that_cannot_be_written_is_counted_and_stops_nobody() {
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::symlink;

    use nix::fcntl::{FcntlArg, SealFlag, fcntl};
    use nix::sys::memfd::{MFdFlags, memfd_create};

    let bed = Bed::sqlite();
    let head = PathBuf::from(format!("{}.head", bed.path().display()));
    // A file that takes nothing: a device is no file, and would not be opened.
    let file = memfd_create(c"head", MFdFlags::MFD_ALLOW_SEALING).unwrap();
    let seals = SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_WRITE;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals)).unwrap();
    symlink(format!("/proc/self/fd/{}", file.as_raw_fd()), head).unwrap();
    let store = bed.open_sqlite(|_| ());
    settled(&store, claim("k"), State::Succeeded).await;
    assert_eq!(store.unsigned(), 2, "once for each commit");
}

#[tokio::test]
async fn a_copy_that_nothing_was_done_after_goes_on() {
    let bed = Bed::sqlite();
    let dir = restored(&bed, 0).await;
    assert_eq!(fault(&dir), None);
    assert_eq!(word(&open(&bed, &dir).claim(claim("new")).await.unwrap()), "fresh 1");
}
