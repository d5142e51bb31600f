//! Keys that come, and that others take over from, while a program runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_core::ErrorKind;
use haft_core::connection::Credentials;
use haft_core::port::{Broker as _, Connections as _, Expect, Want};
use haft_core::secret::SecretText;
use haft_exec::Broker;
use haft_store::vault::{Key, KeyPlace, Keyring};
use haft_store::{Options, Sqlite, Vault};

use super::SECRET;
use super::world::account;
use crate::http::client;

/// A store and a file of keys, as two programs share them.
struct Shared {
    folder: tempfile::TempDir,
}

impl Shared {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("keys/connections.key")
    }

    fn store(&self) -> Arc<Sqlite> {
        Arc::new(Sqlite::open(self.folder.path().join("haft.db"), Options::default()).unwrap())
    }

    /// A program that has just started.
    fn vault(&self) -> Arc<Vault> {
        Arc::new(Vault::at(self.store(), KeyPlace::File(self.file())).unwrap())
    }
}

async fn add(vault: &Vault, id: &str) {
    let credentials = Credentials::Bearer(SecretText::new(SECRET));
    let mut account = account("acme", id);
    account.kind = credentials.kind();
    vault.put(account, &credentials, Expect::Nothing, None).await.unwrap();
}

fn want(id: &str) -> Want {
    let (tenant, connection) = ("acme".to_owned(), id.to_owned());
    Want { tenant, connection, provider: "p".to_owned() }
}

/// As `haft connections rotate --key` does it.
async fn rotate(shared: &Shared, file: &Path) {
    let both = Keyring::read(file).unwrap().led_by(Key::random().unwrap());
    both.write(file).unwrap();
    Vault::new(shared.store(), both.clone()).reseal().await.unwrap();
    both.first_only().write(file).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_began_without_a_key_finds_the_first_one() {
    let shared = Shared::new();
    let running = Broker::new(shared.vault(), client());
    assert!(!shared.file().exists());
    add(&shared.vault(), "work").await;
    assert!(shared.file().exists());
    assert!(running.lease(&want("work")).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_takes_over_is_found_by_programs_that_run() {
    let shared = Shared::new();
    add(&shared.vault(), "work").await;
    let vault = shared.vault();
    let running = Broker::new(vault.clone(), client());
    for round in 0..3 {
        rotate(&shared, &shared.file()).await;
        assert!(running.lease(&want("work")).await.is_ok(), "{round}");
        // What it writes is sealed with the key of now, which those open who come later.
        add(&vault, &format!("more{round}")).await;
        let later = Broker::new(shared.vault(), client());
        assert!(later.lease(&want(&format!("more{round}"))).await.is_ok(), "{round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_fails_while_keys_change_and_no_record_is_left_behind() {
    let shared = Arc::new(Shared::new());
    add(&shared.vault(), "work").await;
    let vault = shared.vault();
    let broker = Arc::new(Broker::new(vault.clone(), client()));
    let over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let calls = tokio::spawn({
        let (broker, over) = (broker.clone(), over.clone());
        async move {
            let mut count = 0;
            while !over.load(std::sync::atomic::Ordering::SeqCst) {
                broker.lease(&want("work")).await.map(drop).unwrap();
                count += 1;
            }
            count
        }
    });
    for round in 0..8 {
        let id = format!("new{round}");
        let writing = add(&vault, &id);
        let file = shared.file();
        tokio::join!(writing, rotate(&shared, &file));
    }
    over.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(calls.await.unwrap() > 8);
    let fresh = shared.vault();
    for one in fresh.accounts("acme").await.unwrap() {
        assert!(fresh.open("acme", &one.id).await.is_ok(), "{}", one.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_make_the_first_key_at_once_make_one() {
    let shared = Shared::new();
    let place = KeyPlace::File(shared.file());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let place = place.clone();
            std::thread::spawn(move || place.make().unwrap().0.current().unwrap().id().to_owned())
        })
        .collect();
    let ids: std::collections::HashSet<String> =
        threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(ids.len(), 1);
    let files = std::fs::read_dir(shared.file().parent().unwrap()).unwrap().count();
    assert_eq!(files, 1, "nothing is left beside it");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_key_is_gone_the_refusal_says_what_helps() {
    let shared = Shared::new();
    add(&shared.vault(), "work").await;
    Keyring::new(vec![Key::random().unwrap()]).write(&shared.file()).unwrap();
    let running = Broker::new(shared.vault(), client());
    let error = running.lease(&want("work")).await.map(drop).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Auth);
    assert!(error.suggestion.contains("the key that it was sealed with"), "{error:?}");
    assert!(error.source.clone().unwrap().contains("it was sealed with the key "));
}
