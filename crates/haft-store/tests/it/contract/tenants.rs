//! Tenants that are removed.

use haft_core::config::Kind;
use haft_core::ledger::State;
use haft_core::port::{Resolve, StoreError, TrailFilter, Undo};
use haft_core::record::AuditEntry;
use serde_json::json;

use crate::bed::{KEEP, claim, contract, fresh, kinds, settle, settled};
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

    whoever_has_the_name_of_a_tenant_that_was_removed_sees_nothing_of_it(bed) {
        let store = bed.open();
        let seen = async || {
            let all = TrailFilter { tenant: "acme".into(), limit: 99, ..TrailFilter::default() };
            let about = TrailFilter { tool: Some("core__pay".into()), ..all.clone() };
            let (all, about) = (store.trail(all).await.unwrap(), store.trail(about).await.unwrap());
            let kinds = |found: Vec<AuditEntry>| found.into_iter().map(|one| one.kind);
            (kinds(all).collect::<Vec<_>>(), kinds(about).collect::<Vec<_>>())
        };
        let nothing = || (Vec::new(), Vec::new());
        store.change(tenant("acme", 0, Some(json!({})))).await.unwrap();
        settled(&*store, claim("one"), State::Succeeded).await;
        assert_eq!(seen().await.0, ["settle", "begin", "config"]);
        store.change(tenant("acme", 1, None)).await.unwrap();
        assert_eq!(seen().await, nothing(), "declared elsewhere, nothing here says that it is there");
        // That it was removed is not forgotten: changes of what is configured never are.
        bed.clock.advance(KEEP.key_ms as i64);
        store.note("other", "note", json!(1)).await.unwrap();
        while store.forget(store.now_ms()).await.unwrap().more {}
        assert_eq!(kinds(&*store).await, ["config", "config", "shred", "note"]);
        assert_eq!(seen().await, nothing());
        store.note("acme", "note", json!({ "tool": "core__pay" })).await.unwrap();
        assert_eq!(seen().await, (vec!["note".to_owned()], vec!["note".to_owned()]));
        store.change(tenant("acme", 0, Some(json!({})))).await.unwrap();
        assert_eq!(seen().await.0, ["config", "note"]);
    }
}
