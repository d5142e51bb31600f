//! Tables that are compared with the trail besides the ledger: who may use a connection, and where calls
//! are found.

use std::sync::Arc;

use haft_core::Principal;
use haft_core::config::{Change, Kind};
use haft_core::connection::{Account, AuthKind, Credentials, Grant, Origin};
use haft_core::ledger::State;
use haft_core::port::{
    Configs as _, Connections as _, Expect, Journal as _, Ledger as _, Store as _, StoreError,
};
use haft_core::secret::SecretText;
use haft_store::trail::Fault;
use haft_store::vault::{Key, Keyring};
use haft_store::{Sqlite, Vault, Verify};
use serde_json::json;

use crate::bed::{Bed, call_record, claim, ending, fresh};
use crate::trail::{touch, verdict};

const DAY: i64 = 86_400_000;

fn root() -> Principal {
    Principal::user("root")
}

async fn made(vault: &Vault, id: &str) {
    let account = Account {
        tenant: "acme".into(),
        id: id.into(),
        provider: "tracker".into(),
        kind: AuthKind::Bearer,
        hosts: vec!["api.example".into()],
        origin: Origin::Operator,
        revision: 0,
        made_ms: 0,
        changed_ms: 0,
    };
    let token = Credentials::Bearer(SecretText::new("t"));
    vault.put(account, &token, Expect::Nothing, Some(&root())).await.unwrap();
}

async fn grant(vault: &Vault, id: &str, to: &[&str]) {
    let principals = to.iter().map(|one| (*one).to_owned()).collect();
    let (tenant, connection) = ("acme".into(), id.to_owned());
    let grant = Grant { tenant, connection, principals, tools: vec!["*".into()] };
    vault.grant(grant, &root()).await.unwrap();
}

/// Two connections, one with a grant to two of which one was revoked, and one that was removed.
async fn connected(bed: &Bed) {
    let store = Arc::new(bed.open_sqlite(|_| ()));
    let keys = Keyring::new(vec![Key::parse(&"7".repeat(64)).unwrap()]);
    let vault = Vault::new(store, keys);
    for id in ["work", "home", "gone"] {
        made(&vault, id).await;
        grant(&vault, id, &["agent:*", "user:mara"]).await;
    }
    vault.revoke("acme", "work", Some("agent:*"), &root()).await.unwrap();
    vault.revoke("acme", "home", None, &root()).await.unwrap();
    vault.remove("acme", "gone", &root()).await.unwrap();
}

async fn record(store: &Sqlite, call: &str) {
    store.record(call_record(call, "core__kb_search", 1).into());
    store.flush().await.unwrap();
}

/// A read and an effect, each with its record.
async fn called(bed: &Bed) {
    let store = bed.open_sqlite(|_| ());
    record(&store, "c1").await;
    let ticket = fresh(&store, claim("k")).await;
    let done = ending(State::Succeeded, Some(json!(1)));
    let written = call_record(&ticket.call, "core__pay", 7);
    store.settle(&ticket, done, Some(written)).await.unwrap();
}

async fn is_stopped(store: &Sqlite, tenant: &str) -> bool {
    match store.trusts(tenant).await {
        Err(StoreError::Tampered(_)) => true,
        other => other.map(|()| false).unwrap(),
    }
}

/// Told by `verify`, and stops effects when all of it is read, when its tail is, and until somebody has looked.
async fn check(bed: &Bed, sql: &str, fault: Fault) {
    assert!(verdict(bed).is_ok(), "{:?}", verdict(bed));
    touch(bed, &format!("PRAGMA foreign_keys = OFF; {sql}"));
    assert_eq!(verdict(bed).unwrap_err().fault, fault, "{sql}");
    let store = bed.open_sqlite(|options| options.verify = Verify::Whole);
    assert!(is_stopped(&store, "acme").await && !is_stopped(&store, "other").await, "{sql}");
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    drop(store);
    let store = bed.open_sqlite(|options| options.verify = Verify::Whole);
    assert!(!is_stopped(&store, "acme").await, "{sql}: once somebody has looked");
    assert_eq!(verdict(bed).unwrap_err().fault, fault, "{sql}: it is still told");
}

#[tokio::test]
async fn grants_that_were_edited_do_not_fit_the_trail() {
    let eve = "replace(body, 'user:mara', 'user:eve')";
    for sql in [
        &format!(
            "INSERT INTO connection_grants SELECT tenant, connection, {eve} FROM connection_grants"
        ),
        &format!("UPDATE connection_grants SET body = {eve}"),
        "UPDATE connection_grants SET connection = 'home'",
        "INSERT INTO connection_grants SELECT tenant, 'other', body FROM connection_grants",
        "UPDATE connection_grants SET body = '{}'",
        "DELETE FROM connection_grants",
    ] {
        let bed = Bed::sqlite();
        connected(&bed).await;
        check(&bed, sql, Fault::Grants).await;
    }
}

#[tokio::test]
async fn calls_that_were_edited_do_not_fit_the_trail() {
    for sealed in [false, true] {
        for (sql, also_sealed) in [
            ("DELETE FROM calls WHERE tool = 'core__kb_search'", true),
            ("DELETE FROM calls WHERE tool = 'core__pay'", true),
            ("UPDATE calls SET tool = 'core__x' WHERE tool = 'core__kb_search'", true),
            ("UPDATE calls SET call = 'c2'", true),
            ("UPDATE calls SET agent = 'a'", true),
            ("UPDATE calls SET session = NULL", true),
            ("UPDATE calls SET number = 2 WHERE number = 1", true),
            (
                "INSERT INTO calls SELECT 99, tenant, agent, tool, session, call, error, \
              started_at_ms, duration_us FROM calls WHERE number = 1",
                true,
            ),
            // In the seal.
            ("UPDATE calls SET tool = 'core__x' WHERE tool = 'core__pay'", false),
            ("UPDATE calls SET error = 'denied'", false),
            ("UPDATE calls SET started_at_ms = 1", false),
            ("UPDATE calls SET duration_us = 2", false),
        ] {
            if sealed && !also_sealed {
                continue;
            }
            let bed = if sealed { Bed::sealed() } else { Bed::sqlite() };
            called(&bed).await;
            check(&bed, sql, Fault::Calls).await;
        }
    }
}

#[tokio::test]
async fn they_are_compared_when_the_tail_is_read() {
    for (sql, stops) in [
        ("SELECT 1", false),
        ("UPDATE connection_grants SET body = replace(body, 'mara', 'eve')", true),
        ("DELETE FROM calls WHERE call = 'new'", true),
        // Beside the work, as with the entries themselves.
        ("DELETE FROM calls WHERE call = 'c1'", false),
    ] {
        let bed = Bed::sqlite();
        connected(&bed).await;
        called(&bed).await;
        let by_tail =
            || bed.open_sqlite(|options| (options.verify, options.short) = (Verify::Tail, 0));
        let store = by_tail();
        assert_eq!(store.verify().await.unwrap().broken, None);
        record(&store, "new").await;
        drop(store);
        touch(&bed, &format!("PRAGMA foreign_keys = OFF; {sql}"));
        let store = by_tail();
        assert!(store.condition().check_due, "only its tail was read");
        assert_eq!(is_stopped(&store, "acme").await, stops, "{sql}");
    }
}

#[tokio::test]
async fn what_was_forgotten_or_removed_with_its_tenant_is_no_fault() {
    let bed = Bed::sqlite();
    connected(&bed).await;
    called(&bed).await;
    let store = bed.open_sqlite(|_| ());
    bed.clock.advance(40 * DAY);
    store.purge().await.unwrap();
    record(&store, "new").await;
    while store.forget(i64::MAX).await.unwrap().more {}
    drop(store);
    let found = verdict(&bed).unwrap();
    assert!(found.forgotten > 0);
    let grants = "UPDATE connection_grants SET body = replace(body, 'mara', 'eve')";
    check(&bed, grants, Fault::Grants).await;

    let bed = Bed::sqlite();
    let store = bed.open_sqlite(|_| ());
    let change = |from, to| {
        let (tenant, id) = ("acme".to_owned(), "acme".to_owned());
        Change { kind: Kind::Tenant, tenant, id, from, to, by: root() }
    };
    store.change(change(0, Some(json!({})))).await.unwrap();
    record(&store, "c1").await;
    store.change(change(1, None)).await.unwrap();
    drop(store);
    assert!(verdict(&bed).is_ok(), "{:?}", verdict(&bed));
}
