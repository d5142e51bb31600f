//! What every store of connections does, in memory and sealed in SQLite.

use std::sync::Arc;

use haft_core::Principal;
use haft_core::connection::{
    Access, Account, AuthKind, ClientAuth, Credentials, Grant, OAuth, OAuthGrant, Origin,
};
use haft_core::port::{Confirmations as _, Connections, Expect, StoreError};
use haft_core::record::ConfirmationStatus;
use haft_core::secret::SecretText;
use haft_store::vault::{Declared, Key, Keyring, Source};
use haft_store::{Accounts, Options, Sqlite, Vault};

use crate::bed::confirmation;

fn account(tenant: &str, id: &str) -> Account {
    Account {
        tenant: tenant.to_owned(),
        id: id.to_owned(),
        provider: "p".to_owned(),
        kind: AuthKind::Bearer,
        hosts: vec!["api.example.com".to_owned()],
        origin: Origin::Operator,
        revision: 0,
        made_ms: 0,
        changed_ms: 0,
    }
}

fn bearer(text: &str) -> Credentials {
    Credentials::Bearer(SecretText::new(text))
}

fn grant(principals: &[&str]) -> Grant {
    Grant {
        tenant: "a".to_owned(),
        connection: "one".to_owned(),
        principals: principals.iter().map(|one| (*one).to_owned()).collect(),
        tools: vec!["*".to_owned()],
    }
}

async fn contract(store: &dyn Connections) {
    let boss = &Principal::user("boss");
    let by = Some(boss);
    let made = store.put(account("a", "one"), &bearer("first"), Expect::Nothing, by).await.unwrap();
    assert_eq!(made.revision, 1);
    let twice = store.put(account("a", "one"), &bearer("again"), Expect::Nothing, by).await;
    assert_eq!(twice, Err(StoreError::Stale));
    store.put(account("b", "one"), &bearer("other tenant"), Expect::Nothing, by).await.unwrap();
    let (found, credentials) = store.open("a", "one").await.unwrap();
    assert_eq!(found, made);
    assert_eq!(credentials.secrets()[0].expose(), "first");
    // Changes name the revision that they saw.
    let changed =
        store.put(made.clone(), &bearer("second"), Expect::Revision(1), by).await.unwrap();
    assert_eq!((changed.revision, changed.made_ms), (2, made.made_ms));
    let late = store.put(made, &bearer("late"), Expect::Revision(1), by).await;
    assert_eq!(late, Err(StoreError::Stale));
    assert_eq!(store.open("a", "one").await.unwrap().1.secrets()[0].expose(), "second");
    assert_eq!(store.accounts("a").await.unwrap(), [changed]);
    // One holds, until the time is over or the record was written.
    assert!(store.hold("a", "one", 60_000).await.unwrap());
    assert!(!store.hold("a", "one", 60_000).await.unwrap());
    // Grants.
    store.grant(grant(&["agent:x", "user:y"]), boss).await.unwrap();
    store.grant(grant(&["user:y"]), boss).await.unwrap();
    assert_eq!(store.grants().await.unwrap().len(), 2);
    assert_eq!(store.revoke("a", "one", Some("user:y"), boss).await.unwrap(), 2);
    assert_eq!(store.grants().await.unwrap(), [grant(&["agent:x"])]);
    let nowhere = Grant { connection: "none".to_owned(), ..grant(&["*"]) };
    assert_eq!(store.grant(nowhere, boss).await, Err(StoreError::Missing));
    // What is removed is gone, with its grants, and nobody else's.
    store.remove("a", "one", boss).await.unwrap();
    assert_eq!(store.remove("a", "one", boss).await, Err(StoreError::Missing));
    assert!(matches!(store.open("a", "one").await.err(), Some(StoreError::Missing)));
    assert!(store.grants().await.unwrap().is_empty());
    assert_eq!(store.open("b", "one").await.unwrap().1.secrets()[0].expose(), "other tenant");
}

#[tokio::test]
async fn memory() {
    contract(&Accounts::default()).await;
}

#[tokio::test]
async fn sealed_in_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Sqlite::open(dir.path().join("haft.db"), Options::default()).unwrap());
    let keys = Keyring::new(vec![Key::random().unwrap()]);
    contract(&Vault::new(store, keys)).await;
}

/// A declared connection whose secret is as it stands in a cell.
fn declared(id: &str, secret: &Arc<std::sync::Mutex<String>>) -> (Account, Source) {
    let secret = secret.clone();
    let mut account = account("a", id);
    account.kind = AuthKind::ClientCredentials;
    let source = move || {
        let text = secret.lock().unwrap().clone();
        if text.is_empty() {
            return Err("the environment variable `X` is not set".to_owned());
        }
        Ok(Credentials::OAuth(Box::new(OAuth {
            grant: OAuthGrant::ClientCredentials,
            authorize_url: None,
            token_url: "https://auth.example.com/".to_owned(),
            client_id: "me".to_owned(),
            client_secret: Some(SecretText::new(text)),
            client_auth: ClientAuth::Basic,
            scopes: Vec::new(),
            audience: None,
            refresh: None,
            access: None,
        })))
    };
    (account, Arc::new(source))
}

/// What was approved was to be done with the account of then.
#[tokio::test]
async fn what_was_approved_for_another_account_is_open_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Sqlite::open(dir.path().join("haft.db"), Options::default()).unwrap());
    let keys = Keyring::new(vec![Key::random().unwrap()]);
    let vault = Vault::new(store.clone(), keys);
    let (boss, ines) = (Principal::user("boss"), Principal::user("ines"));
    let by = Some(&boss);
    let status = async |id: &str| store.confirmation("acme", id).await.unwrap().status;
    let approve = async |id: &str, connection: &str| {
        let mut asked = confirmation(id, id);
        asked.connection = Some(connection.to_owned());
        store.ask(asked.into()).await.unwrap();
        store.decide("acme", id, true, &ines).await.unwrap();
    };
    let one = vault.put(account("acme", "one"), &bearer("a"), Expect::Nothing, by).await.unwrap();
    approve("c1", "one").await;
    approve("c2", "two").await;
    // A token that is renewed is the same account's.
    let renewed = vault.put(one, &bearer("b"), Expect::Revision(1), None).await.unwrap();
    assert_eq!(status("c1").await, ConfirmationStatus::Approved);
    vault.put(renewed, &bearer("eve's"), Expect::Revision(2), by).await.unwrap();
    assert_eq!(status("c1").await, ConfirmationStatus::Pending);
    store.decide("acme", "c1", true, &ines).await.unwrap();
    vault.remove("acme", "one", &boss).await.unwrap();
    assert_eq!(status("c1").await, ConfirmationStatus::Pending);
    assert_eq!(status("c2").await, ConfirmationStatus::Approved, "of another connection");
}

#[tokio::test]
async fn declared_over_kept() {
    let text = Arc::new(std::sync::Mutex::new("first".to_owned()));
    let (mut account, source) = declared("one", &text);
    account.tenant = "c".to_owned();
    contract(&Declared::over(Arc::new(Accounts::default()), vec![(account, source)])).await;
}

#[tokio::test]
async fn what_is_declared_is_read_where_it_stands_and_changed_nowhere_else() {
    let boss = &Principal::user("boss");
    let under = Arc::new(Accounts::default());
    for id in ["one", "two"] {
        under.put(account("a", id), &bearer("kept"), Expect::Nothing, Some(boss)).await.unwrap();
    }
    under.grant(grant(&["agent:x"]), boss).await.unwrap();
    let text = Arc::new(std::sync::Mutex::new("first".to_owned()));
    let store = Declared::over(under, vec![declared("one", &text)]);
    assert!(store.is_declared("a", "one") && !store.is_declared("a", "two"));
    assert!(!store.is_declared("b", "one"), "of another tenant");
    let ids: Vec<String> =
        store.accounts("a").await.unwrap().into_iter().map(|one| one.id).collect();
    assert_eq!(ids, ["one", "two"]);
    let secret = |opened: (Account, Credentials)| opened.1.secrets()[0].expose().to_owned();
    assert_eq!(secret(store.open("a", "one").await.unwrap()), "first", "what is kept is covered");
    assert!(store.grants().await.unwrap().is_empty(), "nor was this one granted");
    let refused =
        |why: StoreError| matches!(why, StoreError::WrongState(why) if why.contains("declared"));
    let (seen, now) = store.open("a", "one").await.unwrap();
    let expect = Expect::Revision(seen.revision);
    assert!(refused(store.put(seen.clone(), &now, expect, Some(boss)).await.unwrap_err()));
    assert!(refused(store.remove("a", "one", boss).await.unwrap_err()));
    assert!(refused(store.grant(grant(&["*"]), boss).await.unwrap_err()));
    assert!(refused(store.revoke("a", "one", None, boss).await.unwrap_err()));
    // A token that was had with it is kept as long as the secret is the same.
    let Credentials::OAuth(mut oauth) = now else { panic!("another kind") };
    oauth.access = Some(Access { token: SecretText::new("token"), until_ms: None });
    let fresh = Credentials::OAuth(oauth);
    assert!(store.hold("a", "one", 60_000).await.unwrap());
    assert!(!store.hold("a", "one", 60_000).await.unwrap());
    let renewed = store.put(seen.clone(), &fresh, expect, None).await.unwrap();
    assert_eq!(renewed.revision, seen.revision + 1);
    assert_eq!(store.put(seen, &fresh, expect, None).await, Err(StoreError::Stale));
    assert!(store.hold("a", "one", 60_000).await.unwrap(), "writing gives it back");
    assert_eq!(store.open("a", "one").await.unwrap().1.secrets().len(), 2);
    *text.lock().unwrap() = "second".to_owned();
    let (_, anew) = store.open("a", "one").await.unwrap();
    assert_eq!((anew.secrets().len(), anew.secrets()[0].expose()), (1, "second"));
    text.lock().unwrap().clear();
    let gone = store.open("a", "one").await.err().unwrap();
    assert!(
        matches!(&gone, StoreError::WrongState(why) if why.contains("`X` is not set")),
        "{gone:?}"
    );
}

#[cfg(unix)]
#[test]
fn a_key_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("connections.key");
    assert!(Keyring::read(&path).unwrap().is_empty());
    let keys = Keyring::new(vec![Key::random().unwrap(), Key::random().unwrap()]);
    keys.write(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let read = Keyring::read(&path).unwrap();
    assert_eq!(read.current().unwrap().id(), keys.current().unwrap().id());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Keyring::read(&path).is_err());
    std::fs::write(&path, "short\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(Keyring::read(&path).err().unwrap().to_string().contains("64 hexadecimal digits"));
}
