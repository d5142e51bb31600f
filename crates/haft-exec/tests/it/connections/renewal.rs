//! Refresh tokens that are good once: none may be lost, whoever goes away and whatever the store
//! does meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use haft_core::Principal;
use haft_core::connection::{Access, Account, Credentials, Grant, Lease, OAuth, Presented};
use haft_core::port::{Boxed, Broker as _, Connections, Expect, StoreError, Want};
use haft_core::secret::SecretText;
use haft_exec::Broker;
use haft_store::Accounts;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::world::{account, oauth};
use crate::http::client;
use crate::http::server::{Server, json as says, waiting};

/// A token server that takes each refresh token once, and ends everything when one comes back. It
/// answers the first request when it is let go.
async fn rotating(go: &Arc<Notify>) -> Server {
    let go = go.clone();
    let current = Mutex::new(Some("old%2Frefresh".to_owned()));
    Server::new(move |n, request| {
        let given = request.rsplit("refresh_token=").next().unwrap_or_default().to_owned();
        let mut current = current.lock();
        if current.as_deref() != Some(given.as_str()) {
            *current = None;
            return says("400 Bad", r#"{"error": "invalid_grant"}"#);
        }
        *current = Some(format!("refresh-{n}-next"));
        let body = format!(
            r#"{{"access_token": "access-{n}-token", "expires_in": 3600, "refresh_token": "refresh-{n}-next"}}"#
        );
        let does = says("200 OK", &body);
        if n == 0 { waiting(&go, does) } else { does }
    })
    .await
}

fn want() -> Want {
    Want { tenant: "t".into(), connection: "c".into(), provider: "p".into() }
}

fn token(lease: &Lease) -> &str {
    match &lease.presented {
        Presented::Header { value, .. } => value.expose(),
        Presented::Query { .. } => panic!("a header"),
    }
}

async fn kept(store: &dyn Connections) -> OAuth {
    let (_, credentials) = store.open("t", "c").await.unwrap();
    let Credentials::OAuth(oauth) = credentials else { panic!("another kind") };
    *oauth
}

async fn refresh(store: &dyn Connections) -> String {
    kept(store).await.refresh.unwrap().expose().to_owned()
}

async fn added(store: &dyn Connections, oauth: OAuth) {
    let credentials = Credentials::OAuth(Box::new(oauth));
    store.put(account("t", "c"), &credentials, Expect::Nothing, None).await.unwrap();
}

/// Waits for something that is about to be so.
async fn soon(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !is_so().await {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_loses_no_token() {
    let go = Arc::new(Notify::new());
    let server = rotating(&go).await;
    let accounts = Arc::new(Accounts::default());
    added(&*accounts, oauth(&server.url("/token"))).await;
    let broker = Broker::new(accounts.clone(), client());
    let want = want();
    let asked = tokio::time::timeout(Duration::from_millis(100), broker.lease(&want)).await;
    assert!(asked.is_err(), "the provider takes longer");
    go.notify_one();
    soon("the new token is stored", async || refresh(&*accounts).await == "refresh-0-next").await;
    let lease = broker.lease(&want).await.unwrap();
    assert_eq!(token(&lease), "Bearer access-0-token");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_refused_during_its_renewal_costs_nothing() {
    let go = Arc::new(Notify::new());
    let server = rotating(&go).await;
    let accounts = Arc::new(Accounts::default());
    let mut old = oauth(&server.url("/token"));
    // Good for a moment longer than what is renewed early.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let until_ms = Some(now.as_millis() as i64 + 62_000);
    old.access = Some(Access { token: SecretText::new("first-token"), until_ms });
    added(&*accounts, old).await;
    let broker = Arc::new(Broker::new(accounts.clone(), client()));
    let first = broker.lease(&want()).await.unwrap();
    assert_eq!(token(&first), "Bearer first-token");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    let renewing = tokio::spawn({
        let broker = broker.clone();
        async move { broker.lease(&want()).await.map(|lease| token(&lease).to_owned()) }
    });
    soon("the renewal has begun", async || server.seen().len() == 1).await;
    assert!(broker.refused(&want(), &first).await, "there will be something better");
    go.notify_one();
    assert_eq!(token(&broker.lease(&want()).await.unwrap()), "Bearer access-0-token");
    assert_eq!(renewing.await.unwrap().unwrap(), "Bearer access-0-token");
    assert_eq!(refresh(&*accounts).await, "refresh-0-next");
    assert_eq!(server.seen().len(), 1);
    // And the next time it is renewed with what was stored.
    let second = broker.lease(&want()).await.unwrap();
    assert!(broker.refused(&want(), &second).await);
    assert_eq!(token(&broker.lease(&want()).await.unwrap()), "Bearer access-1-token");
    assert_eq!(refresh(&*accounts).await, "refresh-1-next");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_changes_the_connection_during_its_renewal_loses_no_token() {
    let go = Arc::new(Notify::new());
    let server = rotating(&go).await;
    let accounts = Arc::new(Accounts::default());
    added(&*accounts, oauth(&server.url("/token"))).await;
    let broker = Arc::new(Broker::new(accounts.clone(), client()));
    let renewing = tokio::spawn({
        let broker = broker.clone();
        async move { broker.lease(&want()).await.map(|lease| token(&lease).to_owned()) }
    });
    soon("the renewal has begun", async || server.seen().len() == 1).await;
    // What `haft connections rotate` does.
    let (account, _) = accounts.open("t", "c").await.unwrap();
    let mut changed = oauth(&server.url("/token"));
    changed.client_secret = Some(SecretText::new("another-secret"));
    let revision = Expect::Revision(account.revision);
    accounts.put(account, &Credentials::OAuth(Box::new(changed)), revision, None).await.unwrap();
    go.notify_one();
    assert_eq!(renewing.await.unwrap().unwrap(), "Bearer access-0-token");
    let kept = kept(&*accounts).await;
    assert_eq!(kept.refresh.unwrap().expose(), "refresh-0-next");
    assert_eq!(kept.client_secret.unwrap().expose(), "another-secret");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_connects_anew_during_a_renewal_is_not_overwritten() {
    let go = Arc::new(Notify::new());
    let server = rotating(&go).await;
    let accounts = Arc::new(Accounts::default());
    added(&*accounts, oauth(&server.url("/token"))).await;
    let broker = Arc::new(Broker::new(accounts.clone(), client()));
    let renewing = tokio::spawn({
        let broker = broker.clone();
        async move { broker.lease(&want()).await.map(drop) }
    });
    soon("the renewal has begun", async || server.seen().len() == 1).await;
    let (account, _) = accounts.open("t", "c").await.unwrap();
    let mut anew = oauth(&server.url("/token"));
    anew.refresh = Some(SecretText::new("of-another-consent"));
    let revision = Expect::Revision(account.revision);
    accounts.put(account, &Credentials::OAuth(Box::new(anew)), revision, None).await.unwrap();
    go.notify_one();
    renewing.await.unwrap().unwrap();
    assert_eq!(refresh(&*accounts).await, "of-another-consent");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_stored_now_is_used_and_stored_later() {
    let go = Arc::new(Notify::new());
    go.notify_one();
    let server = rotating(&go).await;
    let store = Arc::new(Flaky::default());
    added(&*store, oauth(&server.url("/token"))).await;
    store.is_down.store(true, Ordering::SeqCst);
    let broker = Broker::new(store.clone(), client());
    for _ in 0..3 {
        let lease = broker.lease(&want()).await.unwrap();
        assert_eq!(token(&lease), "Bearer access-0-token");
    }
    assert_eq!(server.seen().len(), 1, "what is in memory is used");
    // One that the service refuses is renewed with what is in memory, too.
    let refused = broker.lease(&want()).await.unwrap();
    assert!(broker.refused(&want(), &refused).await);
    assert_eq!(token(&broker.lease(&want()).await.unwrap()), "Bearer access-1-token");
    assert_eq!(refresh(&*store).await, "old/refresh");
    let rest = tokio::time::timeout(Duration::from_millis(300), broker.rest()).await;
    assert!(rest.is_err(), "it is not stored yet");
    store.is_down.store(false, Ordering::SeqCst);
    tokio::time::timeout(Duration::from_secs(10), broker.rest()).await.unwrap();
    assert_eq!(refresh(&*store).await, "refresh-1-next");
    assert_eq!(token(&broker.lease(&want()).await.unwrap()), "Bearer access-1-token");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_that_failed_keeps_nobody_waiting() {
    let server = Server::new(|n, _| match n {
        0 => says("500 Broken", "{}"),
        _ => says("200 OK", r#"{"access_token": "a-good-token"}"#),
    })
    .await;
    let accounts = Arc::new(Accounts::default());
    added(&*accounts, oauth(&server.url("/token"))).await;
    assert!(Broker::new(accounts.clone(), client()).lease(&want()).await.is_err());
    let start = Instant::now();
    let other = Broker::new(accounts, client());
    assert_eq!(token(&other.lease(&want()).await.unwrap()), "Bearer a-good-token");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test]
async fn what_another_program_renewed_a_moment_ago_is_used_and_not_renewed_again() {
    let go = Arc::new(Notify::new());
    go.notify_one();
    let server = rotating(&go).await;
    let store = Arc::new(Flaky::default());
    let old = oauth(&server.url("/token"));
    let access = Access { token: SecretText::new("of-another"), until_ms: None };
    let fresh = OAuth {
        access: Some(access),
        refresh: Some(SecretText::new("refresh-of-another")),
        ..old.clone()
    };
    added(&*store, old).await;
    *store.first.lock() = Some(fresh);
    let lease = Broker::new(store.clone(), client()).lease(&want()).await.unwrap();
    assert_eq!(token(&lease), "Bearer of-another");
    assert_eq!(server.seen().len(), 0, "the old refresh token was presented");
    assert_eq!(refresh(&*store).await, "refresh-of-another");
    assert!(store.hold("t", "c", 1).await.unwrap(), "the connection was not let go");
}

/// A store that can be read and, for a while, not written; or that another program writes first.
#[derive(Default)]
struct Flaky {
    accounts: Accounts,
    is_down: AtomicBool,
    /// What somebody else writes right before the connection can be held.
    first: Mutex<Option<OAuth>>,
}

type Answer<'a, T> = Boxed<'a, Result<T, StoreError>>;

impl Connections for Flaky {
    fn accounts<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Account>> {
        self.accounts.accounts(tenant)
    }

    fn open<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, (Account, Credentials)> {
        self.accounts.open(tenant, id)
    }

    fn put<'a>(
        &'a self,
        account: Account,
        credentials: &'a Credentials,
        expect: Expect,
        by: Option<&'a Principal>,
    ) -> Answer<'a, Account> {
        if self.is_down.load(Ordering::SeqCst) {
            let why = StoreError::Unavailable("the disk is full".to_owned());
            return Box::pin(std::future::ready(Err(why)));
        }
        self.accounts.put(account, credentials, expect, by)
    }

    fn remove<'a>(&'a self, tenant: &'a str, id: &'a str, by: &'a Principal) -> Answer<'a, ()> {
        self.accounts.remove(tenant, id, by)
    }

    fn grants<'a>(&'a self) -> Answer<'a, Vec<Grant>> {
        self.accounts.grants()
    }

    fn grants_in<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Grant>> {
        self.accounts.grants_in(tenant)
    }

    fn grant<'a>(&'a self, grant: Grant, by: &'a Principal) -> Answer<'a, ()> {
        self.accounts.grant(grant, by)
    }

    fn revoke<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        principal: Option<&'a str>,
        by: &'a Principal,
    ) -> Answer<'a, u64> {
        self.accounts.revoke(tenant, id, principal, by)
    }

    fn hold<'a>(&'a self, tenant: &'a str, id: &'a str, for_ms: u64) -> Answer<'a, bool> {
        let first = self.first.lock().take();
        Box::pin(async move {
            if let Some(first) = first {
                let (account, _) = self.accounts.open(tenant, id).await?;
                let expect = Expect::Revision(account.revision);
                let first = Credentials::OAuth(Box::new(first));
                self.accounts.put(account, &first, expect, None).await?;
            }
            self.accounts.hold(tenant, id, for_ms).await
        })
    }

    fn release<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, ()> {
        self.accounts.release(tenant, id)
    }
}
