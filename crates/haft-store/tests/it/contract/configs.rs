//! What is configured.

use haft_core::Principal;
use haft_core::config::{Change, Entry, Kind, MAX_ENTRY_BYTES, Snapshot};
use haft_core::port::{Store, StoreError};
use serde_json::{Value, json};

use crate::bed::{START, contract, kinds};

fn change(kind: Kind, id: &str, from: u64, to: Value) -> Change {
    let (tenant, id, by) = ("acme".to_owned(), id.to_owned(), Principal::user("mara"));
    Change { kind, tenant, id, from, to: Some(to), by }
}

fn removal(kind: Kind, id: &str, from: u64) -> Change {
    Change { to: None, ..change(kind, id, from, json!(null)) }
}

fn entry(kind: Kind, id: &str, version: u64, body: Value) -> Entry {
    Entry {
        kind,
        tenant: "acme".into(),
        id: id.into(),
        version,
        body,
        changed_at_ms: START,
        changed_by: Principal::user("mara"),
    }
}

async fn put(store: &dyn Store, kind: Kind, id: &str, from: u64, to: Value) -> Entry {
    store.change(change(kind, id, from, to)).await.unwrap()
}

contract! {
    an_entry_is_found_as_it_was_written_and_after_a_restart(bed) {
        let store = bed.open();
        let written = put(&*store, Kind::Agent, "helper", 0, json!({"tools": ["a"]})).await;
        assert_eq!(written, entry(Kind::Agent, "helper", 1, json!({"tools": ["a"]})));
        drop(store);
        let store = bed.open();
        assert_eq!(store.entry(Kind::Agent, "acme", "helper").await.unwrap(), written);
        for (kind, tenant, id) in [
            (Kind::Agent, "other", "helper"),
            (Kind::Agent, "acme", "Helper"),
            (Kind::Policy, "acme", "helper"),
        ] {
            assert_eq!(store.entry(kind, tenant, id).await, Err(StoreError::Missing));
        }
    }

    an_entry_is_written_only_on_what_was_read(bed) {
        let store = bed.open();
        let missing = store.change(change(Kind::Agent, "a", 1, json!(1))).await;
        assert_eq!(missing, Err(StoreError::Missing));
        put(&*store, Kind::Agent, "a", 0, json!(1)).await;
        let exists = store.change(change(Kind::Agent, "a", 0, json!(2))).await;
        assert_eq!(exists, Err(StoreError::Stale));
        assert_eq!(put(&*store, Kind::Agent, "a", 1, json!(2)).await.version, 2);
        let late = store.change(change(Kind::Agent, "a", 1, json!(3))).await;
        assert_eq!(late, Err(StoreError::Stale));
        assert_eq!(store.change(removal(Kind::Agent, "a", 1)).await, Err(StoreError::Stale));
        assert_eq!(store.entry(Kind::Agent, "acme", "a").await.unwrap().body, json!(2));
    }

    what_was_removed_and_put_back_is_not_what_was_read_before(bed) {
        let store = bed.open();
        put(&*store, Kind::Agent, "a", 0, json!(1)).await;
        let gone = store.change(removal(Kind::Agent, "a", 1)).await.unwrap();
        assert_eq!((gone.version, gone.body), (1, json!(1)));
        assert_eq!(store.entry(Kind::Agent, "acme", "a").await, Err(StoreError::Missing));
        assert_eq!(store.change(removal(Kind::Agent, "a", 2)).await, Err(StoreError::Missing));
        assert_eq!(store.change(removal(Kind::Agent, "a", 0)).await, Err(StoreError::Missing));
        assert_eq!(put(&*store, Kind::Agent, "a", 0, json!(2)).await.version, 3);
        let late = store.change(change(Kind::Agent, "a", 1, json!(3))).await;
        assert_eq!(late, Err(StoreError::Stale));
    }

    earlier_versions_can_be_read_unless_they_hold_credentials(bed) {
        let store = bed.open();
        for kind in [Kind::Policy, Kind::Key, Kind::Connection] {
            put(&*store, kind, "p", 0, json!("one")).await;
            put(&*store, kind, "p", 1, json!("two")).await;
            store.change(removal(kind, "p", 2)).await.unwrap();
            put(&*store, kind, "p", 0, json!("three")).await;
            let versions = store.versions(kind, "acme", "p", None, 10).await.unwrap();
            let seen: Vec<_> = versions.iter().map(|one| (one.version, &one.body)).collect();
            let (one, two, three) = (json!("one"), json!("two"), json!("three"));
            let all = [(4, &three), (2, &two), (1, &one)];
            let expected = if kind == Kind::Policy { &all[..] } else { &all[..1] };
            assert_eq!(seen, expected, "{kind:?}");
        }
        let page = async |before, limit| {
            let found = store.versions(Kind::Policy, "acme", "p", before, limit).await.unwrap();
            found.iter().map(|one| one.version).collect::<Vec<_>>()
        };
        assert_eq!(page(None, 1).await, [4]);
        assert_eq!(page(Some(4), 1).await, [2], "the third version was its removal");
        assert_eq!(page(Some(3), 10).await, [2, 1]);
        assert_eq!(page(Some(1), 10).await, Vec::<u64>::new());
        assert_eq!(store.versions(Kind::Policy, "other", "p", None, 1).await.unwrap(), []);
    }

    entries_are_listed_by_kind_and_tenant(bed) {
        let store = bed.open();
        put(&*store, Kind::Agent, "b", 0, json!(1)).await;
        put(&*store, Kind::Agent, "a", 0, json!(2)).await;
        put(&*store, Kind::Key, "a", 0, json!(3)).await;
        let mut theirs = change(Kind::Agent, "c", 0, json!(4));
        theirs.tenant = "other".into();
        store.change(theirs).await.unwrap();
        put(&*store, Kind::Agent, "gone", 0, json!(5)).await;
        store.change(removal(Kind::Agent, "gone", 1)).await.unwrap();
        let names = |entries: Vec<Entry>| {
            entries.into_iter().map(|one| format!("{}/{}", one.tenant, one.id)).collect::<Vec<_>>()
        };
        let ours = store.entries(Kind::Agent, Some("acme")).await.unwrap();
        assert_eq!(names(ours), ["acme/a", "acme/b"]);
        let all = store.entries(Kind::Agent, None).await.unwrap();
        assert_eq!(names(all), ["acme/a", "acme/b", "other/c"]);
        let Snapshot { changes, entries } = store.snapshot().await.unwrap();
        assert_eq!(names(entries), ["acme/a", "acme/b", "other/c", "acme/a"]);
        assert_eq!(changes, 6);
    }

    every_change_is_counted_for_other_processes_and_stands_in_the_trail(bed) {
        let (one, two) = (bed.open(), bed.open());
        assert_eq!(two.changes().await.unwrap(), 0);
        put(&*one, Kind::Agent, "a", 0, json!({"x": 1})).await;
        assert_eq!(two.changes().await.unwrap(), 1);
        let stale = two.change(change(Kind::Agent, "a", 0, json!(2))).await;
        assert_eq!(stale, Err(StoreError::Stale));
        assert_eq!(one.changes().await.unwrap(), 1, "a refused change is none");
        two.change(removal(Kind::Agent, "a", 1)).await.unwrap();
        assert_eq!(one.changes().await.unwrap(), 2);
        assert_eq!(kinds(&*one).await, ["config", "config"]);
        let trail = one.audit(1, 10).await.unwrap();
        let said: Value = serde_json::from_str(&trail[0].body).unwrap();
        assert_eq!(trail[0].tenant, "acme");
        assert_eq!((&said["kind"], &said["id"]), (&json!("agent"), &json!("a")));
        assert_eq!((&said["version"], &said["by"]), (&json!(1), &json!("user:mara")));
        assert!(said["digest"].as_str().unwrap().starts_with("sha256:"), "{said}");
        assert!(!trail[0].body.contains("\"x\""), "bodies stay out of the trail");
        let said: Value = serde_json::from_str(&trail[1].body).unwrap();
        assert_eq!((&said["version"], &said["digest"]), (&json!(2), &json!(null)));
    }

    what_cannot_be_kept_is_refused(bed) {
        let store = bed.open();
        let too_long = json!("x".repeat(MAX_ENTRY_BYTES));
        for wrong in [
            change(Kind::Agent, "", 0, json!(1)),
            change(Kind::Agent, "a\nb", 0, json!(1)),
            change(Kind::Agent, &"a".repeat(600), 0, json!(1)),
            change(Kind::Agent, "a", 0, too_long),
        ] {
            let refused = store.change(wrong).await;
            assert!(matches!(refused, Err(StoreError::WrongState(_))), "{refused:?}");
        }
        assert_eq!(store.changes().await.unwrap(), 0);
    }
}
