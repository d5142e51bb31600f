//! A store whose trail was found in order reads what came since when it is opened, and the rest is
//! checked while it is used.

use std::fs;
use std::path::PathBuf;

use haft_core::Principal;
use haft_core::config::{Change, Kind};
use haft_core::ledger::State;
use haft_core::port::{Configs as _, Journal as _, Ledger as _, Store as _, StoreError};
use haft_store::{Sqlite, Verify};
use serde_json::json;

use crate::bed::{Bed, claim, settled, word};
use crate::trail::{touch, verdict};

const DAY: i64 = 86_400_000;

fn open(bed: &Bed) -> Sqlite {
    bed.open_sqlite(|options| (options.verify, options.short) = (Verify::Tail, 0))
}

fn mark(bed: &Bed) -> PathBuf {
    PathBuf::from(format!("{}.checked", bed.path().display()))
}

fn policy(id: &str) -> Change {
    let (tenant, by) = ("acme".to_owned(), Principal::user("mara"));
    Change { kind: Kind::Policy, tenant, id: id.into(), from: 0, to: Some(json!({})), by }
}

/// Entries 1 to 5 were found in order: one effect that was done, one of which nobody knows, and what is
/// configured. Entries 6 to 10, the same again, came later.
async fn checked() -> Bed {
    let bed = Bed::sqlite();
    let write = async |store: &Sqlite, when: &str| {
        settled(store, claim(&format!("{when} done")), State::Succeeded).await;
        settled(store, claim(&format!("{when} open")), State::Unknown).await;
        store.change(policy(when)).await.unwrap();
    };
    let store = open(&bed);
    write(&store, "old").await;
    assert_eq!(store.verify().await.unwrap().entries, 5);
    write(&store, "new").await;
    drop(store);
    bed
}

async fn is_stopped(store: &Sqlite) -> bool {
    match store.trusts("acme").await {
        Err(StoreError::Tampered(_)) => true,
        other => other.map(|()| false).unwrap(),
    }
}

/// When an edit is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noticed {
    /// From what came since all of it was found in order.
    AtOnce,
    /// There is nothing to go on from, so all of it is read when it is opened.
    ByAll,
    /// While the store is used.
    Later,
}

async fn check(noticed: Noticed, edit: impl FnOnce(&Bed), said: &str) {
    let bed = checked().await;
    edit(&bed);
    let store = open(&bed);
    assert_eq!(is_stopped(&store).await, noticed != Noticed::Later, "{said}");
    assert_eq!(store.condition().check_due, noticed != Noticed::ByAll, "{said}");
    assert!(store.verify().await.unwrap().broken.is_some(), "{said}");
    assert!(is_stopped(&store).await, "{said}: what a check finds stops effects");
    assert!(!store.condition().check_due, "{said}");
    drop(store);
    let store = open(&bed);
    assert!(is_stopped(&store).await, "{said}: and so it does when it is opened again");
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    drop(store);
    let store = open(&bed);
    assert!(!is_stopped(&store).await, "{said}: until somebody has looked");
    drop(store);
    let store = open(&bed);
    assert!(!is_stopped(&store).await && store.condition().check_due, "{said}: by its tail again");
    assert!(store.verify().await.unwrap().broken.is_some(), "{said}: and is still told");
    assert!(!is_stopped(&store).await, "{said}: which stops nobody");
    drop(store);
    assert!(open(&bed).condition().check_due, "{said}: nor is all of it read because of that");
}

#[tokio::test]
async fn what_was_touched_is_noticed_when_it_is_opened_or_soon_after() {
    for (noticed, sql) in [
        (Noticed::AtOnce, "UPDATE audit SET body = '{}' WHERE number = 7"),
        (Noticed::AtOnce, "UPDATE audit SET previous = zeroblob(32) WHERE number = 6"),
        (Noticed::AtOnce, "DELETE FROM audit WHERE number = 8"),
        (Noticed::AtOnce, "DELETE FROM audit WHERE number >= 9"),
        (Noticed::AtOnce, "UPDATE effects SET state = 'failed' WHERE call = 'call of new done'"),
        (Noticed::AtOnce, "UPDATE effects SET due_at_ms = 0 WHERE call = 'call of new done'"),
        (Noticed::AtOnce, "DELETE FROM effects WHERE call = 'call of new done'"),
        (Noticed::AtOnce, "DELETE FROM effects WHERE call = 'call of new open'"),
        (Noticed::AtOnce, "DELETE FROM configs WHERE id = 'new'"),
        // What cannot be read is not as it was written.
        (Noticed::AtOnce, "UPDATE audit SET hash = x'00' WHERE number = 7"),
        (Noticed::AtOnce, "UPDATE audit SET body = CAST(x'ff' AS TEXT) WHERE number = 7"),
        (
            Noticed::AtOnce,
            "UPDATE effects SET tenant = CAST(x'ff' AS TEXT) WHERE call = 'call of new done'",
        ),
        (Noticed::AtOnce, "UPDATE configs SET body = CAST(x'ff' AS TEXT) WHERE id = 'new'"),
        // However old, what has to be there is known.
        (Noticed::AtOnce, "UPDATE configs SET body = '[]' WHERE id = 'old'"),
        (
            Noticed::AtOnce,
            "INSERT INTO configs VALUES ('policy', 'acme', 'x', 1, '{}', 0, 'user:e')",
        ),
        (Noticed::AtOnce, "UPDATE effects SET class = 'pure' WHERE call = 'call of old open'"),
        (Noticed::AtOnce, "DELETE FROM effects WHERE call = 'call of old open'"),
        // There is nothing to go on from.
        (Noticed::ByAll, "UPDATE audit SET at_ms = 0 WHERE number = 5"),
        (Noticed::ByAll, "DELETE FROM audit WHERE number = 5"),
        (Noticed::ByAll, "UPDATE audit SET hash = x'00' WHERE number = 5"),
        // What had come to its end before.
        (Noticed::Later, "UPDATE effects SET state = 'failed' WHERE call = 'call of old done'"),
        (Noticed::Later, "DELETE FROM effects WHERE call = 'call of old done'"),
        (Noticed::Later, "UPDATE audit SET body = '{}' WHERE number = 2"),
        (Noticed::Later, "DELETE FROM audit WHERE number = 3"),
        (Noticed::Later, "UPDATE audit SET hash = x'00' WHERE number = 2"),
        (Noticed::Later, "UPDATE audit SET tenant = CAST(x'ff' AS TEXT) WHERE number = 2"),
        (
            Noticed::Later,
            "UPDATE effects SET call = CAST(x'ff' AS TEXT) WHERE call = 'call of old done'",
        ),
    ] {
        check(noticed, |bed| touch(bed, sql), sql).await;
    }
}

#[tokio::test]
async fn what_nobody_can_read_on_from_stops_everybody() {
    let bed = checked().await;
    let store = open(&bed);
    touch(
        &bed,
        "INSERT INTO forgotten VALUES (2, 3, zeroblob(32), zeroblob(32), 0, 'no signature')",
    );
    assert!(!is_stopped(&store).await, "nobody has looked yet");
    assert!(store.verify().await.unwrap().broken.is_some());
    assert!(is_stopped(&store).await && store.trusts("other").await.is_err());
    assert!(!store.condition().check_due, "it is not tried again and again");
    assert!(!mark(&bed).exists());
    drop(store);
    assert!(is_stopped(&open(&bed)).await);
}

#[tokio::test]
async fn that_it_was_in_order_counts_only_as_it_was_signed() {
    let old = "UPDATE effects SET state = 'failed' WHERE call = 'call of old done'";
    let edit = |change: fn(String) -> String| {
        move |bed: &Bed| {
            touch(bed, old);
            let text = fs::read_to_string(mark(bed)).unwrap();
            fs::write(mark(bed), change(text)).unwrap();
        }
    };
    check(Noticed::ByAll, edit(|_| String::new()), "empty").await;
    check(Noticed::ByAll, edit(|text| text.replacen("\"number\":5", "\"number\":4", 1)), "less")
        .await;
    check(Noticed::ByAll, edit(|text| text.replacen("\"open\":[", "\"open\":[ ", 1)), "rest").await;
    let gone = |bed: &Bed| {
        touch(bed, old);
        fs::remove_file(mark(bed)).unwrap();
    };
    check(Noticed::ByAll, gone, "gone").await;
    let long_ago = |bed: &Bed| {
        touch(bed, old);
        bed.clock.advance(7 * DAY);
    };
    check(Noticed::ByAll, long_ago, "long ago").await;
    let other = checked().await;
    let theirs = |bed: &Bed| {
        touch(bed, old);
        fs::copy(mark(&other), mark(bed)).unwrap();
    };
    check(Noticed::ByAll, theirs, "of another store").await;
}

/// That it was in order only saves reading it again: nothing depends on whether the file can be used.
#[tokio::test]
async fn a_record_that_cannot_be_read_written_or_removed_decides_nothing() {
    let no_text = |bed: &Bed| fs::write(mark(bed), [0xff, b'\n', 0xff]).unwrap();
    let in_the_way = |bed: &Bed| {
        fs::remove_file(mark(bed)).unwrap();
        fs::create_dir_all(mark(bed).join("not ours")).unwrap();
    };
    for put in [no_text as fn(&Bed), in_the_way] {
        let bed = checked().await;
        put(&bed);
        let store = open(&bed);
        assert!(!is_stopped(&store).await && !store.condition().check_due, "all of it was read");
        touch(&bed, "UPDATE effects SET state = 'failed' WHERE call = 'call of old done'");
        assert!(store.verify().await.unwrap().broken.is_some());
        assert!(is_stopped(&store).await, "what was found is acted on");
        drop(store);
        assert!(is_stopped(&open(&bed)).await);
        let names = fs::read_dir(bed.path().parent().unwrap()).unwrap();
        let names = names.map(|file| file.unwrap().file_name().into_string().unwrap());
        let left: Vec<_> = names.filter(|name| name.starts_with("haft.db.checked.")).collect();
        assert!(left.is_empty(), "nothing half written is left: {left:?}");
    }
}

#[tokio::test]
async fn a_trail_in_order_is_read_from_where_it_was_checked_and_stops_nobody() {
    let bed = checked().await;
    for day in 0..8 {
        let store = open(&bed);
        assert_eq!(word(&store.claim(claim(&format!("day {day}"))).await.unwrap()), "fresh 1");
        assert!(store.condition().check_due, "only its end was read");
        assert_eq!(store.verify().await.unwrap().broken, None);
        assert!(!store.condition().check_due);
        bed.clock.advance(DAY);
        assert!(store.condition().check_due, "a day later it is due again");
    }
    // A short one is read whole, and so is one that was never checked.
    fs::remove_file(mark(&bed)).unwrap();
    let store = bed.open_sqlite(|options| options.verify = Verify::Tail);
    assert!(!store.condition().check_due);
    assert_eq!(store.verify().await.unwrap().broken, None);
    assert!(!mark(&bed).exists(), "which nobody goes on from");
    drop(store);
    assert!(!open(&bed).condition().check_due);
    assert!(mark(&bed).exists() && verdict(&bed).is_ok());
    assert!(!bed.open_sqlite(|_| ()).condition().check_due, "nobody wants it to be checked");
}

#[tokio::test]
async fn whoever_looked_before_has_not_seen_what_is_found_later() {
    for elsewhere in [true, false] {
        let bed = checked().await;
        let (store, other) = (open(&bed), open(&bed));
        let looks = async |note| {
            bed.clock.advance(1);
            let at = if elsewhere { &other } else { &store };
            at.acknowledge(&Principal::user("ines"), note).await.unwrap();
        };
        looks("nothing to see yet").await;
        touch(&bed, "UPDATE effects SET state = 'failed' WHERE call = 'call of old done'");
        assert!(store.verify().await.unwrap().broken.is_some());
        for _ in 0..2 {
            assert!(is_stopped(&store).await, "it was not there to be seen: {elsewhere}");
        }
        looks("seen").await;
        assert!(!is_stopped(&store).await, "{elsewhere}");
    }
}

/// A check takes long, and calls are made meanwhile, of this process and of others.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_while_it_is_checked_is_no_fault() {
    let bed = checked().await;
    let (store, other) = (std::sync::Arc::new(open(&bed)), open(&bed));
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let calls = tokio::spawn({
        let (store, done) = (store.clone(), done.clone());
        async move {
            let mut made = 0;
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                settled(&*store, claim(&format!("{made}")), State::Succeeded).await;
                made += 1;
            }
            made
        }
    });
    for _ in 0..10 {
        for checks in [&*store, &other] {
            assert_eq!(checks.verify().await.unwrap().broken, None);
            assert!(!is_stopped(checks).await);
        }
        drop(open(&bed));
        let whole = bed.open_sqlite(|options| options.verify = Verify::Whole);
        assert!(!is_stopped(&whole).await);
    }
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(calls.await.unwrap() > 0);
}

/// Neither a hash of the last entry that is none, nor checkpoints that are no text: it is opened, reads are
/// answered, and effects wait until somebody has looked.
#[tokio::test]
async fn an_end_that_cannot_be_read_stops_effects_and_not_the_store() {
    let no_hash = |bed: &Bed| {
        let last = "(SELECT max(number) FROM audit)";
        touch(bed, &format!("UPDATE audit SET hash = zeroblob(3) WHERE number = {last}"));
    };
    let no_text = |bed: &Bed| {
        fs::write(Sqlite::checkpoints(&bed.path()), [0xff, b'\n', b'x', b'\n']).unwrap()
    };
    for put in [no_hash as fn(&Bed), no_text] {
        let bed = checked().await;
        put(&bed);
        let store = open(&bed);
        assert!(is_stopped(&store).await);
        let refused = store.claim(claim("k")).await;
        assert!(matches!(refused, Err(StoreError::Tampered(_))), "{refused:?}");
        let read = store.effect("acme", "call of old done").await.unwrap();
        assert_eq!(read.state, State::Succeeded);
        assert!(store.verify().await.unwrap().broken.is_some() && verdict(&bed).is_err());
        bed.clock.advance(1);
        store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
    }
}

/// Also while it is open, and where nobody wants the trail to be checked. Nobody signs such an end.
#[tokio::test]
async fn nothing_follows_from_an_end_that_cannot_be_read_but_that_somebody_has_looked() {
    for verify in [Verify::Tail, Verify::Never] {
        let bed = checked().await;
        let reopened = || bed.open_sqlite(|options| (options.verify, options.short) = (verify, 0));
        let signed = || fs::read(Sqlite::checkpoints(&bed.path())).unwrap();
        let before = signed();
        let store = reopened();
        let last = "(SELECT max(number) FROM audit)";
        touch(&bed, &format!("UPDATE audit SET hash = zeroblob(3) WHERE number = {last}"));
        for key in ["k", "k of others"] {
            let refused = store.claim(claim(key)).await;
            assert!(matches!(refused, Err(StoreError::Tampered(_))), "{verify:?}: {refused:?}");
        }
        let read = store.effect("acme", "call of old done").await.unwrap();
        assert_eq!(read.state, State::Succeeded);
        drop(store);
        assert_eq!(signed(), before, "{verify:?}");
        let store = reopened();
        let refused = store.claim(claim("k")).await;
        assert!(matches!(refused, Err(StoreError::Tampered(_))), "{verify:?}: {refused:?}");
        bed.clock.advance(1);
        store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1", "{verify:?}");
    }
}

/// Only a check of every signature finds it, and it is told as what it is.
#[tokio::test]
async fn a_signature_in_the_middle_that_is_none_is_new() {
    let bed = checked().await;
    let store = open(&bed);
    settled(&store, claim("more"), State::Succeeded).await;
    drop(store);
    let path = Sqlite::checkpoints(&bed.path());
    let signed = fs::read_to_string(&path).unwrap();
    let (first, rest) = signed.split_once('\n').unwrap();
    assert!(!rest.trim().is_empty(), "there are several: {signed}");
    let mut forged: serde_json::Value = serde_json::from_str(first).unwrap();
    forged["signature"] = serde_json::from_str::<serde_json::Value>(rest.lines().next().unwrap())
        .unwrap()["signature"]
        .clone();
    fs::write(&path, format!("{forged}\n{rest}")).unwrap();
    let found = open(&bed).verify().await.unwrap();
    assert!(found.broken.is_some() && found.unseen == found.broken, "{found:?}");
}

/// A server tells what is new, and not every day what somebody knows.
#[tokio::test]
async fn what_somebody_has_looked_at_is_found_and_is_not_new() {
    let bed = checked().await;
    let store = open(&bed);
    let edit = |call| format!("UPDATE effects SET state = 'failed' WHERE call = 'call of {call}'");
    touch(&bed, &edit("old done"));
    let found = store.verify().await.unwrap();
    assert!(found.broken.is_some() && found.unseen == found.broken, "{found:?}");
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    let known = store.verify().await.unwrap();
    assert!(known.broken == found.broken && known.unseen.is_none(), "{known:?}");
    touch(&bed, &edit("new done"));
    let more = store.verify().await.unwrap();
    assert!(more.broken == found.broken && more.unseen.is_some(), "{more:?}");
    assert_ne!(more.unseen, more.broken, "the new one is told");
}
