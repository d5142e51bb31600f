//! Tenants that are removed.

use haft_core::config::{Change, Kind};
use haft_core::ledger::State;
use haft_core::port::{Resolve, StoreError, TrailFilter, Undo};
use haft_core::record::AuditEntry;
use serde_json::{Value, json};

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

    nor_of_what_was_configured_for_it(bed) {
        let store = bed.open();
        let thing = |kind, id: &str, from, to: Option<Value>| Change {
            kind,
            id: id.to_owned(),
            ..tenant("acme", from, to)
        };
        let put = async |change| store.change(change).await.unwrap().version;
        put(tenant("acme", 0, Some(json!({ "description": "the first" })))).await;
        for kind in [Kind::Policy, Kind::Key, Kind::Delegation] {
            put(thing(kind, "one", 0, Some(json!("theirs")))).await;
            put(thing(kind, "one", 1, Some(json!("theirs, too")))).await;
        }
        put(thing(Kind::Policy, "gone", 0, Some(json!("theirs")))).await;
        put(thing(Kind::Policy, "gone", 1, None)).await;
        put(Change { tenant: "other".into(), ..thing(Kind::Policy, "one", 0, Some(json!("ours"))) })
            .await;
        put(tenant("acme", 1, None)).await;
        let (changes, after) = (store.changes().await.unwrap(), store.snapshot().await.unwrap());
        assert_eq!(changes, 14, "one for each thing that was left, and one for the tenant");
        assert_eq!(after.entries.iter().map(|one| &*one.tenant).collect::<Vec<_>>(), ["other"]);
        bed.clock.advance(1);
        put(thing(Kind::Key, "since", 0, Some(json!("declared elsewhere meanwhile")))).await;
        assert_eq!(put(tenant("acme", 0, Some(json!({})))).await, 3);
        for kind in Kind::ALL {
            for id in ["one", "gone"] {
                let versions = store.versions(kind, "acme", id, None, 9).await.unwrap();
                assert_eq!(versions, [], "{kind:?} {id}");
            }
            let there = store.entries(kind, Some("acme")).await.unwrap();
            let there: Vec<_> = there.into_iter().map(|one| one.id).collect();
            let expected: &[&str] = match kind {
                Kind::Tenant => &["acme"],
                Kind::Key => &["since"],
                Kind::Agent | Kind::Definition | Kind::Activation | Kind::Delegation => &[],
                Kind::Policy | Kind::Connection | Kind::Grant => &[],
            };
            assert_eq!(there, expected, "{kind:?}");
        }
        assert_eq!(put(thing(Kind::Policy, "one", 0, Some(json!("new")))).await, 4);
        let ours = store.versions(Kind::Policy, "acme", "one", None, 9).await.unwrap();
        assert_eq!(ours.iter().map(|one| one.version).collect::<Vec<_>>(), [4]);
        assert_eq!(store.versions(Kind::Policy, "other", "one", None, 9).await.unwrap().len(), 1);
        let check = store.verify().await.unwrap();
        assert!(check.broken.is_none() && check.unseen.is_none(), "{check:?}");
    }
}
