//! A store that the last version without sealing has made, opened by this one.
//!
//! What is in `before/` was written by that version itself, with the acts of `sealing.rs`.

use std::fs;
use std::sync::Arc;

use haft_core::Principal;
use haft_core::connection::{Account, AuthKind, Credentials, Grant, Origin};
use haft_core::ledger::State;
use haft_core::port::{
    Configs as _, Connections as _, Expect, Journal as _, Ledger as _, Store as _,
};
use haft_core::secret::SecretText;
use haft_store::vault::{Key, Keyring};
use haft_store::{Sqlite, Vault};
use rusqlite::Connection;
use serde_json::json;

use crate::bed::{BEFORE_TICKS, Bed, LEASE, SCHEMA, claim, fresh, settle, settled};
use crate::sealing::{CANARY, act, ask_and_talk, parts, said, seen, tenant, verified};
use crate::trail::{touch, verdict};

/// What the connection in it was sealed with.
fn keys() -> Keyring {
    Keyring::new(vec![Key::parse(&"7".repeat(64)).unwrap()])
}

/// The store of before, as that version left it.
pub(crate) fn laid_out(bed: &Bed) {
    let beside = |name: &str| format!("{}.{name}", bed.path().display());
    let conn = Connection::open(bed.path()).unwrap();
    conn.execute_batch(include_str!("before/schema9.sql")).unwrap();
    fs::write(beside("key"), include_str!("before/schema9.key")).unwrap();
    fs::write(beside("checkpoints"), include_str!("before/schema9.checkpoints")).unwrap();
    #[cfg(unix)]
    for name in ["key", "checkpoints"] {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(beside(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    bed.clock.advance(LEASE + 1);
}

/// The same acts, by this version.
async fn again(bed: &Bed) -> Sqlite {
    let store = Arc::new(bed.open_sqlite(|_| ()));
    store.change(tenant("acme", 0, Some(json!({ "description": CANARY })))).await.unwrap();
    act(&store, &bed.clock).await;
    ask_and_talk(&store).await;
    let account = Account {
        tenant: "acme".into(),
        id: "work".into(),
        provider: "tracker".into(),
        kind: AuthKind::Bearer,
        hosts: vec!["api.example".into()],
        origin: Origin::Operator,
        revision: 0,
        made_ms: 0,
        changed_ms: 0,
    };
    let (vault, root) = (Vault::new(store.clone(), keys()), Principal::user("root"));
    let token = Credentials::Bearer(SecretText::new("token-9c2e41"));
    vault.put(account, &token, Expect::Nothing, Some(&root)).await.unwrap();
    let grant = Grant {
        tenant: "acme".into(),
        connection: "work".into(),
        principals: vec!["*".into()],
        tools: vec!["*".into()],
    };
    vault.grant(grant, &root).await.unwrap();
    drop(vault);
    Arc::into_inner(store).unwrap()
}

/// In the body of an entry that says what was granted before.
pub(crate) const FOUND: &str = r#""what":"found""#;

/// Without digests, which are over what this version writes and that one did not.
fn words(text: &str) -> String {
    let is_hex = |byte: char| byte.is_ascii_hexdigit();
    text.split("sha256:").map(|rest| rest.trim_start_matches(is_hex)).collect()
}

/// What the trail tells of, and when: but for beginnings, of which that version said nothing, and for what was
/// found when it was brought to this one.
async fn trail(store: &Sqlite) -> Vec<(i64, String)> {
    let all = store.audit(1, 100).await.unwrap();
    let told = all.into_iter().filter(|one| one.kind != "begin" && !one.body.contains(FOUND));
    told.map(|one| (one.at_ms, one.kind)).collect()
}

async fn check(bed: &Bed) {
    laid_out(bed);
    let store = Arc::new(bed.open_sqlite(|_| ()));
    let now: i64 = {
        let conn = Connection::open(bed.path()).unwrap();
        conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    assert_eq!(now, SCHEMA);
    let other = Bed::sqlite();
    let made = again(&other).await;
    assert_eq!(trail(&store).await, trail(&made).await);
    let all = parts(&store).await.into_iter().zip(parts(&made).await);
    for (at, (found, made)) in all.enumerate() {
        // This version says more in the trail: where it is looked through, the kinds are compared.
        if at != 3 && at != 4 {
            assert_eq!(words(&found), words(&made));
        }
    }
    drop(made);
    let vault = Vault::new(store.clone(), keys());
    let (account, credentials) = vault.open("acme", "work").await.unwrap();
    assert_eq!((account.provider.as_str(), account.revision), ("tracker", 1));
    assert_eq!(credentials.secrets()[0].expose(), "token-9c2e41");
    assert_eq!(vault.grants().await.unwrap().len(), 1);
    // What was done is not done again, and the trail goes on.
    let entries = store.audit(1, 100).await.unwrap().len();
    assert!(store.is_writable());
    let settled = fresh(&*store, claim("after")).await;
    settle(&*store, &settled, State::Succeeded, Some(json!({ "said": "after-77b0" }))).await;
    drop((vault, store));
    // It was signed before, and now says with which key.
    assert_eq!(verified(bed).await.entries, entries as u64 + 3);
    let store = bed.open_sqlite(|_| ());
    let after = store.effect("acme", "call of after").await.unwrap();
    assert_eq!(after.result, Some(json!({ "said": "after-77b0" })));
    assert_eq!(store.effect("acme", "call of first").await.unwrap().result, Some(said()));
}

#[tokio::test]
async fn a_store_of_before_is_read_and_goes_on() {
    let bed = Bed::sqlite();
    check(&bed).await;
    assert!(seen(&bed, b"after-77b0") > 0, "without a key it is written as it is");
}

#[tokio::test]
async fn a_store_of_before_seals_what_is_written_from_now_on() {
    let bed = Bed::sealed();
    check(&bed).await;
    assert_eq!(seen(&bed, b"after-77b0"), 0);
    assert!(seen(&bed, CANARY.as_bytes()) > 0, "what was clear stays so");
}

/// Takes back what the version before that says of parts.
const BEFORE_PARTS: &str = "DROP INDEX effects_parts; ALTER TABLE effects DROP COLUMN part_of; \
    PRAGMA user_version = 16";

/// A version before knew the call alone that asked for an effect.
#[tokio::test]
async fn parts_that_were_begun_by_a_version_before_are_found_by_their_call() {
    for bed in [Bed::sqlite, Bed::sealed] {
        let bed = bed();
        let store = bed.open_sqlite(|_| ());
        let whole = settled(&store, claim("whole"), State::Succeeded).await;
        let mut part = claim("part");
        part.effect.within = Some(whole.effect.call.clone());
        settled(&store, part, State::Succeeded).await;
        settled(&store, claim("other"), State::Succeeded).await;
        drop(store);
        touch(&bed, &format!("{BEFORE_TICKS}; {BEFORE_PARTS}"));
        assert!(verdict(&bed).is_ok());
        let store = bed.open_sqlite(|_| ());
        let mut newer = claim("newer");
        newer.effect.part_of = Some(whole.key.clone());
        settled(&store, newer, State::Succeeded).await;
        let found = store.parts(&whole).await.unwrap();
        let calls: Vec<_> = found.iter().map(|one| one.effect.call.as_str()).collect();
        assert_eq!(calls, ["call of newer", "call of part"]);
        drop(store);
        assert!(verdict(&bed).is_ok(), "the trail says nothing else of what was there");
    }
}
