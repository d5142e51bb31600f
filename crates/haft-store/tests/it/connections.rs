//! What every store of connections does, in memory and sealed in SQLite.

use std::sync::Arc;

use haft_core::connection::{Account, AuthKind, Credentials, Grant};
use haft_core::port::{Connections, Expect, StoreError};
use haft_core::secret::SecretText;
use haft_store::vault::{Key, Keyring};
use haft_store::{Accounts, Options, Sqlite, Vault};

fn account(tenant: &str, id: &str) -> Account {
    Account {
        tenant: tenant.to_owned(),
        id: id.to_owned(),
        provider: "p".to_owned(),
        kind: AuthKind::Bearer,
        hosts: vec!["api.example.com".to_owned()],
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
    let made = store.put(account("a", "one"), &bearer("first"), Expect::Nothing).await.unwrap();
    assert_eq!(made.revision, 1);
    let twice = store.put(account("a", "one"), &bearer("again"), Expect::Nothing).await;
    assert_eq!(twice, Err(StoreError::Stale));
    store.put(account("b", "one"), &bearer("other tenant"), Expect::Nothing).await.unwrap();
    let (found, credentials) = store.open("a", "one").await.unwrap();
    assert_eq!(found, made);
    assert_eq!(credentials.secrets()[0].expose(), "first");
    // Changes name the revision that they saw.
    let changed = store.put(made.clone(), &bearer("second"), Expect::Revision(1)).await.unwrap();
    assert_eq!((changed.revision, changed.made_ms), (2, made.made_ms));
    let late = store.put(made, &bearer("late"), Expect::Revision(1)).await;
    assert_eq!(late, Err(StoreError::Stale));
    assert_eq!(store.open("a", "one").await.unwrap().1.secrets()[0].expose(), "second");
    assert_eq!(store.accounts("a").await.unwrap(), [changed]);
    // One holds, until the time is over or the record was written.
    assert!(store.hold("a", "one", 60_000).await.unwrap());
    assert!(!store.hold("a", "one", 60_000).await.unwrap());
    // Grants.
    store.grant(grant(&["agent:x", "user:y"])).await.unwrap();
    store.grant(grant(&["user:y"])).await.unwrap();
    assert_eq!(store.grants().await.unwrap().len(), 2);
    assert_eq!(store.revoke("a", "one", Some("user:y")).await.unwrap(), 2);
    assert_eq!(store.grants().await.unwrap(), [grant(&["agent:x"])]);
    let nowhere = Grant { connection: "none".to_owned(), ..grant(&["*"]) };
    assert_eq!(store.grant(nowhere).await, Err(StoreError::Missing));
    // What is removed is gone, with its grants, and nobody else's.
    store.remove("a", "one").await.unwrap();
    assert_eq!(store.remove("a", "one").await, Err(StoreError::Missing));
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
