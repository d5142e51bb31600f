//! Who may use a connection is what the trail says, not what a row does.

use std::sync::Arc;

use haft_core::Principal;
use haft_core::connection::{Account, AuthKind, Credentials, Grant, Origin};
use haft_core::port::{
    Connections as _, Expect, Journal as _, Ledger as _, Store as _, StoreError,
};
use haft_core::secret::SecretText;
use haft_store::trail::Fault;
use haft_store::vault::{Key, Keyring};
use haft_store::{Sqlite, Vault, Verify};
use rusqlite::Connection;
use serde_json::json;

use crate::bed::{BEFORE_TICKS, Bed, SCHEMA, claim, word};
use crate::trail::{touch, verdict};

const DAY: i64 = 86_400_000;
/// Takes back what later versions have changed.
const BEFORE_GRANTS: &str = "DROP INDEX audit_grants; DROP INDEX effects_deeds; \
    ALTER TABLE effects DROP COLUMN deed; DROP INDEX confirmations_asker; DROP INDEX effects_parts; \
    ALTER TABLE effects DROP COLUMN part_of; \
    ALTER TABLE confirmations DROP COLUMN asker; PRAGMA user_version = 13";
const EVE: &str = "replace(body, 'user:mara', 'user:eve')";

fn root() -> Principal {
    Principal::user("root")
}

fn vault(store: &Arc<Sqlite>) -> Vault {
    let keys = Keyring::new(vec![Key::parse(&"7".repeat(64)).unwrap()]);
    Vault::new(store.clone(), keys)
}

async fn make(vault: &Vault, id: &str) {
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

/// Four connections: granted to two of whom one has lost it, granted to nobody any more, removed, and never
/// granted.
async fn connected() -> Bed {
    let bed = Bed::sqlite();
    let store = Arc::new(bed.open_sqlite(|_| ()));
    let vault = vault(&store);
    for id in ["work", "home", "gone"] {
        make(&vault, id).await;
        grant(&vault, id, &["agent:*", "user:mara"]).await;
    }
    make(&vault, "new").await;
    vault.revoke("acme", "work", Some("agent:*"), &root()).await.unwrap();
    vault.revoke("acme", "home", None, &root()).await.unwrap();
    vault.remove("acme", "gone", &root()).await.unwrap();
    drop((vault, store));
    bed
}

fn whole(bed: &Bed) -> Arc<Sqlite> {
    Arc::new(bed.open_sqlite(|options| options.verify = Verify::Whole))
}

fn tail(bed: &Bed) -> Arc<Sqlite> {
    Arc::new(bed.open_sqlite(|options| (options.verify, options.short) = (Verify::Tail, 0)))
}

async fn is_stopped(store: &Sqlite, tenant: &str) -> bool {
    match store.trusts(tenant).await {
        Err(StoreError::Tampered(_)) => true,
        other => other.map(|()| false).unwrap(),
    }
}

/// Who may use which connection.
async fn in_force(store: &Arc<Sqlite>) -> Vec<String> {
    let all = vault(store).grants().await.unwrap();
    let own = vault(store).grants_in("acme").await.unwrap();
    assert_eq!(all, own);
    all.into_iter().map(|one| format!("{}: {}", one.connection, one.principals.join(" "))).collect()
}

/// Told, not used, and stops effects when all of it is read and when its tail is, until somebody has looked:
/// which is no grant.
async fn check(sql: &str, left: &[&str]) {
    let bed = connected().await;
    let store = tail(&bed);
    assert_eq!(in_force(&store).await, ["work: user:mara"]);
    assert_eq!(store.verify().await.unwrap().broken, None, "{sql}");
    store.note("acme", "note", json!("since then")).await.unwrap();
    touch(&bed, sql);
    assert_eq!(in_force(&store).await, left, "{sql}: while it runs");
    drop(store);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Grants, "{sql}");
    let store = tail(&bed);
    assert!(store.condition().check_due, "{sql}: only its tail was read");
    assert!(is_stopped(&store, "acme").await && !is_stopped(&store, "other").await, "{sql}");
    let store = whole(&bed);
    assert!(is_stopped(&store, "acme").await && !is_stopped(&store, "other").await, "{sql}");
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    drop(store);
    for store in [whole(&bed), tail(&bed)] {
        assert!(!is_stopped(&store, "acme").await, "{sql}: once somebody has looked");
        assert_eq!(in_force(&store).await, left, "{sql}: whoever has looked has not granted");
    }
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Grants, "{sql}: it is still told");
}

#[tokio::test]
async fn a_grant_that_is_not_in_the_trail_is_not_used_and_is_told() {
    let mara: &[&str] = &["work: user:mara"];
    let insert = |connection: &str, body: &str| {
        format!(
            "INSERT INTO connection_grants SELECT tenant, {connection}, {body} FROM \
             connection_grants WHERE connection = 'work'"
        )
    };
    // For somebody else, for more, and as it was before it was taken back.
    check(&insert("connection", EVE), mara).await;
    check(&insert("connection", "json_set(body, '$.principals[0]', '*')"), mara).await;
    check(&insert("connection", "json_insert(body, '$.principals[1]', 'agent:*')"), mara).await;
    // Of a connection that was granted once, that was removed, and that nobody was ever granted.
    for id in ["home", "gone", "new", "none"] {
        let moved = format!("json_set(body, '$.connection', '{id}')");
        check(&insert(&format!("'{id}'"), &moved), mara).await;
        check(&insert(&format!("'{id}'"), "body"), mara).await;
    }
    check(&insert("connection", "'{}'"), mara).await;
    check(&insert("connection", "CAST(x'ff' AS TEXT)"), mara).await;
}

#[tokio::test]
async fn a_grant_that_was_edited_or_removed_is_told() {
    check(&format!("UPDATE connection_grants SET body = {EVE}"), &[]).await;
    check("UPDATE connection_grants SET body = json_set(body, '$.tools[0]', 'mail*')", &[]).await;
    check("UPDATE connection_grants SET connection = 'home'", &[]).await;
    check("UPDATE connection_grants SET tenant = 'acme2'", &[]).await;
    check("DELETE FROM connection_grants", &[]).await;
}

/// An entry that was touched says nothing of who may use what.
#[tokio::test]
async fn a_grant_whose_entry_was_touched_is_not_used() {
    for sql in [
        "UPDATE audit SET body = replace(body, 'root', 'boss') WHERE body LIKE '%revoked%' \
         AND body LIKE '%work%'",
        "UPDATE audit SET previous = zeroblob(32) WHERE number = 1 + (SELECT max(number) FROM audit \
         WHERE body LIKE '%\"work\"%')",
    ] {
        let bed = connected().await;
        touch(&bed, sql);
        let store = whole(&bed);
        assert!(in_force(&store).await.is_empty(), "{sql}");
        assert!(is_stopped(&store, "acme").await, "{sql}");
    }
}

#[tokio::test]
async fn what_somebody_wrote_is_taken_back_and_granted_like_anything() {
    let bed = connected().await;
    let forge = format!(
        "INSERT INTO connection_grants SELECT tenant, connection, {EVE} FROM connection_grants"
    );
    touch(&bed, &forge);
    let store = Arc::new(bed.open_sqlite(|_| ()));
    // What is granted beside it does not make it one.
    grant(&vault(&store), "work", &["user:bo"]).await;
    assert_eq!(in_force(&store).await, ["work: user:bo", "work: user:mara"]);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Grants);
    assert_eq!(vault(&store).revoke("acme", "work", Some("user:eve"), &root()).await, Ok(1));
    assert_eq!(in_force(&store).await, ["work: user:bo", "work: user:mara"]);
    assert!(verdict(&bed).is_ok());
    // Or somebody means it.
    touch(
        &bed,
        "INSERT INTO connection_grants SELECT tenant, connection, \
                 replace(body, 'mara', 'eve') FROM connection_grants WHERE body LIKE '%mara%'",
    );
    assert!(verdict(&bed).is_err());
    grant(&vault(&store), "work", &["user:eve"]).await;
    assert_eq!(in_force(&store).await.len(), 3);
    assert!(verdict(&bed).is_ok());
    // What was removed by hand is no grant, whatever is granted or taken back after it, and stays told
    // until all of them are.
    touch(&bed, "DELETE FROM connection_grants WHERE body LIKE '%mara%'");
    grant(&vault(&store), "work", &["user:ann"]).await;
    vault(&store).revoke("acme", "work", Some("user:bo"), &root()).await.unwrap();
    assert_eq!(in_force(&store).await, ["work: user:ann", "work: user:eve"]);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Grants);
    vault(&store).revoke("acme", "work", None, &root()).await.unwrap();
    assert!(in_force(&store).await.is_empty());
    assert!(verdict(&bed).is_ok());
}

/// What is left of entries that were cut off is known by itself, not by a number that other entries get.
#[tokio::test]
async fn grants_of_a_tail_that_was_cut_off_stop_nobody_again_once_somebody_has_looked() {
    let bed = connected().await;
    let store = Arc::new(bed.open_sqlite(|_| ()));
    grant(&vault(&store), "new", &["user:bo"]).await;
    drop(store);
    touch(&bed, "DELETE FROM audit WHERE number >= 8");
    let store = whole(&bed);
    assert!(is_stopped(&store, "acme").await);
    // The last word on it is that it was granted, and to whom; but not this.
    assert!(in_force(&store).await.is_empty());
    bed.clock.advance(1);
    store.acknowledge(&Principal::user("ines"), "seen").await.unwrap();
    for n in 0..20 {
        store.note("acme", "note", json!(n)).await.unwrap();
        let other = whole(&bed);
        assert!(!is_stopped(&other, "acme").await, "{n}");
        assert!(in_force(&other).await.is_empty(), "{n}");
    }
    assert_eq!(word(&store.claim(claim("k")).await.unwrap()), "fresh 1");
}

#[tokio::test]
async fn the_last_word_on_a_connection_is_not_forgotten_and_those_before_are() {
    let bed = connected().await;
    let store = Arc::new(bed.open_sqlite(|_| ()));
    bed.clock.advance(400 * DAY);
    store.note("acme", "note", json!("the newest")).await.unwrap();
    while store.forget(i64::MAX).await.unwrap().more {}
    let said: Vec<_> = store.audit(1, 100).await.unwrap();
    let said = said.iter().filter(|one| one.kind == "connection");
    let said: Vec<serde_json::Value> =
        said.map(|one| serde_json::from_str(&one.body).unwrap()).collect();
    let said: Vec<_> = said
        .iter()
        .map(|one| {
            format!("{} {}", one["what"].as_str().unwrap(), one["connection"].as_str().unwrap())
        })
        .collect();
    assert_eq!(said, ["revoked work", "revoked home", "removed gone"]);
    assert_eq!(in_force(&store).await, ["work: user:mara"]);
    drop(store);
    assert!(verdict(&bed).unwrap().forgotten > 0);
    touch(&bed, &format!("UPDATE connection_grants SET body = {EVE}"));
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Grants);
}

/// The store of `before/` has one grant, of which no entry says how it stands.
#[tokio::test]
async fn what_an_older_haft_granted_is_taken_as_it_is_found_and_only_once() {
    let bed = Bed::sqlite();
    crate::before::laid_out(&bed);
    assert!(verdict(&bed).is_ok(), "nothing is compared before it is opened");
    let store = whole(&bed);
    assert_eq!(in_force(&store).await, ["work: *"]);
    let entries = store.audit(1, 100).await.unwrap();
    let found: Vec<_> =
        entries.iter().filter(|one| one.body.contains(crate::before::FOUND)).collect();
    assert_eq!(found.len(), 2, "of the connection, and that it was done");
    assert!(!is_stopped(&store, "acme").await);
    drop(store);
    assert!(verdict(&bed).is_ok());
    let forge = "INSERT INTO connection_grants VALUES ('acme', 'other', \
        '{\"tenant\":\"acme\",\"connection\":\"other\",\"principals\":[\"*\"],\"tools\":[\"*\"]}')";
    touch(&bed, forge);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Grants);
    // Whoever says that it is an old store is not believed.
    let before = format!("{BEFORE_TICKS}; {BEFORE_GRANTS}");
    touch(&bed, &before);
    assert_eq!(verdict(&bed).unwrap_err().fault, Fault::Grants);
    let store = whole(&bed);
    assert_eq!(in_force(&store).await, ["work: *"]);
    assert!(is_stopped(&store, "acme").await);
    drop(store);
    // Nor of a store that is new: its signing says so.
    let bed = connected().await;
    let forge = forge.replace("other", "new");
    touch(&bed, &format!("{forge}; {before}"));
    assert_eq!(in_force(&whole(&bed)).await, ["work: user:mara"]);
    let version: i64 = Connection::open(bed.path())
        .and_then(|conn| conn.pragma_query_value(None, "user_version", |row| row.get(0)))
        .unwrap();
    assert_eq!(version, SCHEMA);
}
