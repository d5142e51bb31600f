//! Undoing: step by step, once.

use haft_core::contract::SideEffectPolicy as Class;
use haft_core::ledger::State;
use haft_core::port::{Resolve, StoreError, Undo};
use serde_json::json;

use crate::bed::{claim, contract, fresh, kinds, of_class, settled, word};

fn begin() -> Undo {
    Undo::Begin { by: "user:ines".into() }
}

fn done() -> Undo {
    Undo::Done { by: "undo call".into(), result: json!({ "refunded": 12 }) }
}

fn stuck() -> Undo {
    Undo::Stuck { why: "the bank is closed".into() }
}

contract! {
    an_effect_is_undone_once(bed) {
        let store = bed.open();
        settled(&*store, of_class("k", Class::Compensatable), State::Succeeded).await;
        let undoing = store.undo("acme", "call of k", begin()).await.unwrap();
        assert_eq!(undoing.state, State::Compensating);
        assert_eq!(undoing.compensation_id, None, "no call has undone it yet");
        let second = store.undo("acme", "call of k", begin()).await;
        assert!(matches!(second, Err(StoreError::WrongState(_))), "{second:?}");
        let undone = store.undo("acme", "call of k", done()).await.unwrap();
        assert_eq!(undone.state, State::Compensated);
        assert_eq!(undone.compensation_result, Some(json!({ "refunded": 12 })));
        assert_eq!(undone.compensation_id.as_deref(), Some("undo call"));
        assert_eq!(store.effect("acme", "call of k").await.unwrap(), undone);
        for step in [begin(), done(), stuck(), Undo::Back] {
            let refused = store.undo("acme", "call of k", step).await;
            assert!(matches!(refused, Err(StoreError::WrongState(_))), "{refused:?}");
        }
        assert_eq!(word(&store.claim(of_class("k", Class::Compensatable)).await.unwrap()), "answered");
        assert_eq!(kinds(&*store).await, ["begin", "settle", "undo", "undo"]);
    }

    undoing_that_is_stuck_can_be_begun_again_by_a_person(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Succeeded).await;
        store.undo("acme", "call of k", begin()).await.unwrap();
        let is_stuck = store.undo("acme", "call of k", stuck()).await.unwrap();
        assert_eq!(is_stuck.state, State::Stuck);
        assert_eq!(is_stuck.compensation_result, Some(json!({ "stuck": "the bank is closed" })));
        let back = store.undo("acme", "call of k", Undo::Back).await.unwrap();
        assert_eq!((back.state, back.compensation_id), (State::Succeeded, None));
        store.undo("acme", "call of k", begin()).await.unwrap();
    }

    what_was_said_to_have_happened_goes_back_to_that(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Unknown).await;
        let said = Resolve { happened: true, by: "p".into(), note: String::new(), result: None };
        store.resolve("acme", "call of k", said).await.unwrap();
        store.undo("acme", "call of k", begin()).await.unwrap();
        let back = store.undo("acme", "call of k", Undo::Back).await.unwrap();
        assert_eq!(back.state, State::Happened);
    }

    what_is_not_done_is_not_undone(bed) {
        let store = bed.open();
        fresh(&*store, claim("running")).await;
        settled(&*store, claim("failed"), State::Failed).await;
        settled(&*store, claim("lost"), State::Unknown).await;
        for key in ["running", "failed", "lost"] {
            for step in [begin(), done(), stuck(), Undo::Back] {
                let refused = store.undo("acme", &format!("call of {key}"), step).await;
                assert!(matches!(refused, Err(StoreError::WrongState(_))), "{key}");
            }
        }
        assert_eq!(store.undo("acme", "no call", begin()).await, Err(StoreError::Missing));
        assert_eq!(store.undo("other", "call of lost", begin()).await, Err(StoreError::Missing));
    }

    an_undoing_is_not_undone(bed) {
        let store = bed.open();
        let mut undoing = claim("k");
        undoing.effect.compensates = Some("another call".into());
        settled(&*store, undoing, State::Succeeded).await;
        let refused = store.undo("acme", "call of k", begin()).await;
        assert!(matches!(refused, Err(StoreError::WrongState(_))), "{refused:?}");
    }
}
