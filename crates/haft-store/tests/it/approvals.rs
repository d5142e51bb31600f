//! An approval is what the trail says, not what a row does.

use haft_core::Principal;
use haft_core::ledger::{Claimed, Unspendable};
use haft_core::port::{Confirmations as _, Ledger as _, Store as _, StoreError};
use haft_core::record::ConfirmationStatus;
use haft_store::trail::Fault;
use haft_store::{Sqlite, Verify};

use crate::bed::{Bed, ask, confirmation, fresh, spending, word};
use crate::trail::{touch, verdict};

const APPROVE: &str = "UPDATE confirmations SET status = 'approved', \
    body = json_set(body, '$.status', 'approved', '$.decidedBy', 'user:mara')";

/// What becomes of spending `c`, which is bound to `b`.
async fn spent(store: &Sqlite) -> Option<Unspendable> {
    let claimed = store.claim(spending("k", "c", "b")).await.unwrap();
    if let Claimed::Unspendable(why) = claimed {
        return Some(why);
    }
    assert_eq!(word(&claimed), "fresh 1");
    None
}

async fn asked(acts: impl AsyncFnOnce(&Sqlite)) -> Bed {
    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|_| ());
    ask(&store, confirmation("c", "b")).await.unwrap();
    acts(&store).await;
    drop(store);
    bed
}

async fn approve(store: &Sqlite) {
    store.decide("acme", "c", true, &Principal::user("mara")).await.unwrap();
}

async fn check(bed: &Bed, sql: &str, why: Unspendable) {
    touch(bed, sql);
    assert_eq!(spent(&bed.open_sqlite(|_| ())).await, Some(why), "{sql}");
    assert_eq!(verdict(bed).unwrap_err().fault, Fault::Approval, "{sql}");
    let store = bed.open_sqlite(|options| options.verify = Verify::Whole);
    let stopped = store.trusts("acme").await;
    assert!(matches!(stopped, Err(StoreError::Tampered(_))), "{sql}: {stopped:?}");
    assert!(store.trusts("other").await.is_ok(), "{sql}");
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    assert_eq!(spent(&store).await, Some(why), "{sql}: whoever has looked has not approved");
}

#[tokio::test]
async fn an_approval_that_is_not_in_the_trail_is_not_spent_and_is_told() {
    let nothing = async |_: &Sqlite| ();
    check(&asked(nothing).await, APPROVE, Unspendable::NotApproved).await;
    let deny = async |store: &Sqlite| {
        store.decide("acme", "c", false, &Principal::user("mara")).await.unwrap();
    };
    check(&asked(deny).await, APPROVE, Unspendable::NotApproved).await;
    let withdraw = async |store: &Sqlite| {
        approve(store).await;
        store.withdraw("acme", &Principal::user("mara")).await.unwrap();
    };
    check(&asked(withdraw).await, APPROVE, Unspendable::NotApproved).await;
    let spend = async |store: &Sqlite| {
        approve(store).await;
        fresh(store, spending("first", "c", "b")).await;
    };
    check(&asked(spend).await, APPROVE, Unspendable::NotApproved).await;
}

#[tokio::test]
async fn an_approval_holds_for_what_and_as_long_as_it_was_given() {
    let other = crate::bed::confirmation("c", "other").binding;
    let binding = format!(
        "UPDATE confirmations SET binding = x'{}', body = json_set(body, '$.binding', '{other}')",
        other.hex()
    );
    let bed = asked(approve).await;
    touch(&bed, &binding);
    let store = bed.open_sqlite(|_| ());
    let claimed = store.claim(spending("k", "c", "other")).await.unwrap();
    assert!(matches!(claimed, Claimed::Unspendable(Unspendable::NotApproved)), "{claimed:?}");
    drop(store);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Approval);
    let later = "UPDATE confirmations SET body = json_set(body, '$.expiresAtMs', \
                 (body ->> '$.expiresAtMs') + 1)";
    check(&asked(approve).await, later, Unspendable::NotApproved).await;
    let bed = asked(approve).await;
    touch(&bed, "UPDATE confirmations SET body = json_set(body, '$.decidedBy', 'user:eve')");
    assert_eq!(spent(&bed.open_sqlite(|_| ())).await, Some(Unspendable::NotApproved));
}

#[tokio::test]
async fn an_entry_that_was_written_over_approves_nothing() {
    let deny = async |store: &Sqlite| {
        store.decide("acme", "c", false, &Principal::user("mara")).await.unwrap();
    };
    let bed = asked(deny).await;
    touch(&bed, APPROVE);
    touch(&bed, "UPDATE audit SET body = replace(body, 'denied', 'approved')");
    assert_eq!(spent(&bed.open_sqlite(|_| ())).await, Some(Unspendable::NotApproved));
}

#[tokio::test]
async fn what_was_approved_is_spent_and_what_was_not_is_asked_again() {
    let bed = asked(approve).await;
    assert!(verdict(&bed).is_ok());
    assert_eq!(spent(&bed.open_sqlite(|_| ())).await, None);
    assert!(verdict(&bed).is_ok());
    let bed = asked(async |_: &Sqlite| ()).await;
    touch(&bed, APPROVE);
    let store = bed.open_sqlite(|_| ());
    let asked = ask(&store, confirmation("c2", "b")).await.unwrap();
    assert_eq!((asked.id.as_str(), asked.status), ("c2", ConfirmationStatus::Pending));
}
