//! The audit trail on disk: checkpoints, tampering, and what follows.

use haft_core::Principal;
use haft_core::config::{Change, Kind};
use haft_core::port::{Configs as _, Journal as _, Ledger as _, Store as _, StoreError};
use haft_store::sqlite::verify;
use haft_store::trail::Fault;
use haft_store::{Broken, Sqlite, Verified};
use rusqlite::Connection;
use serde_json::json;

use crate::bed::{Bed, call_record, claim, word};

/// A store whose heads are signed by hand, so that no entry but those of the test are in its trail.
fn open_unsigned(bed: &Bed) -> Sqlite {
    bed.open_sqlite(|options| options.checkpoint_every = 0)
}

async fn sign(bed: &Bed, store: &Sqlite) {
    store.checkpoint(&Sqlite::signing_key(&bed.path()).unwrap()).await.unwrap();
}

/// Six entries: of acme and other in turn, with a checkpoint of the last. The trail does not say yet with which
/// key it is signed, as an older haft left it.
pub(crate) async fn written() -> Bed {
    let bed = Bed::sqlite();
    let store = open_unsigned(&bed);
    for n in 0..6 {
        let tenant = if n % 2 == 0 { "acme" } else { "other" };
        store.note(tenant, "note", json!({ "n": n })).await.unwrap();
    }
    sign(&bed, &store).await;
    drop(store);
    drop(bed.open_sqlite(|_| ()));
    bed
}

pub(crate) fn touch(bed: &Bed, sql: &str) {
    let conn = Connection::open(bed.path()).unwrap();
    let unlock = "DROP TRIGGER IF EXISTS audit_keeps; DROP TRIGGER IF EXISTS audit_keeps_all;";
    conn.execute_batch(&format!("{unlock}{sql}")).unwrap();
}

pub(crate) fn verdict(bed: &Bed) -> Result<Verified, Broken> {
    let key = Sqlite::signing_key(&bed.path()).unwrap().public();
    verify(&bed.path(), &key, &Sqlite::checkpoints(&bed.path())).unwrap()
}

#[tokio::test]
async fn a_trail_that_nobody_touched_is_verified() {
    let verified = verdict(&written().await).unwrap();
    assert_eq!((verified.entries, verified.checkpoints), (6, 1));
}

#[tokio::test]
async fn the_first_bad_entry_is_named() {
    let table = [
        ("UPDATE audit SET body = '{}' WHERE number = 3", 3, Fault::Hash),
        ("UPDATE audit SET tenant = 'x' WHERE number IN (4, 5)", 4, Fault::Hash),
        ("UPDATE audit SET at_ms = 0 WHERE number = 1", 1, Fault::Hash),
        ("DELETE FROM audit WHERE number = 2", 2, Fault::Gap),
        ("DELETE FROM audit WHERE number >= 5", 6, Fault::CutTail),
        ("UPDATE audit SET previous = zeroblob(32) WHERE number = 4", 4, Fault::Chain),
    ];
    for (sql, number, fault) in table {
        let bed = written().await;
        touch(&bed, sql);
        let broken = verdict(&bed).unwrap_err();
        assert_eq!((broken.number, broken.fault), (number, fault), "{sql}");
    }
}

#[tokio::test]
async fn a_checkpoint_is_made_on_demand_on_closing_and_every_so_often() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.checkpoint_every = 2);
    for n in 0..5 {
        store.note("acme", "note", json!(n)).await.unwrap();
    }
    let key = Sqlite::signing_key(&bed.path()).unwrap();
    let checkpoint = store.checkpoint(&key).await.unwrap();
    assert_eq!(checkpoint.number, 6, "the third entry says with which key");
    assert!(checkpoint.is_signed_by(&key.public()));
    drop(store);
    let lines = std::fs::read_to_string(Sqlite::checkpoints(&bed.path())).unwrap();
    let numbers: Vec<u64> = lines
        .lines()
        .map(|line| serde_json::from_str::<haft_store::Checkpoint>(line).unwrap().number)
        .collect();
    assert_eq!(numbers, [3, 5, 6, 6], "two by count, one on demand, one on closing");
    assert_eq!(verdict(&bed).unwrap().checkpoints, 3);
}

#[tokio::test]
async fn what_was_written_is_signed_after_a_while_however_little_it_is() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|_| {});
    let signed = || verdict(&bed).unwrap().checkpoints;
    store.note("acme", "note", json!(1)).await.unwrap();
    assert_eq!(signed(), 0);
    bed.clock.advance(5 * 60 * 1_000);
    // What a server does each minute.
    store.purge().await.unwrap();
    store.flush().await.unwrap();
    assert_eq!(signed(), 1);
    bed.clock.advance(5 * 60 * 1_000);
    store.purge().await.unwrap();
    store.flush().await.unwrap();
    assert_eq!(signed(), 1, "nothing was added");
}

#[tokio::test]
async fn a_checkpoint_that_was_cut_off_while_it_was_written_is_no_fault() {
    let bed = written().await;
    let path = Sqlite::checkpoints(&bed.path());
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"number\":9");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(verdict(&bed).unwrap().entries, 6);
    std::fs::write(&path, text + "\n").unwrap();
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Checkpoint);
}

#[tokio::test]
async fn what_is_signed_after_a_checkpoint_was_cut_off_is_a_line_of_its_own() {
    // Nothing of the line, some of it, all but its end, and some of the next one.
    type Cut = fn(&str) -> String;
    let cuts: [(Cut, u64); 4] = [
        (|_| String::new(), 2),
        (|whole| whole[..9].to_owned(), 2),
        (|whole| whole.trim_end().to_owned(), 3),
        (|whole| format!("{whole}{{\"number\":9,"), 3),
    ];
    for (cut, checkpoints) in cuts {
        let bed = Bed::sqlite();
        let copy = bed.path().with_extension("copy");
        let path = Sqlite::checkpoints(&bed.path());
        bed.open_sqlite(|_| ()).note("acme", "note", json!("a life before")).await.unwrap();
        let before = std::fs::read_to_string(&path).unwrap();
        let store = bed.open_sqlite(|_| ());
        for n in 0..6 {
            store.note("acme", "note", json!({ "n": n })).await.unwrap();
        }
        let conn = Connection::open(bed.path()).unwrap();
        conn.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        drop((store, conn));
        // Killed while it signed: the database does not know of it.
        std::fs::copy(&copy, bed.path()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let text = format!("{before}{}", cut(text.strip_prefix(&before).unwrap()));
        std::fs::write(&path, &text).unwrap();
        let store = bed.open_sqlite(|_| ());
        store.note("acme", "note", json!({ "more": text })).await.unwrap();
        drop(store);
        assert_eq!(verdict(&bed).unwrap().checkpoints, checkpoints, "{text}");
    }
}

#[tokio::test]
async fn a_tenant_whose_entry_was_touched_is_stopped_until_somebody_has_looked() {
    let bed = written().await;
    touch(&bed, "UPDATE audit SET body = '{}' WHERE number = 3");
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    let refused = store.claim(claim("k")).await.unwrap_err();
    let StoreError::Tampered(why) = refused else { panic!("{refused:?}") };
    assert!(why.starts_with("entry 3 was changed"), "{why}");
    let mut other = claim("k2");
    other.effect.tenant = "other".into();
    assert_eq!(word(&store.claim(other).await.unwrap()), "fresh 1", "others go on");
    store.acknowledge(&Principal::user("ines"), "a restored backup").await.unwrap();
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
    drop(store);
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    assert_eq!(word(&store.claim(claim("k3")).await.unwrap()), "fresh 1", "and stay so");
    assert_eq!(verdict(&bed).unwrap_err().number, 3, "the fault is still told");
}

#[tokio::test]
async fn a_store_that_is_open_hears_that_somebody_has_looked_in_another_process() {
    let bed = written().await;
    touch(&bed, "DELETE FROM audit WHERE number >= 5");
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    let refused = store.trusts("acme").await.unwrap_err();
    assert!(matches!(refused, StoreError::Tampered(_)), "{refused}");
    let other = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    other.acknowledge(&Principal::user("ines"), "a restored backup").await.unwrap();
    store.trusts("acme").await.unwrap();
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
}

#[tokio::test]
async fn everybody_is_stopped_when_nobody_can_tell_whose_entries_are_gone() {
    let bed = written().await;
    touch(&bed, "DELETE FROM audit WHERE number >= 5");
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    for tenant in ["acme", "other", "third"] {
        let mut claim = claim(tenant);
        claim.effect.tenant = tenant.into();
        let refused = store.claim(claim).await;
        assert!(matches!(refused, Err(StoreError::Tampered(_))), "{tenant}");
    }
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "a restored backup").await.unwrap();
    drop(store);
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
}

#[tokio::test]
async fn a_trail_in_order_stops_nobody() {
    let bed = written().await;
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
}

#[tokio::test]
async fn what_is_configured_by_hand_does_not_fit_the_trail() {
    for sql in [
        "UPDATE configs SET body = '{\"deny\":[]}'",
        "UPDATE configs SET body = NULL",
        "UPDATE configs SET id = 'other' WHERE id = 'p'",
        "DELETE FROM configs",
        "INSERT INTO configs VALUES ('policy', 'acme', 'mine', 1, '{}', 0, 'user:eve')",
    ] {
        let bed = Bed::sqlite();
        {
            let store = bed.open_sqlite(|_| ());
            for (id, to) in [("p", Some(json!({"deny": ["pay"]}))), ("gone", Some(json!({})))] {
                store.change(change(id, 0, to)).await.unwrap();
            }
            store.change(change("gone", 1, None)).await.unwrap();
        }
        assert!(verdict(&bed).is_ok());
        touch(&bed, sql);
        assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Config, "{sql}");
        let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
        let refused = store.claim(claim("k")).await.unwrap_err();
        assert!(matches!(refused, StoreError::Tampered(_)), "{refused}");
    }
}

fn change(id: &str, from: u64, to: Option<serde_json::Value>) -> Change {
    let (tenant, by) = ("acme".to_owned(), Principal::user("mara"));
    Change { kind: Kind::Policy, tenant, id: id.to_owned(), from, to, by }
}

/// Six entries of calls, of which the first four were forgotten, and what is configured since.
pub(crate) async fn forgotten() -> Bed {
    let bed = Bed::sqlite();
    let store = open_unsigned(&bed);
    for n in 0..6 {
        bed.clock.advance(1);
        store.record(call_record(&format!("c{n}"), "core__kb_search", 1).into());
        store.flush().await.unwrap();
        if n % 2 == 1 {
            sign(&bed, &store).await;
        }
    }
    let before = store.now_ms() - 1;
    assert_eq!(store.forget(before).await.unwrap().entries, 4);
    drop(store);
    drop(bed.open_sqlite(|_| ()));
    bed
}

#[tokio::test]
async fn a_trail_with_a_gap_that_we_made_is_intact() {
    let verified = verdict(&forgotten().await).unwrap();
    // Of the checkpoints of entries 2, 4 and 6 the last two still have something to agree with.
    assert_eq!((verified.entries, verified.forgotten, verified.checkpoints), (2, 4, 2));
}

fn signed_heads(bed: &Bed) -> Vec<u64> {
    let lines = std::fs::read_to_string(Sqlite::checkpoints(&bed.path())).unwrap();
    let read = |line| serde_json::from_str::<haft_store::Checkpoint>(line).unwrap().number;
    lines.lines().map(read).collect()
}

#[tokio::test]
async fn checkpoints_of_what_was_forgotten_go_with_it_and_the_newest_stays() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.checkpoint_every = 2);
    for n in 0..11 {
        bed.clock.advance(1);
        store.note("acme", "note", json!(n)).await.unwrap();
    }
    // What was written before is signed after that was answered, and before this is.
    store.flush().await.unwrap();
    // The third entry says with which key.
    assert_eq!(signed_heads(&bed), [3, 5, 7, 9, 11]);
    // The first seven but for that: there is nothing that those of entries 5 and 7 could be compared with.
    assert_eq!(store.forget(store.now_ms() - 3).await.unwrap().entries, 7);
    assert_eq!(signed_heads(&bed), [3, 9, 11]);
    bed.clock.advance(2 * 86_400_000);
    assert_eq!(store.forget(i64::MAX).await.unwrap().entries, 3);
    store.flush().await.unwrap();
    assert_eq!(signed_heads(&bed), [3, 11, 12]);
    store.note("acme", "note", json!("one more")).await.unwrap();
    bed.clock.advance(2 * 86_400_000);
    assert_eq!(store.forget(i64::MAX).await.unwrap().entries, 1);
    store.flush().await.unwrap();
    assert_eq!(signed_heads(&bed), [3, 12, 13]);
    drop(store);
    assert!(verdict(&bed).is_ok());
    touch(&bed, "DELETE FROM audit");
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::CutTail);
}

#[tokio::test]
async fn a_checkpoint_that_somebody_else_made_is_told_although_its_entry_was_forgotten() {
    let bed = forgotten().await;
    let path = Sqlite::checkpoints(&bed.path());
    let text = std::fs::read_to_string(&path).unwrap();
    let forged = text.lines().next().unwrap().replace("\"number\":4", "\"number\":3");
    std::fs::write(&path, format!("{forged}\n{text}")).unwrap();
    assert_eq!(signed_heads(&bed), [3, 4, 6]);
    let store = bed.open_sqlite(|_| ());
    store.forget(0).await.unwrap();
    drop(store);
    assert_eq!(signed_heads(&bed), [3, 4, 6]);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Checkpoint);
}

#[tokio::test]
async fn nothing_goes_from_the_trail_by_hand() {
    let bed = forgotten().await;
    let conn = Connection::open(bed.path()).unwrap();
    let refused = conn.execute_batch("DELETE FROM calls; DELETE FROM audit WHERE number = 5");
    assert!(refused.unwrap_err().to_string().contains("append-only"));
}

#[tokio::test]
async fn a_gap_that_we_did_not_make_is_noticed() {
    let table = [
        // More is gone than was signed for.
        ("DELETE FROM calls; DELETE FROM audit WHERE number = 5", 5, Fault::Gap),
        (
            "DELETE FROM calls; DELETE FROM audit WHERE number = 5; UPDATE forgotten SET last = 5",
            1,
            Fault::Forgotten,
        ),
        ("UPDATE forgotten SET hash = zeroblob(32)", 1, Fault::Forgotten),
        ("UPDATE forgotten SET previous = zeroblob(32), first = 2", 2, Fault::Forgotten),
        ("UPDATE forgotten SET at_ms = 1", 1, Fault::Forgotten),
        ("DELETE FROM forgotten", 1, Fault::Gap),
    ];
    for (sql, number, fault) in table {
        let bed = forgotten().await;
        touch(&bed, sql);
        let broken = verdict(&bed).unwrap_err();
        assert_eq!((broken.number, broken.fault), (number, fault), "{sql}");
        let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
        let refused = store.claim(claim("k")).await;
        assert!(matches!(refused, Err(StoreError::Tampered(_))), "{sql}");
    }
}

#[tokio::test]
async fn gaps_that_meet_become_one() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|_| ());
    for n in 0..5 {
        store.note("acme", "note", json!(n)).await.unwrap();
        if n == 2 {
            store.change(change("p", 0, Some(json!({})))).await.unwrap();
        }
    }
    bed.clock.advance(10);
    let gaps = || -> Vec<(i64, i64)> {
        let conn = Connection::open(bed.path()).unwrap();
        let mut found = conn.prepare("SELECT first, last FROM forgotten ORDER BY first").unwrap();
        let rows = found.query_map((), |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    store.forget(store.now_ms()).await.unwrap();
    assert_eq!(gaps(), [(1, 3), (5, 5)], "what is configured stands between them");
    store.note("acme", "note", json!("the newest")).await.unwrap();
    store.forget(store.now_ms()).await.unwrap();
    assert_eq!(gaps(), [(1, 3), (5, 6)]);
    drop(store);
    assert_eq!(
        verdict(&bed).map(|found| (found.entries, found.forgotten)),
        Ok((3, 5)),
        "and who signs it"
    );
}
