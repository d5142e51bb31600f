//! What proves the trail stands beside the database, and the database knows that it does: whoever removes
//! it leaves a trail of which that is told, not one that nobody has ever signed.

use std::fs;
use std::path::PathBuf;

use haft_core::Principal;
use haft_core::port::{Journal as _, Ledger as _, Store as _, StoreError};
use haft_store::trail::Fault;
use haft_store::{Sqlite, Verify, sqlite};
use rusqlite::Connection;
use serde_json::json;

use crate::bed::{Bed, claim, word};
use crate::trail::touch;

/// So many lives of a store, each with two entries more and a head that is signed at its end. The first one says
/// besides with which key.
async fn signed(lives: usize) -> Bed {
    let bed = Bed::sqlite();
    for life in 0..lives {
        let store = bed.open_sqlite(|_| ());
        for n in 0..2 {
            bed.clock.advance(1);
            store.note("acme", "note", json!([life, n])).await.unwrap();
        }
    }
    bed
}

fn beside(bed: &Bed, name: &str) -> PathBuf {
    PathBuf::from(format!("{}.{name}", bed.path().display()))
}

fn fault(bed: &Bed) -> Option<Fault> {
    sqlite::verify_here(&bed.path()).unwrap().err().map(|broken| broken.fault)
}

fn open(bed: &Bed) -> Sqlite {
    bed.open_sqlite(|options| options.verify = Verify::Whole)
}

async fn is_stopped(store: &Sqlite) -> bool {
    match store.trusts("acme").await {
        Err(StoreError::Tampered(_)) => true,
        other => other.map(|()| false).unwrap(),
    }
}

async fn check(lives: usize, remove: impl Fn(&Bed), expected: Fault, said: &str) {
    let bed = signed(lives).await;
    assert_eq!(fault(&bed), None, "{said}");
    remove(&bed);
    assert_eq!(fault(&bed), Some(expected), "{said}");
    // Whatever is written and signed meanwhile, and however often it is opened, is no way around it.
    for _ in 0..3 {
        let store = open(&bed);
        assert!(is_stopped(&store).await, "{said}");
        bed.clock.advance(400_000);
        store.note("acme", "note", json!("meanwhile")).await.unwrap();
        store.note("acme", "note", json!("and again")).await.unwrap();
        drop(store);
        assert!(fault(&bed).is_some(), "{said}");
    }
    let store = open(&bed);
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "looked into it").await.unwrap();
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1", "{said}");
    drop(store);
    let store = open(&bed);
    assert!(!is_stopped(&store).await, "{said}: and stays so");
    assert!(beside(&bed, "head").exists(), "{said}");
}

#[tokio::test]
async fn files_that_were_removed_are_told_and_stop_effects_until_somebody_has_looked() {
    let remove = |names: &'static [&str]| {
        move |bed: &Bed| {
            names.iter().for_each(|name| fs::remove_file(beside(bed, name)).unwrap());
        }
    };
    for lives in [1, 3] {
        check(lives, remove(&["checkpoints"]), Fault::Heads, "heads").await;
        check(lives, remove(&["head"]), Fault::Head, "head").await;
        check(lives, remove(&["head", "checkpoints"]), Fault::Heads, "both").await;
        check(lives, remove(&["key"]), Fault::Key, "key").await;
        check(lives, remove(&["key", "checkpoints"]), Fault::Key, "key and heads").await;
        check(lives, remove(&["key", "checkpoints", "head"]), Fault::Key, "all").await;
        let emptied = |bed: &Bed| fs::write(beside(bed, "checkpoints"), "").unwrap();
        check(lives, emptied, Fault::Heads, "emptied").await;
    }
}

/// Whatever the database and the files beside it knew of signatures is gone at once; the trail names the key.
#[tokio::test]
async fn the_first_head_is_signed_after_the_trail_has_named_its_key() {
    let forget = |bed: &Bed| {
        touch(bed, "DELETE FROM signed");
        ["key", "checkpoints", "head"].iter().for_each(|name| {
            fs::remove_file(beside(bed, name)).unwrap();
        });
    };
    for lives in [1, 2] {
        check(lives, forget, Fault::Key, "all that was ever signed").await;
        let but_the_key = |bed: &Bed| {
            touch(bed, "DELETE FROM signed");
            ["checkpoints", "head"].iter().for_each(|name| {
                fs::remove_file(beside(bed, name)).unwrap();
            });
        };
        check(lives, but_the_key, Fault::Known, "all but the key").await;
    }
    // While it runs: by number, by time and by hand.
    for how in ["number", "time", "hand"] {
        let bed = Bed::sqlite();
        let store = bed.open_sqlite(|options| options.checkpoint_every = 2);
        store.note("acme", "note", json!(1)).await.unwrap();
        assert_eq!(store.audit(1, 10).await.unwrap().len(), 1, "{how}: nothing is signed yet");
        match how {
            "number" => store.note("acme", "note", json!(2)).await.unwrap(),
            "time" => {
                bed.clock.advance(400_000);
                store.purge().await.unwrap();
            }
            _ => {
                let key = Sqlite::signing_key(&bed.path()).unwrap();
                store.checkpoint(&key).await.unwrap();
            }
        }
        store.flush().await.unwrap();
        let last = store.audit(1, 10).await.unwrap().pop().unwrap();
        assert_eq!(last.kind, "signing", "{how}");
        let heads = fs::read_to_string(beside(&bed, "checkpoints")).unwrap();
        assert!(heads.contains(&format!("\"number\":{},", last.number)), "{how}: {heads}");
        assert_eq!(fault(&bed), None, "{how}");
    }
}

/// The last entries, with the signatures under them and the file that names the last.
fn cut(bed: &Bed) {
    touch(bed, "DELETE FROM audit WHERE number > 5");
    let heads = beside(bed, "checkpoints");
    let text = fs::read_to_string(&heads).unwrap();
    let kept: Vec<_> = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(heads, kept.concat()).unwrap();
    fs::remove_file(beside(bed, "head")).unwrap();
}

#[tokio::test]
async fn a_tail_that_was_cut_with_its_signatures_is_told() {
    check(4, cut, Fault::CutTail, "cut").await;
    let and = |sql: &'static str| {
        move |bed: &Bed| {
            cut(bed);
            touch(bed, sql);
        }
    };
    // What was signed is not what the database knows, and neither can be written without the key.
    check(4, and("UPDATE signed SET number = 5"), Fault::Rewritten, "another number").await;
    check(4, and("DELETE FROM signed"), Fault::Known, "forgotten").await;
    check(4, and("UPDATE signed SET number = 0"), Fault::Known, "not yet").await;
    let from_heads = |bed: &Bed| {
        cut(bed);
        let text = fs::read_to_string(beside(bed, "checkpoints")).unwrap();
        let last: haft_store::Checkpoint =
            serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let signature = serde_json::to_string(&last.signature).unwrap();
        let conn = Connection::open(bed.path()).unwrap();
        let sql = "UPDATE signed SET number = ?1, hash = ?2, at_ms = ?3, signature = ?4";
        let (number, hash) = (last.number as i64, last.hash.raw());
        conn.execute(sql, (number, hash, last.at_ms, signature)).unwrap();
    };
    check(4, from_heads, Fault::Known, "by an earlier signature").await;
}

#[tokio::test]
async fn a_store_that_was_never_signed_wants_nothing_beside_it() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|_| ());
    store.note("acme", "note", json!(1)).await.unwrap();
    assert_eq!(fault(&bed), None);
    drop(store);
    assert_eq!(fault(&bed), None);
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.checkpoint_every = 0);
    store.note("acme", "note", json!(1)).await.unwrap();
    drop(store);
    assert_eq!(fault(&bed), None);
    assert!(!beside(&bed, "key").exists(), "and nothing is made");
}

/// Signed every other entry and removed at some moment: what is signed next does not stand in for it.
#[tokio::test]
async fn heads_that_are_removed_while_a_store_is_open_are_missed() {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|options| options.checkpoint_every = 2);
    for n in 0..6 {
        store.note("acme", "note", json!(n)).await.unwrap();
    }
    store.flush().await.unwrap();
    fs::remove_file(beside(&bed, "checkpoints")).unwrap();
    for n in 0..6 {
        store.note("acme", "note", json!(n)).await.unwrap();
    }
    drop(store);
    assert_eq!(fault(&bed), Some(Fault::Heads));
}
