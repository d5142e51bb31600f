//! That somebody has looked into a trail counts as it was written into the trail and signed, and not
//! because a row says so.

use haft_core::Principal;
use haft_core::port::{Ledger as _, Store as _, StoreError};
use haft_core::record::AuditEntry;
use haft_store::trail::Fault;
use haft_store::{Sqlite, Verify};
use rusqlite::{Connection, params};
use serde_json::json;

use crate::bed::{Bed, claim, word};
use crate::trail::{touch, verdict, written};

fn open(bed: &Bed) -> Sqlite {
    bed.open_sqlite(|options| options.verify = Verify::Whole)
}

/// Why effects are refused, if they are.
async fn refusal(bed: &Bed) -> Option<String> {
    match open(bed).trusts("acme").await {
        Err(StoreError::Tampered(why)) => Some(why),
        other => other.map(|()| None).unwrap(),
    }
}

/// What an older haft wrote, or somebody without the key: an entry that follows from the last one, and a row.
fn acknowledge_unsigned(bed: &Bed) {
    let conn = Connection::open(bed.path()).unwrap();
    let last = "SELECT number, hash, at_ms FROM audit ORDER BY number DESC LIMIT 1";
    let (number, previous, at_ms): (i64, [u8; 32], i64) =
        conn.query_row(last, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let mut entry = AuditEntry {
        number: number as u64 + 1,
        at_ms: at_ms + 1,
        tenant: String::new(),
        kind: "acknowledge".into(),
        body: json!({ "by": "user:eve", "note": "all is well" }).to_string(),
        hash: haft_core::Digest::from_raw(&previous),
        previous: haft_core::Digest::from_raw(&previous),
    };
    entry.hash = entry.expected_hash();
    let sql = "INSERT INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let (number, hash) = (entry.number as i64, entry.hash.raw());
    let values = params![number, entry.at_ms, "", entry.kind, entry.body, previous, hash];
    conn.execute(sql, values).unwrap();
    let sql = "INSERT INTO acknowledged (number, at_ms, by) VALUES (?1, ?2, 'user:eve')";
    conn.execute(sql, (number, entry.at_ms)).unwrap();
    bed.clock.advance(1);
}

const EDIT: &str = "UPDATE audit SET body = '{}' WHERE number = 3";

#[tokio::test]
async fn a_row_that_the_trail_does_not_know_lifts_nothing() {
    for row in
        ["2394, 9999999999999, 'user:eve', NULL, NULL", "6, 0, 'user:eve', zeroblob(32), '{}'"]
    {
        let bed = written().await;
        touch(&bed, &format!("{EDIT}; INSERT INTO acknowledged VALUES ({row})"));
        let why = refusal(&bed).await.expect(row);
        assert!(why.starts_with("entry 3 was changed"), "{why}");
        assert_eq!(verdict(&bed).unwrap_err().number, 3, "{row}");
    }
}

#[tokio::test]
async fn such_a_row_is_told_and_stops_effects_by_itself() {
    let bed = written().await;
    touch(&bed, "INSERT INTO acknowledged VALUES (4, 0, 'user:eve', NULL, NULL)");
    let told = verdict(&bed).unwrap_err();
    assert_eq!((told.number, told.fault), (4, Fault::Unfounded));
    assert!(refusal(&bed).await.is_some());
    let store = open(&bed);
    store.acknowledge(&Principal::user("ines"), "somebody wrote that").await.unwrap();
    drop(store);
    assert_eq!(refusal(&bed).await, None);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Unfounded, "it is still told");
    touch(&bed, "INSERT INTO acknowledged VALUES (5, 0, 'user:eve', NULL, NULL)");
    assert!(refusal(&bed).await.is_some(), "another one was not there to be seen");
}

#[tokio::test]
async fn an_entry_that_nobody_has_signed_lifts_nothing_and_says_what_to_do() {
    let bed = written().await;
    touch(&bed, EDIT);
    acknowledge_unsigned(&bed);
    let why = refusal(&bed).await.unwrap();
    assert!(why.starts_with("entry 3 was changed"), "{why}");
    assert!(why.ends_with("say so again with `haft audit acknowledge`"), "{why}");
    let store = open(&bed);
    store.acknowledge(&Principal::user("ines"), "again").await.unwrap();
    drop(store);
    assert_eq!(word(&open(&bed).claim(claim("k")).await.unwrap()), "fresh 1");
}

/// As after an upgrade: what was looked at long ago, when nothing was wrong, keeps nobody from working.
#[tokio::test]
async fn an_entry_that_nobody_has_signed_is_told_and_stops_nobody_by_itself() {
    let bed = written().await;
    acknowledge_unsigned(&bed);
    let told = verdict(&bed).unwrap_err();
    assert_eq!((told.number, told.fault), (7, Fault::Unsigned));
    assert_eq!(refusal(&bed).await, None);
}

#[tokio::test]
async fn what_is_signed_counts_as_it_was_signed() {
    let edit = |set: &str| format!("UPDATE acknowledged SET {set}");
    for (sql, stops) in [
        (String::new(), false),
        (edit("number = number + 1"), true),
        (edit("at_ms = at_ms + 1"), true),
        (edit("by = 'user:mara'"), true),
        (edit("hash = zeroblob(32)"), true),
        (edit("signature = NULL"), true),
        (edit("signature = replace(signature, '\"value\":\"', '\"value\":\"0')"), true),
        ("UPDATE audit SET body = '{\"faults\":[]}' WHERE number = 7".to_owned(), true),
        ("DELETE FROM acknowledged".to_owned(), true),
    ] {
        for touched in [EDIT, "INSERT INTO configs VALUES ('policy', 'acme', 'x', 1, '{}', 0, 'e')"]
        {
            let bed = written().await;
            touch(&bed, touched);
            open(&bed).acknowledge(&Principal::user("ines"), "seen").await.unwrap();
            touch(&bed, &sql);
            assert_eq!(refusal(&bed).await.is_some(), stops, "{touched}: {sql}");
        }
    }
}
