//! What nobody knows: how it comes about, what it stops, and how it ends.

use haft_core::ErrorKind;
use haft_core::contract::SideEffectPolicy as Class;
use haft_core::ledger::{Claimed, Ending, Settled, State};
use haft_core::port::{CallFilter, EffectFilter, Resolve, StoreError};
use serde_json::json;

use crate::bed::{
    AGAIN, LEASE, START, claim, contract, digest, ending, fresh, kinds, of_class, settled, word,
};

fn said(happened: bool) -> Resolve {
    Resolve { happened, by: "user:ines".into(), note: "asked the bank".into(), result: None }
}

fn same_act(key: &str) -> haft_core::ledger::Claim {
    haft_core::ledger::Claim { act: digest("one act"), ..claim(key) }
}

contract! {
    what_nobody_knows_stays_so_until_somebody_says(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Unknown).await;
        bed.clock.advance(1_000_000_000);
        store.purge().await.unwrap();
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "unknown");
    }

    what_was_begun_while_the_contract_used_no_connection_is_not_begun_again_through_one(bed) {
        let store = bed.open();
        let doing = |key: &str, deed: &str| haft_core::ledger::Claim { deed: digest(deed), ..claim(key) };
        settled(&*store, doing("first", "through none"), State::Unknown).await;
        let through = |unconnected: &str| haft_core::ledger::Claim {
            deed_unconnected: Some(digest(unconnected)), ..doing("second", "through work")
        };
        assert_eq!(word(&store.claim(through("through none")).await.unwrap()), "similar");
        assert_eq!(word(&store.claim(through("another")).await.unwrap()), "fresh 1");
    }

    what_a_tool_gets_again_under_another_contract_is_not_begun_again(bed) {
        let store = bed.open();
        let doing = |key: &str, deed: &str| haft_core::ledger::Claim { deed: digest(deed), ..claim(key) };
        settled(&*store, doing("first", "one deed"), State::Unknown).await;
        assert_eq!(word(&store.claim(doing("second", "one deed")).await.unwrap()), "similar");
        assert_eq!(word(&store.claim(doing("second", "another")).await.unwrap()), "fresh 1");
    }

    what_does_no_harm_twice_is_asked_for_again_while_the_provider_knows_its_key(bed) {
        let idempotent = |call: &str| {
            let mut claim = of_class("k", Class::Idempotent);
            claim.effect.call = call.to_owned();
            claim
        };
        let store = bed.open();
        settled(&*store, idempotent("first"), State::Unknown).await;
        // Each attempt is in doubt, and none of them sets the provider's clock back.
        for (epoch, call) in [(2, "second"), (3, "third"), (4, "fourth")] {
            bed.clock.advance(AGAIN / 4);
            let again = store.claim(idempotent(call)).await.unwrap();
            let Claimed::Fresh(ticket) = again else { panic!("{again:?}") };
            assert_eq!((ticket.epoch, ticket.in_doubt), (epoch, true));
            let ending = Ending {
                state: State::Unknown, result: None, error: None, intents: Vec::new(),
            };
            assert_eq!(store.settle(&ticket, ending, None).await.unwrap(), Settled::Written);
        }
        bed.clock.advance(AGAIN / 4 - 1);
        assert_eq!(word(&store.claim(idempotent("in time")).await.unwrap()), "fresh 5");
        // Begun just in time and cut off: now it is for people, too.
        bed.clock.advance(LEASE);
        let Claimed::Unknown(record) = store.claim(idempotent("too late")).await.unwrap() else {
            panic!("it was begun again");
        };
        assert_eq!((record.state, record.effect.call.as_str()), (State::Unknown, "in time"));
        assert_eq!(record.first_at_ms(), START);
        let filter = EffectFilter {
            tenant: "acme".into(), states: vec![State::Unknown], ..EffectFilter::default()
        };
        assert_eq!(store.effects(filter).await.unwrap().len(), 1);
        // What somebody said did not happen starts anew.
        store.resolve("acme", "in time", said(false)).await.unwrap();
        let fresh = store.claim(idempotent("anew")).await.unwrap();
        let Claimed::Fresh(ticket) = fresh else { panic!("{fresh:?}") };
        assert!(!ticket.in_doubt);
        assert_eq!(store.effect("acme", "anew").await.unwrap().effect.first_at_ms, None);
    }

    what_happened_is_answered(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Unknown).await;
        bed.clock.advance(500);
        let with = Resolve { result: Some(json!("receipt")), ..said(true) };
        let record = store.resolve("acme", "call of k", with).await.unwrap();
        assert_eq!(record.state, State::Happened);
        let resolution = record.resolution.clone().unwrap();
        assert_eq!((resolution.by.as_str(), resolution.at_ms), ("user:ines", START + 500));
        let again = store.claim(claim("k")).await.unwrap();
        assert_eq!(again, Claimed::Answered(Box::new(record)));
        assert_eq!(kinds(&*store).await, ["begin", "settle", "resolve"]);
    }

    what_it_answered_can_be_said_later_and_once(bed) {
        let store = bed.open();
        let with = |word: &str| Resolve { result: Some(json!(word)), ..said(true) };
        settled(&*store, claim("k"), State::Unknown).await;
        let bare = store.resolve("acme", "call of k", said(true)).await.unwrap();
        bed.clock.advance(500);
        let record = store.resolve("acme", "call of k", with("receipt")).await.unwrap();
        assert_eq!((record.state, &record.result), (State::Happened, &Some(json!("receipt"))));
        assert_eq!(record.ended_at_ms, bare.ended_at_ms);
        for again in [with("another"), said(true), Resolve { happened: false, ..with("none") }] {
            let refused = store.resolve("acme", "call of k", again).await;
            assert!(matches!(refused, Err(StoreError::WrongState(_))), "{refused:?}");
        }
        assert_eq!(store.effect("acme", "call of k").await.unwrap(), record);
        assert_eq!(kinds(&*store).await, ["begin", "settle", "resolve", "resolve"]);
    }

    what_did_not_happen_may_be_tried_again(bed) {
        let store = bed.open();
        settled(&*store, claim("k"), State::Unknown).await;
        let record = store.resolve("acme", "call of k", said(false)).await.unwrap();
        assert_eq!(record.state, State::NotHappened);
        assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 2");
    }

    only_the_unknown_is_settled_by_hand(bed) {
        let store = bed.open();
        fresh(&*store, claim("running")).await;
        settled(&*store, claim("done"), State::Succeeded).await;
        settled(&*store, claim("failed"), State::Failed).await;
        for key in ["running", "done", "failed"] {
            let refused = store.resolve("acme", &format!("call of {key}"), said(true)).await;
            assert!(matches!(refused, Err(StoreError::WrongState(_))), "{key}");
        }
        let foreign = store.resolve("other", "call of done", said(true)).await;
        assert_eq!(foreign, Err(StoreError::Missing));
    }

    the_same_act_under_a_new_key_is_refused_while_one_is_unknown(bed) {
        let store = bed.open();
        let unknown = settled(&*store, same_act("first"), State::Unknown).await;
        let similar = store.claim(same_act("second")).await.unwrap();
        assert_eq!(similar, Claimed::Similar(Box::new(unknown)));
        let other = store.claim(claim("another act")).await.unwrap();
        assert_eq!(word(&other), "fresh 1");
        let overruled = haft_core::ledger::Claim { despite_similar: true, ..same_act("second") };
        assert_eq!(word(&store.claim(overruled).await.unwrap()), "fresh 1");
        store.resolve("acme", "call of first", said(true)).await.unwrap();
        assert_eq!(word(&store.claim(same_act("third")).await.unwrap()), "fresh 1");
    }

    what_asks_for_something_else_or_by_other_means_is_no_further_attempt(bed) {
        for gone in [false, true] {
            let (dead, store) = (bed.open(), bed.open());
            let key = format!("gone {gone}");
            let idempotent = || of_class(&key, Class::Idempotent);
            match gone {
                false => drop(settled(&*dead, idempotent(), State::Unknown).await),
                true => drop(fresh(&*dead, idempotent()).await),
            }
            drop(dead);
            let mut others = [idempotent(), idempotent(), idempotent()];
            others[0].effect.tool_digest = digest("another contract");
            others[1].effect.arguments = json!({ "amount": 500 });
            others[2].effect.connection = Some("another account".into());
            for other in others {
                assert_eq!(word(&store.claim(other).await.unwrap()), "unknown");
            }
            let mut again = idempotent();
            again.effect.call = format!("again {gone}");
            assert_eq!(word(&store.claim(again).await.unwrap()), "fresh 2");
        }
    }

    what_does_no_harm_under_its_own_key_alone_is_held_back_under_another(bed) {
        let idempotent = |key: &str, relies_on_its_key: bool| {
            let mut claim = of_class(key, Class::Idempotent);
            claim.act = digest("one act");
            claim.effect.relies_on_its_key = relies_on_its_key;
            claim
        };
        // Known to be in doubt, or left by a process that is gone.
        for gone in [false, true] {
            let (dead, store) = (bed.open(), bed.open());
            match gone {
                false => drop(settled(&*dead, idempotent("first", true), State::Unknown).await),
                true => drop(fresh(&*dead, idempotent("left", true)).await),
            }
            drop(dead);
            assert_eq!(word(&store.claim(idempotent("second", true)).await.unwrap()), "similar");
            let open = if gone { "left" } else { "first" };
            let mut again = idempotent(open, true);
            again.effect.call = format!("again {open}");
            assert_eq!(word(&store.claim(again).await.unwrap()), "fresh 2", "under its own key");
            store.resolve("acme", &format!("again {open}"), said(false)).await.unwrap_err();
            bed.clock.advance(LEASE);
            let other = idempotent(&format!("besides {gone}"), false);
            let word = word(&store.claim(other).await.unwrap());
            assert_eq!(word, "similar", "the open one relied on its key, whatever the contract says now");
            store.resolve("acme", &format!("again {open}"), said(false)).await.unwrap();
        }
    }

    another_tenants_unknown_act_stops_nobody(bed) {
        let store = bed.open();
        settled(&*store, same_act("first"), State::Unknown).await;
        let mut other = same_act("second");
        other.effect.tenant = "other".into();
        assert_eq!(word(&store.claim(other).await.unwrap()), "fresh 1");
    }

    the_same_act_is_refused_before_anybody_noticed_that_its_process_died(bed) {
        let (dead, store) = (bed.open(), bed.open());
        fresh(&*dead, same_act("first")).await;
        drop(dead);
        assert_eq!(word(&store.claim(same_act("second")).await.unwrap()), "similar");
        assert_eq!(store.effect("acme", "call of first").await.unwrap().state, State::Unknown);
        assert_eq!(kinds(&*store).await, ["begin", "unknown", "call"]);
    }

    the_same_act_may_run_beside_one_that_is_running_well(bed) {
        let store = bed.open();
        fresh(&*store, same_act("first")).await;
        assert_eq!(word(&store.claim(same_act("second")).await.unwrap()), "fresh 1");
        bed.clock.advance(LEASE);
        assert_eq!(word(&store.claim(same_act("third")).await.unwrap()), "similar");
    }

    what_a_dead_process_left_is_unknown_and_on_record(bed) {
        let (dead, store) = (bed.open(), bed.open());
        let classes =
            [Class::Pure, Class::Idempotent, Class::Compensatable, Class::Irreversible];
        for class in classes {
            fresh(&*dead, of_class(class.as_str(), class)).await;
            fresh(&*store, of_class(&format!("own {}", class.as_str()), class)).await;
        }
        assert!(store.recover().await.unwrap().is_empty(), "nobody is dead");
        drop(dead);
        let lost = store.recover().await.unwrap();
        let calls: Vec<_> = lost.iter().map(|record| record.effect.call.as_str()).collect();
        let all = ["call of pure", "call of idempotent", "call of compensatable", "call of irreversible"];
        assert_eq!(calls, all);
        assert!(lost.iter().all(|record| record.state == State::Unknown));
        assert!(store.recover().await.unwrap().is_empty(), "once is enough");
        assert_eq!(kinds(&*store).await[8..], ["unknown", "call"].repeat(4));
        let filter = CallFilter { tenant: "acme".into(), ..CallFilter::default() };
        let recorded = store.calls(filter).await.unwrap();
        let mut recorded: Vec<_> = recorded.iter().map(|one| (&*one.call, one.error)).collect();
        recorded.reverse();
        assert_eq!(recorded, all.map(|call| (call, Some(ErrorKind::UnknownOutcome))));
        // What does no harm twice may be begun again all the same.
        let again = store.claim(of_class("idempotent", Class::Idempotent)).await.unwrap();
        assert_eq!(word(&again), "fresh 2");
    }

    what_a_living_process_could_not_record_is_unknown_when_its_time_is_over(bed) {
        let (owner, other) = (bed.open(), bed.open());
        let late = fresh(&*owner, claim("own")).await;
        fresh(&*owner, of_class("again", Class::Idempotent)).await;
        bed.clock.advance(LEASE - 1);
        for store in [&owner, &other] {
            assert!(store.recover().await.unwrap().is_empty(), "somebody waits for it");
        }
        bed.clock.advance(1);
        let lost = owner.recover().await.unwrap();
        let calls: Vec<_> = lost.iter().map(|one| (one.state, &*one.effect.call)).collect();
        let unknown = |call| (State::Unknown, call);
        assert_eq!(calls, [unknown("call of own"), unknown("call of again")], "by its own process, too");
        assert!(other.recover().await.unwrap().is_empty());
        assert_eq!(word(&other.claim(claim("own")).await.unwrap()), "unknown");
        let settled = owner.settle(&late, ending(State::Succeeded, None), None).await.unwrap();
        assert_eq!(settled, Settled::Written, "a late success counts");
    }

    what_nobody_carries_out_any_more_can_be_settled_by_hand_at_once(bed) {
        let store = bed.open();
        for class in [Class::Idempotent, Class::Irreversible] {
            let key = class.as_str();
            fresh(&*store, of_class(key, class)).await;
            let call = format!("call of {key}");
            let Err(StoreError::WrongState(why)) = store.resolve("acme", &call, said(true)).await
            else {
                panic!("{key} is being carried out")
            };
            assert!(why.starts_with("the effect is being carried out"), "{why}");
            bed.clock.advance(LEASE);
            let record = store.resolve("acme", &call, said(false)).await.unwrap();
            assert_eq!(record.state, State::NotHappened, "{key}");
        }
        let each = ["begin", "unknown", "resolve"];
        assert_eq!(kinds(&*store).await, [each, each].concat());
    }

    effects_are_found_by_what_they_are_newest_first(bed) {
        let store = bed.open();
        settled(&*store, claim("a"), State::Unknown).await;
        settled(&*store, claim("b"), State::Succeeded).await;
        let mut other = of_class("c", Class::Compensatable);
        other.effect.tool = "core__book".into();
        other.effect.session = None;
        other.effect.turn_group = Some("g2".into());
        fresh(&*store, other).await;
        let all = EffectFilter { tenant: "acme".into(), ..EffectFilter::default() };
        let by = |change: &dyn Fn(&mut EffectFilter)| {
            let mut filter = all.clone();
            change(&mut filter);
            filter
        };
        let table: [(EffectFilter, &[&str]); 12] = [
            (all.clone(), &["c", "b", "a"]),
            (by(&|f| f.limit = 2), &["c", "b"]),
            (by(&|f| f.states = vec![State::Unknown]), &["a"]),
            (by(&|f| f.states = vec![State::Unknown, State::Started]), &["c", "a"]),
            (by(&|f| f.tool = Some("core__book".into())), &["c"]),
            (by(&|f| f.session = Some("s1".into())), &["b", "a"]),
            (by(&|f| f.turn_group = Some("g2".into())), &["c"]),
            (by(&|f| f.policy = Some(Class::Compensatable)), &["c"]),
            (by(&|f| f.tenant = "other".into()), &[]),
            (by(&|f| f.after = Some("call of c".into())), &["b", "a"]),
            // What the filter leaves out is still a place in the list.
            (by(&|f| (f.after, f.states) = (Some("call of b".into()), vec![State::Unknown])), &["a"]),
            (by(&|f| f.after = Some("call of nobody".into())), &[]),
        ];
        for (filter, expected) in table {
            let found = store.effects(filter.clone()).await.unwrap();
            let keys: Vec<_> =
                found.iter().map(|one| one.effect.call.trim_start_matches("call of ")).collect();
            assert_eq!(keys, expected, "{filter:?}");
        }
    }

    parts_are_found_by_the_key_of_their_whole_whichever_attempt_began_them(bed) {
        let store = bed.open();
        let whole = settled(&*store, claim("whole"), State::Failed).await;
        let first = store.by_key(&whole.key).await.unwrap();
        let part = |key: &str, whole: &str| {
            let mut part = claim(key);
            part.effect.within = Some(first.effect.call.clone());
            part.effect.part_of = Some(digest(whole));
            part
        };
        for of in [part("a", "whole"), part("b", "whole"), part("of a", "a"), claim("none")] {
            settled(&*store, of, State::Succeeded).await;
        }
        let mut again = claim("whole");
        again.effect.call = "the next attempt".to_owned();
        settled(&*store, again, State::Succeeded).await;
        let now = store.by_key(&whole.key).await.unwrap();
        for (whole, expected) in [(&now, &["b", "a"] as &[&str]), (&first, &["b", "a"])] {
            let found = store.parts(whole).await.unwrap();
            let keys: Vec<_> =
                found.iter().map(|one| one.effect.call.trim_start_matches("call of ")).collect();
            assert_eq!(keys, expected);
        }
    }
}
