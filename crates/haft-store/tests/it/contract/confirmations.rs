//! Approvals: asked for once, given by somebody else, spent with the claim.

use haft_core::Principal;
use haft_core::contract::SideEffectPolicy as Class;
use haft_core::ledger::{Attempted, Claim, Claimed, OtherKey, Sought, State, Unspendable};
use haft_core::port::{Asking, ConfirmationFilter, Put, StoreError};
use haft_core::record::{Confirmation, ConfirmationStatus};

use crate::bed::{
    START, ask, claim, confirmation, contract, digest, fresh, kinds, of_class, settled, spending,
    word,
};

fn ines() -> Principal {
    Principal::user("ines")
}

/// Behind which the very same model may stand.
fn service() -> Principal {
    Principal::parse("service:bot").unwrap()
}

/// What a claim will look for.
fn sought(claim: Claim) -> Option<Sought> {
    let (attempt, policy) = (Attempted::of(&claim), claim.effect.policy);
    let Claim { key, other, fingerprint, .. } = claim;
    Some(Sought { key, other, fingerprint, policy, attempt })
}

fn is_asked(put: &Put) -> bool {
    matches!(put, Put::Stands(_))
}

contract! {
    nobody_is_asked_about_what_the_ledger_answers_for(bed) {
        let store = bed.open();
        for (key, state) in
            [("done", State::Succeeded), ("failed", State::Failed), ("lost", State::Unknown)]
        {
            settled(&*store, claim(key), state).await;
        }
        settled(&*store, of_class("again", Class::Idempotent), State::Unknown).await;
        fresh(&*store, claim("runs")).await;
        let also = |key: &str, within_ms: Option<u64>| {
            let other = Some(OtherKey { key: digest(key), within_ms });
            Claim { other, ..claim("nobody's") }
        };
        let mut changed = claim("failed");
        changed.fingerprint = digest("other arguments");
        bed.clock.advance(10);
        let table = [
            (claim("nobody's"), true),
            (claim("done"), false),
            (claim("failed"), true),
            (changed, false),
            (claim("lost"), false),
            (claim("runs"), false),
            (of_class("again", Class::Idempotent), true),
            (also("done", None), false),
            (also("done", Some(10)), false),
            (also("done", Some(9)), true),
            (also("failed", None), true),
        ];
        for (at, (claim, expected)) in table.into_iter().enumerate() {
            let confirmation = confirmation(&format!("c{at}"), &format!("b{at}"));
            let asking = Asking { sought: sought(claim.clone()), ..confirmation.into() };
            let put = store.ask(asking).await.unwrap();
            assert_eq!(is_asked(&put), expected, "{claim:?}");
            // A claim without an approval says the same.
            let claim = Claim { confirmation: spending("", "none", "none").confirmation, ..claim };
            let claimed = store.claim(claim).await.unwrap();
            let begins = claimed == Claimed::Unspendable(Unspendable::NotApproved);
            assert_eq!(begins, expected, "{claimed:?}");
        }
    }

    an_approval_that_was_spent_on_the_same_act_is_not_asked_for_again(bed) {
        let (one, two) = (bed.open(), bed.open());
        let asking = |id: &str| {
            Asking { sought: sought(claim("k")), ..confirmation(id, "b").into() }
        };
        assert!(is_asked(&one.ask(asking("c1")).await.unwrap()));
        one.decide("acme", "c1", true, &ines()).await.unwrap();
        let Put::Stands(found) = two.ask(asking("c2")).await.unwrap() else { panic!() };
        assert_eq!((&*found.id, found.status), ("c1", ConfirmationStatus::Approved));
        fresh(&*one, spending("k", "c1", "b")).await;
        assert_eq!(two.ask(asking("c3")).await.unwrap(), Put::Begun);
        assert_eq!(two.confirmation("acme", "c3").await, Err(StoreError::Missing));
    }

    of_one_agent_only_so_many_questions_wait(bed) {
        let store = bed.open();
        let under = |id: &str, policy: &str| {
            Confirmation { policy_version: Some(digest(policy)), ..confirmation(id, id) }
        };
        let put = async |question: Confirmation| {
            store.ask(Asking { most: Some(2), ..question.into() }).await.unwrap()
        };
        // What would be void counts no more, nor does what others ask.
        ask(&*store, under("void", "earlier")).await.unwrap();
        for other in ["d1", "d2"] {
            let agent = "other".to_owned();
            ask(&*store, Confirmation { agent, ..under(other, "now") }).await.unwrap();
        }
        assert!(is_asked(&put(under("c1", "now")).await) && is_asked(&put(under("c2", "now")).await));
        assert_eq!(put(under("c3", "now")).await, Put::Full);
        assert_eq!(store.confirmation("acme", "c3").await, Err(StoreError::Missing));
        // One that has been put is not put again, and one that was answered makes room.
        assert!(is_asked(&put(Confirmation { id: "c4".into(), ..under("c1", "now") }).await));
        store.decide("acme", "c1", true, &ines()).await.unwrap();
        assert!(is_asked(&put(under("c3", "now")).await));
        assert_eq!(put(under("c5", "now")).await, Put::Full);
        bed.clock.advance(100_000);
        let mut late = under("c6", "now");
        (late.asked_at_ms, late.expires_at_ms) = (START + 100_000, START + 200_000);
        assert!(is_asked(&put(late).await), "the others have expired");
    }

    the_same_question_is_asked_once(bed) {
        let store = bed.open();
        let first = ask(&*store, confirmation("c1", "b")).await.unwrap();
        assert_eq!(first, confirmation("c1", "b"));
        assert_eq!(ask(&*store, confirmation("c2", "b")).await.unwrap().id, "c1");
        store.decide("acme", "c1", true, &ines()).await.unwrap();
        assert_eq!(ask(&*store, confirmation("c3", "b")).await.unwrap().id, "c1", "it is approved");
        assert_eq!(ask(&*store, confirmation("c4", "other")).await.unwrap().id, "c4");
        let taken = ask(&*store, confirmation("c4", "yet another")).await;
        assert!(matches!(taken, Err(StoreError::WrongState(_))));
        fresh(&*store, spending("k", "c1", "b")).await;
        assert_eq!(ask(&*store, confirmation("c5", "b")).await.unwrap().id, "c5", "it is spent");
    }

    a_question_that_expired_or_was_declined_is_asked_again(bed) {
        let store = bed.open();
        ask(&*store, confirmation("c1", "b")).await.unwrap();
        store.decide("acme", "c1", false, &ines()).await.unwrap();
        ask(&*store, confirmation("c2", "b")).await.unwrap();
        bed.clock.advance(100_000);
        let third = Confirmation { expires_at_ms: START + 300_000, ..confirmation("c3", "b") };
        assert_eq!(ask(&*store, third).await.unwrap().id, "c3");
    }

    whoever_asks_cannot_approve(bed) {
        let store = bed.open();
        let by_a_user = Confirmation { actor: Principal::user("mara"), ..confirmation("c", "b") };
        ask(&*store, by_a_user).await.unwrap();
        for by in [Principal::user("mara"), Principal::agent("assistant"), service()] {
            let refused = store.decide("acme", "c", true, &by).await;
            assert!(matches!(refused, Err(StoreError::WrongState(_))), "{by}");
        }
        let decided = store.decide("acme", "c", true, &ines()).await.unwrap();
        assert_eq!(decided.status, ConfirmationStatus::Approved);
        assert_eq!(decided.decided_by, Some(ines()));
        assert_eq!(store.confirmation("acme", "c").await.unwrap(), decided);
    }

    it_is_decided_once_in_time_and_by_its_tenant(bed) {
        let store = bed.open();
        for id in ["c1", "c2"] {
            ask(&*store, confirmation(id, id)).await.unwrap();
        }
        store.decide("acme", "c1", false, &ines()).await.unwrap();
        let again = store.decide("acme", "c1", true, &ines()).await;
        assert!(matches!(again, Err(StoreError::WrongState(_))));
        let foreign = store.decide("other", "c2", true, &ines()).await;
        assert_eq!(foreign, Err(StoreError::Missing));
        assert_eq!(store.confirmation("other", "c2").await, Err(StoreError::Missing));
        bed.clock.advance(100_000);
        let late = store.decide("acme", "c2", true, &ines()).await;
        assert!(matches!(late, Err(StoreError::WrongState(_))));
        assert_eq!(kinds(&*store).await, ["confirmation"]);
    }

    a_no_counts_after_a_yes_until_that_is_spent(bed) {
        let store = bed.open();
        let by_leo = Confirmation { actor: Principal::user("leo"), ..confirmation("c3", "c3") };
        for asked in [confirmation("c1", "c1"), confirmation("c2", "c2"), by_leo] {
            let id = asked.id.clone();
            store.ask(asked.into()).await.unwrap();
            store.decide("acme", &id, true, &ines()).await.unwrap();
        }
        fresh(&*store, spending("k1", "c1", "c1")).await;
        let noted = kinds(&*store).await.len();
        for (id, by) in [
            ("c1", Principal::user("mara")),
            ("c2", service()),
            ("c2", Principal::agent("assistant")),
            ("c3", Principal::user("leo")),
        ] {
            let refused = store.decide("acme", id, false, &by).await;
            assert!(matches!(refused, Err(StoreError::WrongState(_))), "{id} by {by}");
        }
        assert_eq!(kinds(&*store).await.len(), noted, "a refusal leaves nothing behind");
        let mara = Principal::user("mara");
        let declined = store.decide("acme", "c2", false, &mara).await.unwrap();
        assert_eq!(declined.status, ConfirmationStatus::Denied);
        assert_eq!(declined.decided_by, Some(mara));
        assert_eq!(kinds(&*store).await.len(), noted + 1);
        let claimed = store.claim(spending("k2", "c2", "c2")).await.unwrap();
        assert_eq!(claimed, Claimed::Unspendable(Unspendable::NotApproved));
        let again = store.ask(confirmation("c4", "c2").into()).await.unwrap();
        let Put::Stands(again) = again else { panic!("{again:?}") };
        assert_eq!((&*again.id, again.status), ("c2", ConfirmationStatus::Denied), "not asked anew");
        let late = store.decide("acme", "c2", true, &ines()).await;
        assert!(matches!(late, Err(StoreError::WrongState(_))), "and it stays a no");
    }

    what_somebody_approved_can_be_taken_back_until_it_is_spent(bed) {
        let store = bed.open();
        let leo = Principal::user("leo");
        for (id, by) in [("c1", ines()), ("c2", ines()), ("c3", leo.clone())] {
            ask(&*store, confirmation(id, id)).await.unwrap();
            store.decide("acme", id, true, &by).await.unwrap();
        }
        fresh(&*store, spending("k1", "c1", "c1")).await;
        assert_eq!(store.withdraw("other", &ines()).await, Ok(0), "of another tenant");
        assert_eq!(store.withdraw("acme", &ines()).await, Ok(1), "one is spent");
        assert_eq!(store.withdraw("acme", &ines()).await, Ok(0));
        let status = async |id: &str| store.confirmation("acme", id).await.unwrap().status;
        assert_eq!(status("c1").await, ConfirmationStatus::Spent);
        assert_eq!(status("c3").await, ConfirmationStatus::Approved);
        let open = store.confirmation("acme", "c2").await.unwrap();
        assert_eq!((open.status, open.decided_by), (ConfirmationStatus::Pending, None));
        let refused = store.claim(spending("k2", "c2", "c2")).await.unwrap();
        assert!(matches!(refused, Claimed::Unspendable(Unspendable::NotApproved)), "{refused:?}");
        store.decide("acme", "c2", true, &leo).await.unwrap();
        fresh(&*store, spending("k2", "c2", "c2")).await;
    }

    an_approval_is_spent_with_the_claim_and_only_once(bed) {
        let store = bed.open();
        ask(&*store, confirmation("c", "b")).await.unwrap();
        store.decide("acme", "c", true, &ines()).await.unwrap();
        fresh(&*store, spending("k", "c", "b")).await;
        let spent = store.confirmation("acme", "c").await.unwrap();
        assert_eq!(spent.status, ConfirmationStatus::Spent);
        let record = store.effect("acme", "call of k").await.unwrap();
        assert_eq!(record.confirmation.as_deref(), Some("c"));
        let again = store.claim(spending("k2", "c", "b")).await.unwrap();
        assert_eq!(again, Claimed::Unspendable(Unspendable::Spent));
        assert_eq!(store.effect("acme", "call of k2").await, Err(StoreError::Missing));
        assert_eq!(kinds(&*store).await, ["confirmation", "confirmation", "begin"]);
    }

    what_cannot_be_spent_writes_nothing_and_burns_nothing(bed) {
        let store = bed.open();
        for (id, approve) in [("yes", true), ("no", false)] {
            ask(&*store, confirmation(id, id)).await.unwrap();
            store.decide("acme", id, approve, &ines()).await.unwrap();
        }
        ask(&*store, confirmation("open", "open")).await.unwrap();
        let table = [
            ("yes", "something else", Unspendable::OtherCall),
            ("no", "no", Unspendable::NotApproved),
            ("open", "open", Unspendable::NotApproved),
            ("none", "none", Unspendable::NotApproved),
        ];
        for (id, binding, why) in table {
            let claimed = store.claim(spending("k", id, binding)).await.unwrap();
            assert_eq!(claimed, Claimed::Unspendable(why), "{id}");
            assert_eq!(store.effect("acme", "call of k").await, Err(StoreError::Missing));
        }
        let mut foreign = spending("k", "yes", "yes");
        foreign.effect.tenant = "other".into();
        let claimed = store.claim(foreign).await.unwrap();
        assert_eq!(claimed, Claimed::Unspendable(Unspendable::NotApproved));
        fresh(&*store, spending("k", "yes", "yes")).await;
    }

    an_approval_expires_to_the_millisecond(bed) {
        let store = bed.open();
        for id in ["a", "b"] {
            ask(&*store, confirmation(id, id)).await.unwrap();
            store.decide("acme", id, true, &ines()).await.unwrap();
        }
        bed.clock.advance(99_999);
        fresh(&*store, spending("k", "a", "a")).await;
        bed.clock.advance(1);
        let late = store.claim(spending("k2", "b", "b")).await.unwrap();
        assert_eq!(late, Claimed::Unspendable(Unspendable::Expired));
    }

    who_is_answered_without_an_attempt_needs_no_approval(bed) {
        let store = bed.open();
        settled(&*store, claim("done"), State::Succeeded).await;
        settled(&*store, claim("lost"), State::Unknown).await;
        fresh(&*store, claim("running")).await;
        let table = [("done", "answered"), ("lost", "unknown"), ("running", "in flight")];
        for (key, words) in table {
            let claimed = store.claim(spending(key, "none", "none")).await.unwrap();
            assert_eq!(word(&claimed), words);
        }
    }

    a_spent_approval_stays_spent_when_its_process_dies(bed) {
        let (dead, store) = (bed.open(), bed.open());
        ask(&*dead, confirmation("c", "b")).await.unwrap();
        dead.decide("acme", "c", true, &ines()).await.unwrap();
        fresh(&*dead, spending("k", "c", "b")).await;
        drop(dead);
        assert_eq!(store.recover().await.unwrap().len(), 1);
        let again = store.claim(spending("k2", "c", "b")).await.unwrap();
        assert_eq!(again, Claimed::Unspendable(Unspendable::Spent));
    }

    of_two_processes_one_spends(bed) {
        let (one, two) = (bed.open(), bed.open());
        ask(&*one, confirmation("c", "b")).await.unwrap();
        one.decide("acme", "c", true, &ines()).await.unwrap();
        let (first, second) =
            tokio::join!(one.claim(spending("k1", "c", "b")), two.claim(spending("k2", "c", "b")));
        let mut words = [word(&first.unwrap()), word(&second.unwrap())];
        words.sort();
        assert_eq!(words, ["Spent", "fresh 1"]);
    }

    confirmations_are_listed_newest_first(bed) {
        let store = bed.open();
        for (n, id) in ["a", "b", "c"].into_iter().enumerate() {
            let asked_at_ms = START + n as i64;
            let asked = Confirmation { asked_at_ms, ..confirmation(id, id) };
            ask(&*store, asked).await.unwrap();
        }
        store.decide("acme", "b", true, &ines()).await.unwrap();
        let found = async |tenant: &str, status: Option<ConfirmationStatus>, after: &str, limit| {
            let after = (!after.is_empty()).then(|| after.to_owned());
            let tenant = tenant.to_owned();
            let filter =
                ConfirmationFilter { tenant, status, after, limit, ..ConfirmationFilter::default() };
            let found = store.confirmations(filter).await.unwrap();
            found.into_iter().map(|one| one.id).collect::<String>()
        };
        assert_eq!(found("acme", None, "", 0).await, "cba");
        let pending = Some(ConfirmationStatus::Pending);
        assert_eq!(found("acme", pending, "", 0).await, "ca");
        assert_eq!(found("acme", Some(ConfirmationStatus::Approved), "", 0).await, "b");
        assert_eq!(found("acme", None, "", 2).await, "cb");
        assert_eq!(found("acme", None, "b", 2).await, "a");
        // Where the last one was answered meanwhile, the list goes on behind it all the same.
        assert_eq!(found("acme", pending, "b", 2).await, "a");
        assert_eq!(found("other", None, "b", 2).await, "");
        assert_eq!(found("other", None, "", 0).await, "");
    }

    those_whose_time_is_over_are_left_out(bed) {
        let store = bed.open();
        for (n, (id, void)) in [("a", 900), ("b", 100), ("c", 500), ("d", 100)].into_iter().enumerate() {
            let (asked_at_ms, expires_at_ms) = (START + n as i64, START + void);
            store.ask(Confirmation { asked_at_ms, expires_at_ms, ..confirmation(id, id) }.into()).await.unwrap();
        }
        for (open_after_ms, after, limit, ids) in [
            (None, None, 0, "dcba"), (Some(START + 100), None, 0, "ca"), (Some(START + 99), None, 2, "dc"),
            (Some(START + 100), None, 1, "c"), (Some(START + 100), Some("d"), 1, "c"),
            (Some(START + 900), None, 0, ""),
        ] {
            let (tenant, after) = ("acme".to_owned(), after.map(str::to_owned));
            let filter = ConfirmationFilter { tenant, after, limit, open_after_ms, ..Default::default() };
            let found = store.confirmations(filter).await.unwrap();
            let found: String = found.into_iter().map(|one| one.id).collect();
            assert_eq!(found, ids, "{open_after_ms:?}");
        }
    }

    confirmations_are_found_by_the_session_in_which_they_were_asked(bed) {
        let store = bed.open();
        for (n, (id, session)) in
            [("a", Some("s1")), ("b", None), ("c", Some("s2")), ("d", Some("s1"))].into_iter().enumerate()
        {
            let (asked_at_ms, session) = (START + n as i64, session.map(str::to_owned));
            ask(&*store, Confirmation { asked_at_ms, session, ..confirmation(id, id) }).await.unwrap();
        }
        for (tenant, session, after, ids) in
            [("acme", "s1", None, "da"), ("acme", "s1", Some("d"), "a"), ("acme", "s2", None, "c"),
             ("acme", "s3", None, ""), ("other", "s1", None, "")]
        {
            let filter = ConfirmationFilter {
                tenant: tenant.into(),
                session: Some(session.into()),
                after: after.map(str::to_owned),
                ..ConfirmationFilter::default()
            };
            let found = store.confirmations(filter).await.unwrap();
            let found: String = found.into_iter().map(|one| one.id).collect();
            assert_eq!(found, ids, "{tenant} {session} {after:?}");
        }
    }
}
