//! The table of calls, in which they are found and counted, says what their entries do.

use haft_core::ErrorKind;
use haft_core::Principal;
use haft_core::config::{Change, Kind};
use haft_core::ledger::State;
use haft_core::port::{
    CallFilter, Configs as _, Journal as _, Ledger as _, Store as _, StoreError,
};
use haft_store::trail::Fault;
use haft_store::{Sqlite, Verify};
use serde_json::json;

use crate::bed::{Bed, call_record, claim, ending, fresh};
use crate::trail::{touch, verdict};

const DAY: i64 = 86_400_000;

async fn record(store: &Sqlite, call: &str) {
    store.record(call_record(call, "core__kb_search", 1).into());
    store.flush().await.unwrap();
}

/// Two reads, of which one failed, an effect with its record, and one without. Entries 1 to 6; the records are
/// 1, 2 and 4.
async fn called(bed: &Bed) {
    acts(&bed.open_sqlite(|_| ())).await;
}

async fn acts(store: &Sqlite) {
    record(store, "c1").await;
    let mut failed = call_record("c2", "core__kb_search", 2);
    (failed.error, failed.session) = (Some(ErrorKind::Timeout), None);
    store.record(failed.into());
    store.flush().await.unwrap();
    let ticket = fresh(store, claim("k")).await;
    let done = ending(State::Succeeded, Some(json!(1)));
    let written = call_record(&ticket.call, "core__pay", 7);
    store.settle(&ticket, done.clone(), Some(written)).await.unwrap();
    let ticket = fresh(store, claim("without")).await;
    store.settle(&ticket, done, None).await.unwrap();
}

async fn is_stopped(store: &Sqlite, tenant: &str) -> bool {
    match store.trusts(tenant).await {
        Err(StoreError::Tampered(_)) => true,
        other => other.map(|()| false).unwrap(),
    }
}

fn whole(bed: &Bed) -> Sqlite {
    bed.open_sqlite(|options| options.verify = Verify::Whole)
}

/// What is found in the table.
async fn found(store: &Sqlite) -> String {
    let filter = || CallFilter { tenant: "acme".into(), limit: 100, ..CallFilter::default() };
    let calls = store.calls(filter()).await.unwrap();
    format!("{:?} {:?}", calls, store.stats(filter()).await.unwrap())
}

/// Told, stops effects when all of it is read, and is put right once somebody has looked.
async fn check(sealed: bool, sql: &str) {
    let bed = if sealed { Bed::sealed() } else { Bed::sqlite() };
    called(&bed).await;
    let before = found(&bed.open_sqlite(|_| ())).await;
    assert!(verdict(&bed).is_ok(), "{:?}", verdict(&bed));
    touch(&bed, &format!("PRAGMA foreign_keys = OFF; {sql}"));
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Calls, "{sql}");
    let store = whole(&bed);
    assert!(is_stopped(&store, "acme").await && !is_stopped(&store, "other").await, "{sql}");
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    assert!(!is_stopped(&store, "acme").await, "{sql}");
    assert_eq!(found(&store).await, before, "{sql}");
    record(&store, "more").await;
    drop(store);
    assert!(!is_stopped(&whole(&bed), "acme").await, "{sql}: once somebody has looked");
    assert!(verdict(&bed).is_ok(), "{sql}: {:?}", verdict(&bed));
}

#[tokio::test]
async fn a_call_that_was_edited_removed_or_invented_is_told_and_put_right() {
    for sealed in [false, true] {
        for sql in [
            "DELETE FROM calls WHERE number = 1",
            "DELETE FROM calls WHERE number = 4",
            "DELETE FROM calls",
            "UPDATE calls SET tool = 'core__x' WHERE number = 1",
            "UPDATE calls SET tool = 'core__x' WHERE number = 4",
            "UPDATE calls SET call = 'c9' WHERE number = 2",
            "UPDATE calls SET agent = 'a'",
            "UPDATE calls SET session = NULL WHERE number = 1",
            "UPDATE calls SET session = 's1' WHERE number = 2",
            "UPDATE calls SET error = NULL WHERE number = 2",
            "UPDATE calls SET error = 'denied' WHERE number = 4",
            "UPDATE calls SET started_at_ms = 1 WHERE number = 4",
            "UPDATE calls SET duration_us = 2 WHERE number = 1",
            "UPDATE calls SET tenant = 'acme2' WHERE number = 1",
            "UPDATE calls SET tool = CAST(x'ff' AS TEXT) WHERE number = 1",
            "UPDATE calls SET number = 3 WHERE number = 1",
        ] {
            check(sealed, sql).await;
        }
        // Beside an entry that is none of a call, one of an effect without a record, and where there is none.
        for number in [3, 6, 99] {
            let sql = "INSERT INTO calls SELECT ?, tenant, agent, tool, session, \
                'call of without', error, started_at_ms, duration_us FROM calls WHERE number = 4";
            check(sealed, &sql.replace('?', &number.to_string())).await;
        }
    }
}

/// New entries get the numbers of those that were cut off, whose rows are still there.
#[tokio::test]
async fn rows_of_a_tail_that_was_cut_off_are_in_nobodys_way() {
    for sealed in [false, true] {
        let bed = if sealed { Bed::sealed() } else { Bed::sqlite() };
        called(&bed).await;
        touch(
            &bed,
            "PRAGMA foreign_keys = OFF; DELETE FROM audit WHERE number >= 2; DELETE FROM effects; \
             INSERT INTO calls SELECT number + 10, tenant, agent, tool, session, call, error, \
             started_at_ms, duration_us FROM calls",
        );
        let store = whole(&bed);
        assert!(is_stopped(&store, "acme").await);
        // Reads are recorded meanwhile, in the place of what was left.
        record(&store, "meanwhile").await;
        bed.clock.advance(1);
        store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
        for n in 0..20 {
            record(&store, &format!("new {n}")).await;
            store.note("acme", "note", json!(n)).await.unwrap();
            let ticket = fresh(&store, claim(&format!("new {n}"))).await;
            let written = call_record(&ticket.call, "core__pay", 7);
            let done = ending(State::Succeeded, Some(json!(1)));
            store.settle(&ticket, done, Some(written)).await.unwrap();
            assert!(!is_stopped(&whole(&bed), "acme").await, "{n}");
        }
        let filter = CallFilter { tenant: "acme".into(), limit: 100, ..CallFilter::default() };
        assert_eq!(store.calls(filter).await.unwrap().len(), 42);
        assert_eq!(store.dropped(), 0);
        assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Rewritten, "it is still told");
    }
}

/// An older haft left no digest of the row beside a seal.
#[tokio::test]
async fn what_an_older_haft_has_sealed_is_compared_by_what_is_clear() {
    let bed = Bed::sealed();
    acts(&bed.open_sqlite(|options| options.checkpoint_every = 0)).await;
    touch(
        &bed,
        "UPDATE audit SET body = ' ' || json_remove(body, '$.listed') WHERE body LIKE ' %'",
    );
    crate::tampering::rewrite(&bed);
    assert!(verdict(&bed).is_ok(), "{:?}", verdict(&bed));
    for (sql, told) in [
        ("UPDATE calls SET duration_us = 9 WHERE number = 1", false),
        ("UPDATE calls SET tool = 'core__x' WHERE number = 1", true),
    ] {
        touch(&bed, sql);
        assert_eq!(verdict(&bed).is_err(), told, "{sql}");
    }
}

#[tokio::test]
async fn what_was_forgotten_or_removed_with_its_tenant_is_no_fault() {
    let bed = Bed::sqlite();
    called(&bed).await;
    let store = bed.open_sqlite(|_| ());
    bed.clock.advance(40 * DAY);
    store.purge().await.unwrap();
    record(&store, "new").await;
    while store.forget(i64::MAX).await.unwrap().more {}
    drop(store);
    assert!(verdict(&bed).unwrap().forgotten > 0);

    for sealed in [false, true] {
        let bed = if sealed { Bed::sealed() } else { Bed::sqlite() };
        let store = bed.open_sqlite(|_| ());
        let change = |from, to| {
            let (tenant, id) = ("acme".to_owned(), "acme".to_owned());
            Change { kind: Kind::Tenant, tenant, id, from, to, by: Principal::user("root") }
        };
        store.change(change(0, Some(json!({})))).await.unwrap();
        record(&store, "c1").await;
        let copy = "CREATE TABLE copy AS SELECT * FROM calls";
        touch(&bed, copy);
        store.change(change(1, None)).await.unwrap();
        drop(store);
        assert!(verdict(&bed).is_ok(), "{:?}", verdict(&bed));
        // What is put back of it, and is not even as it was, goes again.
        touch(&bed, "INSERT INTO calls SELECT * FROM copy; UPDATE calls SET agent = 'x'");
        assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Calls);
        let store = whole(&bed);
        store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
        drop(store);
        assert!(verdict(&bed).is_ok(), "{:?}", verdict(&bed));
    }
}
