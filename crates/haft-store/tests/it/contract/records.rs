//! Records that are old: which are forgotten, which stay, and what is left of the trail.

use haft_core::Principal;
use haft_core::config::{Change, Kind};
use haft_core::ledger::State;
use haft_core::port::{CallFilter, Forgotten, Resolve, Store, StoreError, Undo};
use haft_core::record::{Confirmation, InvocationRecord};
use haft_core::session::Session;
use serde_json::json;

use super::sessions::session;
use crate::bed::{
    Bed, KEEP, START, ask, call_record, claim, confirmation, contract, ending, fresh, kinds,
    settle, settled, spending,
};

/// Forgets everything that may go, in as many steps as it takes.
async fn forget(store: &dyn Store, before_ms: i64) -> Forgotten {
    let mut went = Forgotten::default();
    for _ in 0..1_000 {
        went.add(&store.forget(before_ms).await.unwrap());
        if !went.more {
            return went;
        }
    }
    panic!("it does not end: {went:?}")
}

async fn record(store: &dyn Store, call: &str) {
    let started_at_ms = store.now_ms();
    store.record(
        InvocationRecord { started_at_ms, ..call_record(call, "core__kb_search", 1) }.into(),
    );
    store.flush().await.unwrap();
}

async fn calls(store: &dyn Store) -> Vec<String> {
    let filter = CallFilter { tenant: "acme".into(), limit: 1_000, ..CallFilter::default() };
    let found = store.calls(filter).await.unwrap();
    found.iter().map(|one| one.call.to_string()).collect()
}

/// How many entries there are, and how many were forgotten, of a trail that must be intact.
async fn trail(store: &dyn Store) -> (u64, u64) {
    let checked = store.verify().await.unwrap();
    assert_eq!(checked.broken, None);
    (checked.entries, checked.forgotten)
}

fn change(from: u64) -> Change {
    let (tenant, id, by) = ("acme".to_owned(), "p".to_owned(), Principal::user("mara"));
    Change { kind: Kind::Policy, tenant, id, from, to: Some(json!({ "n": from })), by }
}

/// An effect that ended, with the record of its call.
async fn paid(store: &dyn Store, key: &str, state: State) {
    let ticket = fresh(store, claim(key)).await;
    let record = call_record(&ticket.call, "core__pay", 1);
    let ending = ending(state, Some(json!(key)));
    store.settle(&ticket, ending, Some(record)).await.unwrap();
}

fn later(bed: &Bed, ms: i64) -> i64 {
    bed.clock.advance(ms);
    START + ms
}

contract! {
    old_records_go_and_newer_ones_stay(bed) {
        let store = bed.open();
        for n in 0..3 {
            record(&*store, &format!("old{n}")).await;
        }
        store.note("acme", "note", json!("by a handler")).await.unwrap();
        let before = later(bed, 1_000);
        record(&*store, "new1").await;
        record(&*store, "new2").await;
        let went = forget(&*store, before).await;
        assert_eq!(went, Forgotten { entries: 4, calls: 3, ..Forgotten::default() });
        assert_eq!(calls(&*store).await, ["new2", "new1"]);
        assert_eq!(trail(&*store).await, (2, 4));
        assert_eq!(forget(&*store, before).await, Forgotten::default(), "once");
        record(&*store, "new3").await;
        assert_eq!(trail(&*store).await, (3, 4), "the chain goes on");
        drop(store);
        let store = bed.open();
        assert_eq!(trail(&*store).await.1, 4, "and after a restart");
        assert_eq!(kinds(&*store).await.len(), 3);
    }

    the_newest_entry_stays_however_old_it_is(bed) {
        let store = bed.open();
        record(&*store, "c1").await;
        record(&*store, "c2").await;
        let before = later(bed, 1_000);
        assert_eq!(forget(&*store, before).await.entries, 1);
        assert_eq!(calls(&*store).await, ["c2"]);
        record(&*store, "c3").await;
        assert_eq!(trail(&*store).await, (2, 1));
        store.flush().await.unwrap();
        assert_eq!(forget(&*store, before).await.entries, 1, "now it may go");
        assert_eq!(trail(&*store).await, (1, 2));
    }

    what_belongs_to_an_effect_stays_as_long_as_that_does(bed) {
        let store = bed.open();
        fresh(&*store, claim("running")).await;
        paid(&*store, "done", State::Succeeded).await;
        paid(&*store, "lost", State::Unknown).await;
        settled(&*store, claim("undoing"), State::Succeeded).await;
        store.undo("acme", "call of undoing", Undo::Begin { by: "u".into() }).await.unwrap();
        record(&*store, "a read").await;
        let before = later(bed, 1_000);
        store.note("acme", "note", json!("the newest")).await.unwrap();
        let went = forget(&*store, before).await;
        assert_eq!(went, Forgotten { entries: 1, calls: 1, ..Forgotten::default() });
        assert_eq!(calls(&*store).await, ["call of lost", "call of done"]);
        let [begun, paid] = [&["begin"][..], &["begin", "settle"]];
        let kept = [begun, paid, paid, paid, &["undo", "note"]].concat();
        assert_eq!(kinds(&*store).await, kept);
        // The key that still holds its act is gone with its time; the others are open.
        let before = later(bed, KEEP.key_ms as i64) + 1_000;
        assert_eq!(store.purge().await.unwrap(), 1);
        store.note("acme", "note", json!("the newest")).await.unwrap();
        bed.clock.advance(48 * 3_600_000);
        assert_eq!(forget(&*store, before).await.calls, 1);
        assert_eq!(calls(&*store).await, ["call of lost"]);
        let said = Resolve { happened: true, by: "p".into(), note: String::new(), result: None };
        store.resolve("acme", "call of lost", said).await.unwrap();
        let before = later(bed, 2 * KEEP.key_ms as i64) + 48 * 3_600_000;
        store.purge().await.unwrap();
        bed.clock.advance(48 * 3_600_000);
        store.note("acme", "note", json!("the newest")).await.unwrap();
        forget(&*store, before).await;
        assert_eq!(calls(&*store).await, Vec::<String>::new());
        let (_, forgotten) = trail(&*store).await;
        assert!(forgotten >= 4, "{forgotten}");
        let open = store.effect("acme", "call of running").await.unwrap();
        assert_eq!(open.state, State::Started);
    }

    what_is_configured_is_never_forgotten(bed) {
        let store = bed.open();
        for from in 0..3 {
            record(&*store, &format!("c{from}")).await;
            store.change(change(from)).await.unwrap();
        }
        let before = later(bed, 1_000);
        record(&*store, "newest").await;
        assert_eq!(forget(&*store, before).await.entries, 3);
        assert_eq!(kinds(&*store).await, ["config", "config", "config", "call"]);
        assert_eq!(trail(&*store).await, (4, 3));
    }

    questions_go_when_their_time_is_over_and_not_before(bed) {
        let store = bed.open();
        let ines = Principal::user("ines");
        let asked = |id: &str, expires_at_ms| Confirmation {
            expires_at_ms, ..confirmation(id, id)
        };
        for (id, expires_at_ms) in [("over", START + 10), ("open", START + 100_000), ("denied", START + 100_000)] {
            ask(&*store, asked(id, expires_at_ms)).await.unwrap();
        }
        store.decide("acme", "over", true, &ines).await.unwrap();
        store.decide("acme", "denied", false, &ines).await.unwrap();
        let before = later(bed, 1_000);
        record(&*store, "newest").await;
        let went = forget(&*store, before).await;
        assert_eq!((went.confirmations, went.entries), (1, 1));
        assert_eq!(store.confirmation("acme", "over").await, Err(StoreError::Missing));
        for id in ["open", "denied"] {
            assert!(store.confirmation("acme", id).await.is_ok(), "{id}");
        }
        bed.clock.advance(48 * 3_600_000);
        let went = forget(&*store, before).await;
        assert_eq!((went.confirmations, went.entries), (2, 1));
    }

    who_approved_an_effect_stays_as_long_as_the_effect_does(bed) {
        let store = bed.open();
        ask(&*store, confirmation("c", "b")).await.unwrap();
        store.decide("acme", "c", true, &Principal::user("ines")).await.unwrap();
        let ticket = fresh(&*store, spending("k", "c", "b")).await;
        settle(&*store, &ticket, State::Succeeded, None).await;
        // The question's time is over; the key still holds its act.
        let before = later(bed, 200_000);
        store.note("acme", "note", json!("the newest")).await.unwrap();
        assert_eq!(forget(&*store, before).await, Forgotten::default());
        let kept = ["confirmation", "confirmation", "begin", "settle", "note"];
        assert_eq!(kinds(&*store).await, kept);
        let asked = store.confirmation("acme", "c").await.unwrap();
        assert_eq!(asked.decided_by, Some(Principal::user("ines")));
        bed.clock.advance(KEEP.key_ms as i64);
        assert_eq!(store.purge().await.unwrap(), 1);
        bed.clock.advance(48 * 3_600_000);
        let went = forget(&*store, before).await;
        assert_eq!((went.entries, went.confirmations), (4, 1));
    }

    sessions_go_when_nobody_has_used_them(bed) {
        let store = bed.open();
        let of = |id: &str| Session { id: id.into(), ..session() };
        for id in ["idle", "used", "s1"] {
            store.save(of(id)).await.unwrap();
        }
        // The effect of this one is in the ledger.
        settled(&*store, claim("k"), State::Succeeded).await;
        let before = later(bed, 1_000);
        store.save(Session { revision: 1, ..of("used") }).await.unwrap();
        store.save(Session { created_at_ms: before, ..of("new") }).await.unwrap();
        assert_eq!(forget(&*store, before).await.sessions, 1);
        assert_eq!(store.session("acme", "idle").await, Err(StoreError::Missing));
        for id in ["used", "s1", "new"] {
            assert!(store.session("acme", id).await.is_ok(), "{id}");
        }
    }

    many_go_in_small_steps_and_leave_one_gap(bed) {
        let store = bed.open();
        for n in 0..700 {
            store.record(call_record(&format!("c{n}"), "a", 1).into());
        }
        store.flush().await.unwrap();
        let before = later(bed, 1_000);
        record(&*store, "newest").await;
        let first = store.forget(before).await.unwrap();
        assert!(first.entries > 0);
        // Others write in between.
        record(&*store, "between").await;
        forget(&*store, before).await;
        assert_eq!(trail(&*store).await, (2, 700));
        assert_eq!(calls(&*store).await, ["between", "newest"]);
    }
}
