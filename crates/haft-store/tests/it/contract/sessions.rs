//! Sessions and blocks.

use std::collections::VecDeque;

use haft_core::Principal;
use haft_core::contract::{Mode, SideEffectPolicy as Class};
use haft_core::ledger::{Claim, Place, State};
use haft_core::port::StoreError;
use haft_core::session::{Phase, Recent, Session, Turn};
use serde_json::json;

use crate::bed::{START, claim, contract, digest, fresh, of_class, settled, word};

pub(crate) fn session() -> Session {
    Session {
        id: "s1".into(),
        tenant: "acme".into(),
        agent: "assistant".into(),
        principal: Principal::user("mara"),
        mode: Mode::Voice,
        registry_version: "1.0.abcdef01".into(),
        phase: Phase::Active,
        turn: Turn {
            number: 1,
            group: "g1".into(),
            retrieval_calls: 0,
            searched: false,
            calls: 0,
            aborted: false,
            open: true,
            carry: false,
            untouched: false,
            applied: Vec::new(),
            left: None,
        },
        suppress_audio: true,
        suppress_transcript: false,
        pending_message: Some(json!({ "text": "hello" })),
        deferred: Vec::new(),
        waiting: VecDeque::from([json!("later")]),
        recent: VecDeque::new(),
        request: None,
        created_at_ms: START,
        revision: 0,
    }
}

pub(crate) fn recent(id: &str) -> Recent {
    Recent {
        id: id.to_owned(),
        fingerprint: digest("call"),
        answered: true,
        superseded: false,
        group: None,
    }
}

contract! {
    what_lost_its_place_in_the_session_is_not_begun(bed) {
        let store = bed.open();
        let entered = |id: &str| Recent {
            id: id.into(), fingerprint: digest(id), answered: false, superseded: false, group: None,
        };
        let mut saved = session();
        saved.recent.extend([entered("c1"), entered("c2")]);
        let mut saved = store.save(saved).await.unwrap();
        let place = |name: &str| Place {
            name: Some(name.into()), turn: 1, revision: Some(1), binds_attempts: true,
        };
        let placed = |key: &str, name: &str| Claim { place: Some(place(name)), ..claim(key) };
        assert_eq!(word(&store.claim(placed("as it was", "c1")).await.unwrap()), "fresh 1");
        // Something else changed: it has its place.
        saved.recent[0].superseded = true;
        let saved = store.save(saved).await.unwrap();
        assert_eq!(word(&store.claim(placed("another", "c2")).await.unwrap()), "fresh 1");
        assert_eq!(word(&store.claim(placed("gave way", "c1")).await.unwrap()), "displaced");
        // What has been begun is answered for all the same.
        assert_eq!(word(&store.claim(placed("another", "c1")).await.unwrap()), "in flight");
        let mut ended = saved.clone();
        ended.phase = Phase::Ended;
        let ended = store.save(ended).await.unwrap();
        assert_eq!(word(&store.claim(placed("ended", "c2")).await.unwrap()), "displaced");
        let mut next = Session { phase: Phase::Active, ..ended };
        next.turn.number = 2;
        store.save(next).await.unwrap();
        assert_eq!(word(&store.claim(placed("of a turn before", "c2")).await.unwrap()), "displaced");
    }

    what_lost_its_place_and_may_have_been_done_is_unknown_and_not_called_displaced(bed) {
        // Known to be in doubt, or left by a process that is gone.
        for gone in [false, true] {
            let (dead, store) = (bed.open(), bed.open());
            let idempotent = |call: &str, place: Option<Place>| {
                let mut claim = of_class(if gone { "left" } else { "told" }, Class::Idempotent);
                claim.effect.call = format!("{call} {gone}");
                Claim { place, ..claim }
            };
            let none_of_an_ended_session = |binds_attempts| Some(Place {
                name: None, turn: 1, revision: None, binds_attempts,
            });
            match gone {
                false => drop(settled(&*dead, idempotent("first", None), State::Unknown).await),
                true => drop(fresh(&*dead, idempotent("first", None)).await),
            }
            drop(dead);
            let bound = idempotent("second", none_of_an_ended_session(true));
            assert_eq!(word(&store.claim(bound).await.unwrap()), "unknown");
            let again = idempotent("third", none_of_an_ended_session(false));
            assert_eq!(word(&store.claim(again).await.unwrap()), "fresh 2", "the ledger's to decide alone");
        }
    }

    a_session_is_found_as_it_was_saved(bed) {
        let store = bed.open();
        let saved = store.save(session()).await.unwrap();
        assert_eq!(saved, Session { revision: 1, ..session() });
        assert_eq!(store.session("acme", "s1").await.unwrap(), saved);
        assert_eq!(store.session("other", "s1").await, Err(StoreError::Missing));
        drop(store);
        assert_eq!(bed.open().session("acme", "s1").await.unwrap(), saved);
    }

    answers_are_kept_beside_their_session(bed) {
        let store = bed.open();
        let mut kept = Session { recent: VecDeque::from([recent("a"), recent("b")]), ..session() };
        for (id, answer) in [("a", json!({ "data": 1 })), ("b", json!({ "data": 2 }))] {
            kept = store.save_answer(kept, id, &answer).await.unwrap();
            assert_eq!(store.answer("acme", "s1", id).await.unwrap(), answer);
        }
        assert_eq!(store.session("acme", "s1").await.unwrap(), kept);
        assert_eq!(store.answer("other", "s1", "a").await, Err(StoreError::Missing));
        let stale = Session { revision: 1, ..kept.clone() };
        let refused = store.save_answer(stale, "a", &json!("late")).await;
        assert_eq!(refused, Err(StoreError::Stale));
        assert_eq!(store.answer("acme", "s1", "a").await.unwrap(), json!({ "data": 1 }));
        // What is no longer among the recent calls goes.
        kept.recent.pop_front();
        kept.recent.push_back(recent("c"));
        kept = store.save_answer(kept, "c", &json!("x".repeat(5 << 20))).await.unwrap();
        assert_eq!(store.answer("acme", "s1", "a").await, Err(StoreError::Missing));
        assert!(store.answer("acme", "s1", "b").await.is_ok());
        // Of too much, the oldest does.
        kept.recent.push_back(recent("d"));
        store.save_answer(kept, "d", &json!("x".repeat(5 << 20))).await.unwrap();
        assert_eq!(store.answer("acme", "s1", "b").await, Err(StoreError::Missing));
        assert_eq!(store.answer("acme", "s1", "c").await, Err(StoreError::Missing));
        assert!(store.answer("acme", "s1", "d").await.is_ok());
        bed.clock.advance(2_000);
        while store.forget(START + 2_000).await.unwrap().more {}
        assert_eq!(store.session("acme", "s1").await, Err(StoreError::Missing));
        assert_eq!(store.answer("acme", "s1", "d").await, Err(StoreError::Missing));
    }

    sessions_are_listed_newest_first(bed) {
        let store = bed.open();
        for (id, tenant) in [("s1", "acme"), ("s2", "other"), ("s3", "acme"), ("s4", "acme")] {
            let created_at_ms = store.now_ms();
            let new = Session { id: id.into(), tenant: tenant.into(), created_at_ms, ..session() };
            store.save(new).await.unwrap();
            bed.clock.advance(1);
        }
        let first = store.session("acme", "s1").await.unwrap();
        store.save(first).await.unwrap();
        let ids = |found: Vec<Session>| found.into_iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(store.sessions("acme", None, 0).await.unwrap()), ["s4", "s3", "s1"]);
        assert_eq!(ids(store.sessions("acme", None, 1).await.unwrap()), ["s4"]);
        assert_eq!(ids(store.sessions("acme", Some("s4"), 1).await.unwrap()), ["s3"]);
        assert_eq!(ids(store.sessions("acme", Some("s1"), 9).await.unwrap()), Vec::<String>::new());
        assert_eq!(ids(store.sessions("acme", Some("none"), 9).await.unwrap()), Vec::<String>::new());
        assert_eq!(ids(store.sessions("nobody", None, 9).await.unwrap()), Vec::<String>::new());
    }

    a_session_is_written_only_on_what_was_read(bed) {
        let store = bed.open();
        let first = store.save(session()).await.unwrap();
        assert_eq!(store.save(session()).await, Err(StoreError::Stale), "it exists");
        let second = store.save(first.clone()).await.unwrap();
        assert_eq!(second.revision, 2);
        assert_eq!(store.save(first).await, Err(StoreError::Stale));
        let unknown = Session { id: "s2".into(), revision: 3, ..session() };
        assert_eq!(store.save(unknown).await, Err(StoreError::Missing));
        assert_eq!(store.session("acme", "s1").await.unwrap().revision, 2);
    }

    a_block_holds_until_its_end(bed) {
        let store = bed.open();
        let mara = Principal::user("mara");
        assert!(!store.any_blocks());
        let (block, extended) = store.block("acme", &mara, 1_000, "spam").await.unwrap();
        assert_eq!((block.until_ms, extended), (START + 1_000, false));
        assert!(store.any_blocks());
        assert_eq!(store.blocked("acme", &mara).await.unwrap(), Some(block));
        for (tenant, who) in [("other", mara.clone()), ("acme", Principal::agent("mara"))] {
            assert_eq!(store.blocked(tenant, &who).await.unwrap(), None);
        }
        bed.clock.advance(999);
        assert!(store.blocked("acme", &mara).await.unwrap().is_some());
        bed.clock.advance(1);
        assert_eq!(store.blocked("acme", &mara).await.unwrap(), None);
    }

    a_repetition_extends_a_block_from_its_end(bed) {
        let store = bed.open();
        let mara = Principal::user("mara");
        store.block("acme", &mara, 1_000, "spam").await.unwrap();
        bed.clock.advance(400);
        let (block, extended) = store.block("acme", &mara, 500, "more").await.unwrap();
        assert_eq!((block.until_ms, extended), (START + 1_500, true));
        assert_eq!(block.reason, "more");
        bed.clock.advance(5_000);
        let (block, extended) = store.block("acme", &mara, 500, "again").await.unwrap();
        assert_eq!((block.until_ms, extended), (START + 5_900, false));
    }

    a_block_is_lifted(bed) {
        let store = bed.open();
        let mara = Principal::user("mara");
        assert_eq!(store.unblock("acme", &mara).await, Err(StoreError::Missing));
        store.block("acme", &mara, 1_000, "spam").await.unwrap();
        assert_eq!(store.unblock("other", &mara).await, Err(StoreError::Missing));
        store.unblock("acme", &mara).await.unwrap();
        assert_eq!(store.blocked("acme", &mara).await.unwrap(), None);
    }

    a_block_is_seen_by_other_processes_and_after_a_restart(bed) {
        let (one, two) = (bed.open(), bed.open());
        let mara = Principal::user("mara");
        assert!(!two.any_blocks());
        one.block("acme", &mara, 10_000, "spam").await.unwrap();
        bed.clock.advance(200);
        assert!(two.any_blocks());
        assert!(two.blocked("acme", &mara).await.unwrap().is_some());
        drop((one, two));
        let three = bed.open();
        assert!(three.any_blocks() && three.blocked("acme", &mara).await.unwrap().is_some());
    }
}
