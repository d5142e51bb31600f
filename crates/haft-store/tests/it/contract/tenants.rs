//! Tenants that are removed.

use haft_core::config::Kind;
use haft_core::ledger::State;
use haft_core::port::{Resolve, StoreError, Undo};
use serde_json::json;

use crate::bed::{claim, contract, fresh, kinds, settle};
use crate::sealing::tenant;

contract! {
    a_tenant_whose_effects_are_open_is_not_removed(bed) {
        let store = bed.open();
        store.change(tenant("acme", 0, Some(json!({})))).await.unwrap();
        let refused = async |why: &str| {
            let refused = store.change(tenant("acme", 1, None)).await.unwrap_err();
            assert!(matches!(refused, StoreError::WrongState(_)), "{why}: {refused}");
            assert_eq!(store.entry(Kind::Tenant, "acme", "acme").await.unwrap().version, 1);
        };
        let ticket = fresh(&*store, claim("one")).await;
        refused("started").await;
        settle(&*store, &ticket, State::Unknown, None).await;
        refused("unknown").await;
        assert_eq!(store.effect("acme", "call of one").await.unwrap().state, State::Unknown);
        let (by, note) = ("user:mara".to_owned(), "it came".to_owned());
        let resolve = Resolve { happened: true, by, note, result: None };
        store.resolve("acme", "call of one", resolve).await.unwrap();
        let undo = async |step| store.undo("acme", "call of one", step).await.unwrap();
        undo(Undo::Begin { by: "user:mara".into() }).await;
        refused("compensating").await;
        undo(Undo::Stuck { why: "no answer".into() }).await;
        refused("stuck").await;
        undo(Undo::Back).await;
        // What others have open is their own affair.
        let mut elsewhere = claim("elsewhere");
        elsewhere.effect.tenant = "other".into();
        fresh(&*store, elsewhere).await;
        assert!(!kinds(&*store).await.contains(&"shred".to_owned()));
        store.change(tenant("acme", 1, None)).await.unwrap();
        assert_eq!(store.effect("acme", "call of one").await, Err(StoreError::Missing));
        assert!(store.effect("other", "call of elsewhere").await.is_ok());
    }
}
