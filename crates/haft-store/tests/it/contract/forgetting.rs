//! Time: what is forgotten when, and what never.

use haft_core::Principal;
use haft_core::ledger::{Claimed, State, Unspendable};
use haft_core::port::{Resolve, StoreError, Undo};

use crate::bed::{KEEP, START, ask, claim, confirmation, contract, fresh, settled, spending, word};

contract! {
    a_body_is_gone_at_its_time_and_the_key_stays(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Succeeded).await;
        bed.clock.advance(KEEP.result_ms as i64 - 1);
        store.purge().await.unwrap();
        let Claimed::Answered(record) = store.claim(claim("k")).await.unwrap() else { panic!() };
        assert!(record.result.is_some());
        bed.clock.advance(1);
        for purged in [false, true] {
            let Claimed::Answered(record) = store.claim(claim("k")).await.unwrap() else {
                panic!()
            };
            assert_eq!((record.result, record.state), (None, State::Succeeded), "{purged}");
            assert_eq!(store.purge().await.unwrap(), 0, "the entry itself stays");
        }
        assert_eq!(store.effect("acme", "call of k").await.unwrap().result, None);
    }

    an_entry_is_gone_at_its_time(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Succeeded).await;
        settled(&*store, claim("failed"), State::Failed).await;
        bed.clock.advance(KEEP.key_ms as i64 - 1);
        assert_eq!(store.purge().await.unwrap(), 0);
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "answered");
        bed.clock.advance(1);
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "answered", "until purged");
        assert_eq!(store.purge().await.unwrap(), 2);
        assert_eq!(store.effect("acme", "call of k").await, Err(StoreError::Missing));
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
    }

    what_is_open_is_never_forgotten(bed) {
        let store = bed.open();
        fresh(&*store, claim("running")).await;
        settled(&*store, claim("lost"), State::Unknown).await;
        for key in ["undoing", "stuck"] {
            settled(&*store, claim(key), State::Succeeded).await;
            let call = format!("call of {key}");
            store.undo("acme", &call, Undo::Begin { by: "u".into() }).await.unwrap();
        }
        let stuck = Undo::Stuck { why: "w".into() };
        store.undo("acme", "call of stuck", stuck).await.unwrap();
        bed.clock.advance(10 * KEEP.key_ms as i64);
        assert_eq!(store.purge().await.unwrap(), 0);
        let said = Resolve { happened: true, by: "p".into(), note: String::new(), result: None };
        store.resolve("acme", "call of lost", said).await.unwrap();
        store.undo("acme", "call of stuck", Undo::Back).await.unwrap();
        assert_eq!(store.purge().await.unwrap(), 1, "what went back to done long ago");
        bed.clock.advance(KEEP.key_ms as i64);
        assert_eq!(store.purge().await.unwrap(), 1, "what was settled by hand since");
    }

    many_entries_are_forgotten_at_once(bed) {
        let store = bed.open();
        for n in 0..600 {
            settled(&*store, claim(&format!("k{n}")), State::Failed).await;
        }
        bed.clock.advance(KEEP.key_ms as i64);
        assert_eq!(store.purge().await.unwrap(), 600);
    }

    a_clock_that_goes_back_a_day_revives_nothing(bed) {
        let day = 86_400_000;
        let store = bed.open();
        ask(&*store, confirmation("c", "b")).await.unwrap();
        store.decide("acme", "c", true, &Principal::user("ines")).await.unwrap();
        settled(&*store, claim("k"), State::Succeeded).await;
        bed.clock.advance(200_000);
        let seen = store.now_ms();
        assert_eq!(seen, START + 200_000);
        store.note("acme", "note", serde_json::json!(1)).await.unwrap();
        drop(store);
        bed.clock.set_wall(START - day);
        let store = bed.open();
        assert!(store.now_ms() >= seen);
        let claimed = store.claim(spending("other", "c", "b")).await.unwrap();
        assert_eq!(claimed, Claimed::Unspendable(Unspendable::Expired));
        let Claimed::Answered(record) = store.claim(claim("k")).await.unwrap() else { panic!() };
        assert_eq!(record.result, None, "an expired body stays expired");
        bed.clock.advance(5);
        assert_eq!(store.now_ms(), seen + 5, "and time goes on");
    }
}
