//! A clock that jumps: what must not follow from it.

use haft_core::Principal;
use haft_core::ledger::{Claimed, State, Unspendable};
use haft_core::record::Confirmation;

use crate::bed::{
    Bed, LEASE, START, ask, claim, confirmation, contract, fresh, settled, spending, word,
};

const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * 60 * MINUTE;
const YEAR: i64 = 365 * DAY;

/// Lets time pass, and the store look at its clock every minute.
async fn pass(bed: &Bed, store: &dyn haft_core::port::Store, minutes: i64) {
    for _ in 0..minutes {
        bed.clock.advance(MINUTE);
        store.note("acme", "note", serde_json::json!("tick")).await.unwrap();
    }
}

contract! {
    a_clock_that_jumps_for_a_moment_forgets_nothing_and_ends_no_lease(bed) {
        for jump in [100 * DAY, YEAR, -YEAR] {
            let store = bed.open();
            bed.clock.set_wall(store.now_ms());
            let key = format!("k{jump}");
            settled(&*store, claim(&key), State::Succeeded).await;
            let running = fresh(&*store, claim(&format!("running{jump}"))).await;
            let seen = store.now_ms();
            bed.clock.set_wall(seen + jump);
            assert_eq!(store.now_ms(), seen, "{jump}");
            assert_eq!(store.condition().clock_off_ms, Some(jump));
            assert_eq!(store.purge().await.unwrap(), 0, "{jump}");
            match store.forget(store.now_ms()).await {
                Ok(went) => assert!(jump > 0 && !went.anything(), "{jump}"),
                // So far ahead of the machine's clock the store says that it does not know.
                Err(why) => assert!(jump < 0, "{jump}: {why}"),
            }
            assert!(store.recover().await.unwrap().is_empty(), "{jump}");
            bed.clock.set_wall(seen);
            assert_eq!(store.condition().clock_off_ms, None);
            assert_eq!(word(&store.claim(claim(&key)).await.unwrap()), "answered", "{jump}");
            crate::bed::settle(&*store, &running, State::Succeeded, None).await;
            drop(store);
            assert_eq!(bed.open().now_ms(), seen, "and the store is not of another time");
        }
    }

    a_clock_that_is_believed_forgets_nothing_before_it_is_trusted(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Succeeded).await;
        bed.clock.set_wall(START + YEAR);
        pass(bed, &*store, 11).await;
        assert_eq!(store.now_ms(), START + YEAR + 11 * MINUTE);
        let kept = store.audit(0, 1_000).await.unwrap().len();
        assert_eq!(store.purge().await.unwrap(), 1, "what was due all the same, ten minutes later");
        settled(&*store, claim("k"), State::Succeeded).await;
        assert!(!store.forget(START + YEAR).await.unwrap().anything(), "a year is in doubt");
        assert!(store.audit(0, 1_000).await.unwrap().len() > kept);
        bed.clock.set_wall(START + 11 * MINUTE);
        pass(bed, &*store, 11).await;
        assert_eq!(store.now_ms(), START + 22 * MINUTE, "it was wrong, and is right again");
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "answered");
    }

    a_time_that_was_far_ahead_is_told_and_is_no_fault_of_the_trail(bed) {
        let store = bed.open();
        pass(bed, &*store, 1).await;
        assert_eq!(store.verify().await.unwrap().warning, None);
        bed.clock.set_wall(START + YEAR);
        pass(bed, &*store, 11).await;
        assert_eq!(store.verify().await.unwrap().warning, None, "so far nobody knows better");
        bed.clock.set_wall(START + 12 * MINUTE);
        for (minutes, store_is_ahead) in [(0, true), (11, false)] {
            pass(bed, &*store, minutes).await;
            let found = store.verify().await.unwrap();
            assert_eq!(found.broken, None);
            assert!(store.trusts("acme").await.is_ok());
            let told = found.warning.unwrap_or_default();
            let ahead = "the store's time is 365 days ahead";
            assert_eq!(told.contains(ahead), store_is_ahead, "{told}");
            assert!(told.contains("entries of the trail are dated up to "), "{told}");
        }
    }

    a_clock_that_was_set_right_lets_no_approval_of_the_wrong_time_hold(bed) {
        let store = bed.open();
        ask(&*store, confirmation("before", "b")).await.unwrap();
        bed.clock.set_wall(START + YEAR);
        pass(bed, &*store, 11).await;
        let asked_at_ms = store.now_ms();
        let expires_at_ms = asked_at_ms + 100_000;
        let late = Confirmation { asked_at_ms, expires_at_ms, ..confirmation("c", "c") };
        ask(&*store, late).await.unwrap();
        store.decide("acme", "c", true, &Principal::user("ines")).await.unwrap();
        bed.clock.set_wall(START + 11 * MINUTE);
        pass(bed, &*store, 11).await;
        assert_eq!(store.now_ms(), START + 22 * MINUTE);
        for (id, binding) in [("before", "b"), ("c", "c")] {
            let claimed = store.claim(spending(id, id, binding)).await.unwrap();
            assert_ne!(word(&claimed), "fresh 1", "{id}");
        }
        let claimed = store.claim(spending("other", "c", "c")).await.unwrap();
        assert_eq!(claimed, Claimed::Unspendable(Unspendable::Expired));
    }

    a_clock_that_stays_behind_revives_nothing(bed) {
        let store = bed.open();
        ask(&*store, confirmation("c", "b")).await.unwrap();
        store.decide("acme", "c", true, &Principal::user("ines")).await.unwrap();
        bed.clock.advance(8 * DAY);
        pass(bed, &*store, 1).await;
        let seen = store.now_ms();
        bed.clock.set_wall(START - YEAR);
        pass(bed, &*store, 120).await;
        assert_eq!(store.now_ms(), seen + 120 * MINUTE);
        let claimed = store.claim(spending("other", "c", "b")).await.unwrap();
        assert_eq!(claimed, Claimed::Unspendable(Unspendable::Expired));
    }

    a_time_that_was_told_is_not_taken_back_by_whoever_opens_the_store_next(bed) {
        for passed in [1, 400, 999, 1_000, 1_600, 700] {
            let store = bed.open();
            store.note("acme", "note", serde_json::json!("first")).await.unwrap();
            bed.clock.advance(passed);
            store.note("acme", "note", serde_json::json!("then")).await.unwrap();
            let told = store.now_ms();
            drop(store);
            bed.clock.set_wall(told - passed);
            assert_eq!(bed.open().now_ms(), told, "{passed}");
            bed.clock.set_wall(told);
        }
    }

    a_lease_ends_by_the_ticks_while_the_clock_is_wrong(bed) {
        let store = bed.open();
        fresh(&*store, claim("k")).await;
        bed.clock.set_wall(START - YEAR);
        bed.clock.advance(LEASE);
        assert_eq!(store.recover().await.unwrap().len(), 1);
    }
}
