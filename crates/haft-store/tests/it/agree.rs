//! What was edited in the ledger, or is gone from it before its time, does not fit the trail.

use haft_core::Principal;
use haft_core::ledger::State;
use haft_core::port::{Journal as _, Ledger as _, Resolve, Store as _, StoreError, Undo};
use haft_store::Sqlite;
use haft_store::trail::Fault;
use serde_json::json;

use crate::bed::{Bed, KEEP, LEASE, claim, ending, fresh, kinds, word};
use crate::trail::{touch, verdict};

/// One that was done, one of which nobody knows, one that failed and was then done.
async fn effects(store: &Sqlite) {
    for (key, state) in [("done", State::Succeeded), ("open", State::Unknown)] {
        let ticket = fresh(store, claim(key)).await;
        store.settle(&ticket, ending(state, Some(json!({ "of": key }))), None).await.unwrap();
    }
    for (call, state) in [("first", State::Failed), ("second", State::Succeeded)] {
        let mut again = claim("again");
        again.effect.call = call.to_owned();
        let ticket = fresh(store, again).await;
        store.settle(&ticket, ending(state, None), None).await.unwrap();
    }
}

/// What is compared is what is stored, sealed or not.
const BEDS: [fn() -> Bed; 2] = [Bed::sqlite, Bed::sealed];

/// `effects`, and one that is being carried out: entries 1 to 9.
async fn with_a_running_one(store: &Sqlite) {
    effects(store).await;
    fresh(store, claim("running")).await;
}

/// Whatever was made of a ledger is named, and stops its tenant's effects and nobody else's.
async fn check(edits: &[(&str, u64)], fault: Fault) {
    for (bed, (sql, entry)) in BEDS.iter().flat_map(|bed| edits.iter().map(move |edit| (bed, edit)))
    {
        let bed = bed();
        with_a_running_one(&bed.open_sqlite(|_| ())).await;
        assert!(verdict(&bed).is_ok());
        touch(&bed, sql);
        let broken = verdict(&bed).unwrap_err();
        assert_eq!((broken.fault, broken.number), (fault, *entry), "{sql}");
        let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
        let refused = store.claim(claim("other")).await.unwrap_err();
        assert!(matches!(refused, StoreError::Tampered(_)), "{sql}: {refused}");
        let mut elsewhere = claim("elsewhere");
        elsewhere.effect.tenant = "other".to_owned();
        assert_eq!(
            word(&store.claim(elsewhere).await.unwrap()),
            "fresh 1",
            "{sql}: its own affair"
        );
    }
}

#[tokio::test]
async fn a_ledger_that_was_edited_or_cut_does_not_fit_the_trail() {
    let edits = [
        ("UPDATE effects SET state = 'failed' WHERE call = 'call of done'", 2),
        ("UPDATE effects SET state = 'started' WHERE call = 'call of done'", 2),
        ("UPDATE effects SET state = 'undone' WHERE call = 'call of done'", 2),
        ("UPDATE effects SET call = 'call_other' WHERE call = 'call of done'", 2),
        ("UPDATE effects SET key = zeroblob(32) WHERE call = 'call of done'", 2),
        ("UPDATE effects SET key = x'00' WHERE call = 'call of done'", 2),
        ("UPDATE effects SET effect = effect || ' ' WHERE id = 2", 4),
        ("UPDATE effects SET result = '{\"of\":\"bo\"}' WHERE call = 'call of open'", 4),
        ("UPDATE effects SET result = '1' WHERE call = 'second'", 8),
        ("UPDATE effects SET result = NULL WHERE call = 'call of done'", 2),
        ("UPDATE effects SET result = NULL, due_at_ms = ended_at_ms + 600000 WHERE id = 1", 2),
        ("UPDATE effects SET intents = '[]' WHERE call = 'call of done'", 2),
        ("UPDATE effects SET error = '{}' WHERE call = 'second'", 8),
        // It would be forgotten, and could be done again.
        ("UPDATE effects SET due_at_ms = 0 WHERE call = 'call of done'", 2),
        ("UPDATE effects SET due_at_ms = NULL WHERE call = 'call of done'", 2),
        ("UPDATE effects SET due_at_ms = 0 WHERE call = 'call of open'", 4),
        ("UPDATE effects SET keep_key_ms = 0, due_at_ms = ended_at_ms WHERE id = 1", 2),
        ("UPDATE effects SET ended_at_ms = 0, due_at_ms = 60000 WHERE id = 1", 2),
        // Another act under its key, the same act under another.
        ("UPDATE effects SET fingerprint = zeroblob(32) WHERE call = 'call of done'", 2),
        ("UPDATE effects SET act = zeroblob(32) WHERE call = 'call of open'", 4),
        ("UPDATE effects SET tenant = 'other' WHERE call = 'call of open'", 4),
        ("UPDATE effects SET session = NULL WHERE call = 'call of open'", 4),
        // What it is undone with.
        ("UPDATE effects SET part_of = zeroblob(32) WHERE call = 'call of open'", 4),
        ("UPDATE effects SET deed = NULL, part_of = deed WHERE call = 'call of open'", 4),
        ("UPDATE effects SET confirmation = 'c' WHERE call = 'call of done'", 2),
        // It could be begun again.
        ("UPDATE effects SET class = 'pure' WHERE call = 'call of open'", 4),
        ("UPDATE effects SET class = 'pure' WHERE call = 'call of running'", 9),
        ("UPDATE effects SET state = 'failed' WHERE call = 'call of running'", 9),
        ("UPDATE effects SET lease_until_ms = 0 WHERE call = 'call of running'", 9),
        ("UPDATE effects SET owner = zeroblob(16) WHERE call = 'call of running'", 9),
        (
            "UPDATE effects SET state = 'started', class = 'pure', call = 'call_other', \
             started_at_ms = 0 WHERE call = 'call of done'",
            2,
        ),
        // One that was never begun.
        (
            "CREATE TABLE aside AS SELECT * FROM effects WHERE call = 'call of running'; \
             UPDATE aside SET id = 9, key = zeroblob(32), call = 'call_other'; \
             INSERT INTO effects SELECT * FROM aside",
            0,
        ),
    ];
    check(&edits, Fault::Ledger).await;
    let cuts = [
        ("DELETE FROM effects WHERE call = 'call of open'", 4),
        ("DELETE FROM effects WHERE call = 'second'", 8),
        ("DELETE FROM effects WHERE call = 'call of running'", 9),
        ("DELETE FROM effects", 2),
    ];
    check(&cuts, Fault::Removed).await;
}

#[tokio::test]
async fn what_was_changed_and_what_was_removed_is_told_apart() {
    for (sql, said) in [
        ("UPDATE effects SET state = 'failed' WHERE id = 1", "entry 2 says: it was changed"),
        ("UPDATE effects SET key = x'00' WHERE id = 1", "entry 2 says: it was changed"),
        ("DELETE FROM effects WHERE id = 1", "entry 2 tells of: it was removed"),
    ] {
        let bed = Bed::sqlite();
        effects(&bed.open_sqlite(|_| ())).await;
        touch(&bed, sql);
        let broken = verdict(&bed).unwrap_err().to_string();
        assert!(broken.ends_with(said), "{sql}: {broken}");
    }
}

#[tokio::test]
async fn what_goes_in_its_time_is_no_fault() {
    for bed in BEDS {
        forgotten_and_undone(&bed()).await;
    }
}

async fn forgotten_and_undone(bed: &Bed) {
    let store = bed.open_sqlite(|_| ());
    effects(&store).await;
    // The answers, then the entries; what is open stays.
    for (ms, gone) in [(KEEP.result_ms, 0), (KEEP.key_ms, 2)] {
        bed.clock.advance(i64::try_from(ms).unwrap());
        assert_eq!(store.purge().await, Ok(gone));
        assert!(verdict(bed).is_ok(), "{ms}");
    }
    let said =
        |happened| Resolve { happened, by: "user:ines".into(), note: "x".into(), result: None };
    store.resolve("acme", "call of open", said(true)).await.unwrap();
    assert!(verdict(bed).is_ok());
    store.undo("acme", "call of open", Undo::Begin { by: "user:ines".into() }).await.unwrap();
    touch(bed, "CREATE TABLE aside AS SELECT * FROM effects; DELETE FROM effects");
    assert_eq!(verdict(bed).unwrap_err().number, 11, "what is being undone has to be there");
    touch(bed, "INSERT INTO effects SELECT * FROM aside");
    let done = Undo::Done { by: "call_undo".into(), result: json!(1) };
    store.undo("acme", "call of open", done).await.unwrap();
    assert!(verdict(bed).is_ok());
}

#[tokio::test]
async fn every_tenant_whose_effects_were_touched_is_stopped() {
    let bed = Bed::sqlite();
    let of = |tenant: &str, key: &str| {
        let mut claim = claim(&format!("{key} of {tenant}"));
        tenant.clone_into(&mut claim.effect.tenant);
        claim
    };
    for tenant in ["acme", "other", "third"] {
        fresh(&bed.open_sqlite(|_| ()), of(tenant, "one")).await;
    }
    touch(&bed, "UPDATE effects SET class = 'pure' WHERE tenant <> 'third'");
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    for (tenant, stopped) in [("acme", true), ("other", true), ("third", false)] {
        assert_eq!(store.claim(of(tenant, "two")).await.is_err(), stopped, "{tenant}");
    }
}

async fn is_stopped(store: &Sqlite) -> bool {
    match store.claim(claim("next")).await {
        Err(StoreError::Tampered(_)) => true,
        claimed => {
            assert!(matches!(
                word(&claimed.unwrap()).as_str(),
                "fresh 1" | "in flight" | "unknown"
            ));
            false
        }
    }
}

/// Also of what came about before somebody looked, and of what the trail does not know.
#[tokio::test]
async fn what_is_edited_after_somebody_has_looked_is_noticed() {
    let stranger = |n: u8| {
        format!(
            "CREATE TABLE aside{n} AS SELECT * FROM effects WHERE call = 'call of done'; \
             UPDATE aside{n} SET id = 9{n}, key = randomblob(32), call = 'stranger {n}'; \
             INSERT INTO effects SELECT * FROM aside{n}"
        )
    };
    let set = |id: &str| {
        format!("INSERT INTO configs VALUES ('policy', 'acme', '{id}', 1, '{{}}', 0, 'user:eve')")
    };
    let edits = [
        "DELETE FROM effects WHERE call = 'call of open'".to_owned(),
        stranger(1),
        stranger(2),
        "UPDATE effects SET state = 'failed' WHERE call = 'call of done'".to_owned(),
        "UPDATE effects SET state = 'unknown' WHERE call = 'call of done'".to_owned(),
        "DELETE FROM effects WHERE call = 'second'".to_owned(),
        set("one"),
        set("two"),
        "UPDATE configs SET body = '[]' WHERE id = 'one'".to_owned(),
    ];
    let bed = Bed::sqlite();
    effects(&bed.open_sqlite(|_| ())).await;
    for edit in &edits {
        touch(&bed, edit);
        {
            let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
            assert!(is_stopped(&store).await, "{edit}");
            store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
            assert!(!is_stopped(&store).await, "{edit}");
        }
        let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
        assert!(!is_stopped(&store).await, "{edit}");
        assert_eq!(verdict(&bed).unwrap_err().tenant.as_deref(), Some("acme"), "still told");
    }
}

/// What somebody has looked at goes in its time like anything else, and that is nothing new.
#[tokio::test]
async fn what_somebody_has_looked_at_may_be_forgotten() {
    let bed = Bed::sqlite();
    let keep = i64::try_from(KEEP.key_ms).unwrap();
    effects(&bed.open_sqlite(|_| ())).await;
    let edit = "UPDATE effects SET state = 'failed', due_at_ms = ended_at_ms + 600000 WHERE id = 2";
    touch(&bed, edit);
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    assert!(is_stopped(&store).await);
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    bed.clock.advance(keep);
    assert_eq!(store.purge().await, Ok(3));
    drop(store);
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    assert!(!is_stopped(&store).await);
    drop(store);
    // Whoever changes what was said hides nothing.
    touch(&bed, "UPDATE audit SET body = body || ' ' WHERE kind = 'acknowledge'");
    assert!(
        is_stopped(&bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole)).await
    );
}

/// The trail is kept for as long as keys are, and forgets while an effect has begun that long ago and
/// not ended that long ago.
#[tokio::test]
async fn an_effect_that_went_in_its_time_leaves_no_word_that_it_has_to_be_there() {
    let (keep, day) = (i64::try_from(KEEP.key_ms).unwrap(), 86_400_000);
    for (bed, first) in BEDS.iter().flat_map(|bed| [(bed, None), (bed, Some(State::Unknown))]) {
        let bed = bed();
        let store = bed.open_sqlite(|_| ());
        let ticket = fresh(&store, claim("long")).await;
        if let Some(first) = first {
            store.settle(&ticket, ending(first, None), None).await.unwrap();
        }
        bed.clock.advance(LEASE - 1);
        store.settle(&ticket, ending(State::Succeeded, None), None).await.unwrap();
        // What is signed later is no entry more.
        store.checkpoint(&Sqlite::signing_key(&bed.path()).unwrap()).await.unwrap();
        store.note("acme", "note", json!("the newest entry stays")).await.unwrap();
        let written = kinds(&store).await;
        for (ms, gone, rest) in [
            (keep - LEASE + 2, 0, &written[..]),
            (LEASE, 1, &written[..]),
            (day, 0, &written[written.len() - 1..]),
        ] {
            bed.clock.advance(ms);
            assert_eq!(store.purge().await, Ok(gone));
            while store.forget(store.now_ms() - keep).await.unwrap().more {}
            assert!(verdict(&bed).is_ok(), "{first:?} {ms}: {:?}", verdict(&bed));
            assert_eq!(kinds(&store).await, rest, "{first:?} {ms}");
        }
    }
}

#[tokio::test]
async fn what_somebody_has_looked_at_does_not_hide_what_comes_later() {
    let bed = Bed::sqlite();
    effects(&bed.open_sqlite(|_| ())).await;
    touch(&bed, "DELETE FROM effects");
    {
        let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
        assert!(store.claim(claim("next")).await.is_err());
        store.acknowledge(&Principal::user("ines"), "a restored backup").await.unwrap();
        let ticket = fresh(&store, claim("next")).await;
        store.settle(&ticket, ending(State::Succeeded, None), None).await.unwrap();
    }
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    assert_eq!(word(&store.claim(claim("more")).await.unwrap()), "fresh 1");
    drop(store);
    let known = verdict(&bed).unwrap_err();
    touch(&bed, "DELETE FROM effects WHERE call = 'call of next'");
    let told = verdict(&bed).unwrap_err();
    assert!(told.number > known.number, "what nobody has looked at is told: {told}");
    let store = bed.open_sqlite(|options| options.verify = haft_store::Verify::Whole);
    let refused = store.claim(claim("other")).await.unwrap_err();
    assert!(matches!(refused, StoreError::Tampered(_)), "{refused}");
}
