//! Outcomes: which of them count.

use haft_core::error::{ErrorKind, ToolError};
use haft_core::ledger::{Ending, Settled, State};
use haft_core::outcome::Intent;
use haft_core::port::{CallFilter, StoreError};
use serde_json::json;

use crate::bed::{
    LEASE, START, call_record, claim, contract, ending, fresh, kinds, of_class, settle, settled,
    word,
};
use haft_core::contract::SideEffectPolicy as Class;

contract! {
    an_outcome_is_there_with_everything_in_it(bed) {
        let store = bed.open();
        let ticket = fresh(&*store, claim("k")).await;
        bed.clock.advance(250);
        let ending = Ending {
            state: State::Unknown,
            result: Some(json!([1, "two"])),
            error: Some(ToolError::new(ErrorKind::Timeout, "no answer in time")),
            intents: vec![Intent::SuppressAudio { value: true }],
        };
        let call = call_record("call of k", "core__pay", 5);
        assert_eq!(
            store.settle(&ticket, ending.clone(), Some(call.clone())).await.unwrap(),
            Settled::Written
        );
        let record = store.effect("acme", "call of k").await.unwrap();
        assert_eq!((record.state, record.result), (ending.state, ending.result));
        assert_eq!((record.error, record.intents), (ending.error, ending.intents));
        assert_eq!(record.ended_at_ms, Some(START + 250));
        let filter = CallFilter { tenant: "acme".into(), ..CallFilter::default() };
        assert_eq!(store.calls(filter).await.unwrap(), [call]);
        assert_eq!(kinds(&*store).await, ["begin", "settle"]);
    }

    only_the_first_outcome_counts_and_later_ones_are_in_the_trail(bed) {
        let store = bed.open();
        let ticket = fresh(&*store, claim("k")).await;
        settle(&*store, &ticket, State::Succeeded, Some(json!("first"))).await;
        for (state, settled) in [
            (State::Succeeded, Settled::Again),
            (State::Failed, Settled::TooLate(State::Succeeded)),
            (State::Unknown, Settled::TooLate(State::Succeeded)),
        ] {
            let late = store.settle(&ticket, ending(state, Some(json!("late"))), None).await;
            assert_eq!(late.unwrap(), settled);
        }
        let record = store.effect("acme", "call of k").await.unwrap();
        assert_eq!(record.result, Some(json!("first")));
        assert_eq!(kinds(&*store).await, ["begin", "settle", "late", "late", "late"]);
        let trail = store.audit(3, 1).await.unwrap();
        assert!(trail[0].body.contains("\"late\":{\"found\":\"succeeded\",\"result\":\"late\""));
    }

    an_attempt_that_was_replaced_loses(bed) {
        let store = bed.open();
        let slow = fresh(&*store, of_class("k", Class::Idempotent)).await;
        bed.clock.advance(LEASE);
        let second = fresh(&*store, of_class("k", Class::Idempotent)).await;
        let late = store.settle(&slow, ending(State::Succeeded, Some(json!(1))), None).await;
        assert_eq!(late.unwrap(), Settled::TooLate(State::Started));
        settle(&*store, &second, State::Succeeded, Some(json!(2))).await;
        let record = store.effect("acme", "call of k").await.unwrap();
        assert_eq!(record.result, Some(json!(2)));
        // Although it ended in the same: that was not written by this one.
        let late = store.settle(&slow, ending(State::Succeeded, Some(json!(1))), None).await;
        assert_eq!(late.unwrap(), Settled::TooLate(State::Succeeded));
    }

    a_late_success_ends_an_unknown_and_a_late_failure_does_not(bed) {
        let store = bed.open();
        let (good, bad) = (fresh(&*store, claim("good")).await, fresh(&*store, claim("bad")).await);
        bed.clock.advance(LEASE);
        for key in ["good", "bad"] {
            assert_eq!(word(&store.claim(claim(key)).await.unwrap()), "unknown");
        }
        settle(&*store, &good, State::Succeeded, Some(json!("at last"))).await;
        let late = store.settle(&bad, ending(State::Failed, None), None).await.unwrap();
        assert_eq!(late, Settled::TooLate(State::Unknown));
        assert_eq!(word(&store.claim(claim("good")).await.unwrap()), "answered");
        assert_eq!(word(&store.claim(claim("bad")).await.unwrap()), "unknown");
    }

    an_attempt_ends_in_one_of_three_ways(bed) {
        let store = bed.open();
        let ticket = fresh(&*store, claim("k")).await;
        for state in State::ALL {
            if matches!(state, State::Succeeded | State::Failed | State::Unknown) {
                continue;
            }
            let refused = store.settle(&ticket, ending(state, None), None).await;
            assert!(matches!(refused, Err(StoreError::WrongState(_))), "{state:?}");
        }
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "in flight");
        assert_eq!(kinds(&*store).await, ["begin"]);
    }

    what_was_never_claimed_is_not_settled(bed) {
        let store = bed.open();
        let mut ticket = fresh(&*store, claim("k")).await;
        ticket.key = crate::bed::digest("other");
        let missing = store.settle(&ticket, ending(State::Failed, None), None).await;
        assert_eq!(missing, Err(StoreError::Missing));
    }

    a_settled_effect_outlives_its_process(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Succeeded).await;
        drop(store);
        let store = bed.open();
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "answered");
        assert!(store.recover().await.unwrap().is_empty());
    }
}
