//! Claims: who may carry an effect out.

use haft_core::contract::SideEffectPolicy as Class;
use haft_core::ledger::{Claim, Claimed, OtherKey, State};
use haft_core::port::StoreError;
use serde_json::json;

use crate::bed::{LEASE, START, claim, contract, digest, fresh, of_class, settle, settled, word};

/// A claim of what may have been begun under another key.
fn also(key: &str, other: &str) -> Claim {
    let act = digest(&format!("{} {}", key.min(other), key.max(other)));
    let other = OtherKey { key: digest(other), within_ms: None };
    Claim { other: Some(other), act, ..claim(key) }
}

contract! {
    a_key_that_nobody_used_is_fresh(bed) {
        let store = bed.open();
        let ticket = fresh(&*store, claim("k")).await;
        assert_eq!((ticket.epoch, ticket.call.as_str()), (1, "call of k"));
        let record = store.effect("acme", "call of k").await.unwrap();
        assert_eq!(record.effect, claim("k").effect);
        assert_eq!((record.key, record.fingerprint), (digest("k"), digest("arguments")));
        assert_eq!((record.state, record.epoch), (State::Started, 1));
        assert_eq!((record.started_at_ms, record.ended_at_ms), (START, None));
    }

    of_a_hundred_at_once_one_runs_and_the_others_wait(bed) {
        let (one, two) = (bed.open(), bed.open());
        let claims = (0..100).map(|n| if n % 2 == 0 { &one } else { &two }.claim(claim("k")));
        let mut words = Vec::new();
        for claimed in claims {
            words.push(word(&claimed.await.unwrap()));
        }
        words.sort();
        let mut expected = vec!["fresh 1".to_owned()];
        expected.extend(std::iter::repeat_n("in flight".to_owned(), 99));
        assert_eq!(words, expected);
    }

    what_succeeded_is_answered_with_its_result(bed) {
        let store = bed.open();
        let record = settled(&*store, claim("k"), State::Succeeded).await;
        let again = store.claim(claim("k")).await.unwrap();
        assert_eq!(again, Claimed::Answered(Box::new(record.clone())));
        assert_eq!(record.result, Some(json!({ "paid": true })));
    }

    an_answer_of_null_is_an_answer(bed) {
        let store = bed.open();
        let ticket = fresh(&*store, claim("k")).await;
        settle(&*store, &ticket, State::Succeeded, Some(json!(null))).await;
        let Claimed::Answered(record) = store.claim(claim("k")).await.unwrap() else { panic!() };
        assert_eq!(record.result, Some(json!(null)));
    }

    what_certainly_failed_may_be_tried_again_under_its_key(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Failed).await;
        let mut again = claim("k");
        again.effect.call = "second call".into();
        assert_eq!(fresh(&*store, again).await.epoch, 2);
        let record = store.effect("acme", "second call").await.unwrap();
        assert_eq!((record.state, record.epoch, record.ended_at_ms), (State::Started, 2, None));
        let earlier = store.effect("acme", "call of k").await;
        assert_eq!(earlier, Err(StoreError::Missing), "its place is taken");
    }

    a_key_with_other_arguments_is_a_conflict_whatever_became_of_it(bed) {
        let store = bed.open();
        fresh(&*store, claim("running")).await;
        settled(&*store, claim("done"), State::Succeeded).await;
        settled(&*store, claim("failed"), State::Failed).await;
        settled(&*store, claim("lost"), State::Unknown).await;
        for key in ["running", "done", "failed", "lost"] {
            let mut other = claim(key);
            other.fingerprint = digest("other arguments");
            assert_eq!(store.claim(other).await.unwrap(), Claimed::Conflict, "{key}");
        }
    }

    keys_are_told_apart(bed) {
        let store = bed.open();
        fresh(&*store, claim("a")).await;
        assert_eq!(word(&store.claim(claim("b")).await.unwrap()), "fresh 1");
    }

    what_was_begun_under_the_other_key_is_not_begun_again(bed) {
        for state in [None, Some(State::Succeeded), Some(State::Unknown), Some(State::Failed)] {
            let store = bed.open();
            let (one, two) = (format!("one {state:?}"), format!("two {state:?}"));
            let ticket = fresh(&*store, also(&one, &two)).await;
            assert_eq!(ticket.key, digest(&one));
            if let Some(state) = state {
                settle(&*store, &ticket, state, None).await;
            }
            let expected = match state {
                None => "in flight",
                Some(State::Succeeded) => "answered",
                Some(State::Unknown) => "unknown",
                Some(_) => "fresh 2",
            };
            let claimed = store.claim(also(&two, &one)).await.unwrap();
            assert_eq!(word(&claimed), expected, "{state:?}");
            // It goes on under the key that it was begun under.
            if let Claimed::Fresh(ticket) = claimed {
                assert_eq!(ticket.key, digest(&one));
            }
            assert_eq!(store.by_key(&digest(&two)).await, Err(StoreError::Missing), "{state:?}");
        }
    }

    something_else_under_the_other_key_stands_in_nobodys_way(bed) {
        let store = bed.open();
        let mut foreign = claim("one");
        foreign.fingerprint = digest("other arguments");
        fresh(&*store, foreign).await;
        assert_eq!(fresh(&*store, also("two", "one")).await.key, digest("two"));
        assert_eq!(word(&store.claim(also("two", "one")).await.unwrap()), "in flight");
    }

    an_entry_under_the_other_key_counts_for_as_long_as_is_said(bed) {
        let store = bed.open();
        settled(&*store, claim("one"), State::Succeeded).await;
        let within = |ms| {
            let mut claim = also("two", "one");
            claim.other.as_mut().unwrap().within_ms = Some(ms);
            claim
        };
        bed.clock.advance(10);
        assert_eq!(word(&store.claim(within(10)).await.unwrap()), "answered");
        assert_eq!(word(&store.claim(within(9)).await.unwrap()), "fresh 1");
    }

    a_call_of_another_tenant_is_not_seen(bed) {
        let store = bed.open();
        fresh(&*store, claim("k")).await;
        assert_eq!(store.effect("other", "call of k").await, Err(StoreError::Missing));
    }

    after_the_lease_only_what_may_be_repeated_is_repeated(bed) {
        let store = bed.open();
        let expected = [
            (Class::Pure, "fresh 2"),
            (Class::Idempotent, "fresh 2"),
            (Class::Compensatable, "unknown"),
            (Class::Irreversible, "unknown"),
        ];
        for (class, _) in expected {
            fresh(&*store, of_class(class.as_str(), class)).await;
        }
        bed.clock.advance(LEASE - 1);
        for (class, _) in expected {
            let claimed = store.claim(of_class(class.as_str(), class)).await.unwrap();
            assert_eq!(word(&claimed), "in flight", "{class:?}");
        }
        bed.clock.advance(1);
        for (class, words) in expected {
            let claimed = store.claim(of_class(class.as_str(), class)).await.unwrap();
            assert_eq!(word(&claimed), words, "{class:?}");
        }
    }

    of_a_dead_process_only_what_may_be_repeated_is_repeated(bed) {
        let (dead, store) = (bed.open(), bed.open());
        let expected = [
            (Class::Pure, "fresh 2"),
            (Class::Idempotent, "fresh 2"),
            (Class::Compensatable, "unknown"),
            (Class::Irreversible, "unknown"),
        ];
        for (class, _) in expected {
            fresh(&*dead, of_class(class.as_str(), class)).await;
        }
        drop(dead);
        for (class, words) in expected {
            let claimed = store.claim(of_class(class.as_str(), class)).await.unwrap();
            assert_eq!(word(&claimed), words, "{class:?}");
        }
    }
}
