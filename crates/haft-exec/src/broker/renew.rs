//! Renewing a token: one asks for all, on a task of its own, and what it gets is kept.
//!
//! Many providers take a refresh token once and give the next one with the answer. From that moment
//! on the answer is the only copy. So whoever asked may go away, somebody else may change the
//! connection, the store may be full: the tokens are noted before anything else is done, used from
//! there, and written as soon as that can be done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::connection::{Account, Credentials, Lease, OAuth};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Expect, StoreError, Want};
use tokio::sync::OwnedMutexGuard;

use super::notes::Unstored;
use super::{Desk, again, key, lease, now_ms, oauth, presented, unread};

/// A renewal that failed is not tried again by those who were waiting for it.
const FAILED_FOR: Duration = Duration::from_secs(2);
/// How long a connection is held against other programs: longer than a provider may take, so that
/// nobody else presents a token that is being used.
const HELD_FOR: Duration = Duration::from_secs(30);
/// Those who wait for another program outwait one that has died.
const PATIENCE: Duration = Duration::from_secs(35);
/// How many connections are renewed at once before those that are done are forgotten.
const FLIGHTS: usize = 1024;
/// How often others may write first before the tokens are left for later.
const RACES: usize = 8;
/// How soon what could not be stored is tried again, at first and at last.
const SOON: Duration = Duration::from_millis(100);
const LATER: Duration = Duration::from_secs(30);

/// What became of the last renewal, if it failed. Whoever holds it renews.
pub(super) type Last = Option<(Instant, ToolError)>;
pub(super) type Flight = Arc<tokio::sync::Mutex<Last>>;

/// What a look at the store found.
enum Found {
    Usable(Lease),
    /// A token is to be had: as it is stored, and with what this program knows beside that.
    Ended {
        account: Account,
        before: Box<OAuth>,
        now: Box<OAuth>,
    },
}

impl Desk {
    /// One renews, the others wait and use what it got.
    pub(super) async fn renewed(self: &Arc<Self>, want: &Want) -> Result<Lease, ToolError> {
        let waited_since = Instant::now();
        let last = self.flight(want).lock_owned().await;
        if let Some((at, error)) = &*last
            && (*at > waited_since || at.elapsed() < FAILED_FOR)
        {
            return Err(error.clone());
        }
        let task = tokio::spawn(self.clone().fly(want.clone(), last));
        task.await.unwrap_or_else(|why| {
            Err(ToolError::new(ErrorKind::Internal, "the renewal broke off").caused_by(why))
        })
    }

    async fn fly(
        self: Arc<Self>,
        want: Want,
        mut last: OwnedMutexGuard<Last>,
    ) -> Result<Lease, ToolError> {
        let renewed = self.renew(&want).await;
        *last = renewed.as_ref().err().map(|error| (Instant::now(), error.clone()));
        renewed
    }

    fn flight(&self, want: &Want) -> Flight {
        let mut flights = self.flights.lock();
        if flights.len() > FLIGHTS {
            flights.retain(|_, flight| Arc::strong_count(flight) > 1);
        }
        flights.entry(key(want)).or_default().clone()
    }

    async fn renew(self: &Arc<Self>, want: &Want) -> Result<Lease, ToolError> {
        let give_up = Instant::now() + PATIENCE;
        while Instant::now() < give_up {
            if let Found::Usable(lease) = self.found(want).await? {
                return Ok(lease);
            }
            let for_ms = HELD_FOR.as_millis() as u64;
            let held = self.connections.hold(&want.tenant, &want.connection, for_ms).await;
            if held.map_err(|why| unread(&why))? {
                // Another program may have renewed it between the look and the hold: what was seen
                // before is not asked with.
                return match self.found(want).await {
                    Ok(Found::Ended { account, before, now }) => {
                        self.ask(want, account, *before, &now).await
                    }
                    Ok(Found::Usable(lease)) => {
                        self.let_go(want).await;
                        Ok(lease)
                    }
                    Err(error) => {
                        self.let_go(want).await;
                        Err(error)
                    }
                };
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let message = "another program is renewing the connection's token and is not done";
        Err(ToolError::new(ErrorKind::Transient, message))
    }

    async fn found(&self, want: &Want) -> Result<Found, ToolError> {
        let (account, stored) = self.stored(want).await?;
        let now = self.notes.over(&key(want), stored.clone());
        if let Some(presented) = self.usable(want, &now) {
            return Ok(Found::Usable(lease(account, &now, presented)));
        }
        match (stored, now) {
            (Credentials::OAuth(before), Credentials::OAuth(now)) => {
                Ok(Found::Ended { account, before, now })
            }
            _ => Err(again("the connection has no credentials")),
        }
    }

    /// Who comes next need not wait until the time is up; where that fails, they do.
    async fn let_go(&self, want: &Want) {
        let _ = self.connections.release(&want.tenant, &want.connection).await;
    }

    async fn ask(
        self: &Arc<Self>,
        want: &Want,
        account: Account,
        before: OAuth,
        now: &OAuth,
    ) -> Result<Lease, ToolError> {
        let fresh = match oauth::renew(self.client_of(account.origin), now, now_ms()).await {
            Ok(fresh) => fresh,
            Err(error) => {
                self.let_go(want).await;
                return Err(error);
            }
        };
        self.notes.keep(&key(want), Unstored { before, fresh: fresh.clone() });
        if let Some(access) = &fresh.access {
            self.notes.given(&key(want), access.token.expose());
        }
        let account = match self.store(want).await {
            Ok(stored) => stored.unwrap_or(account),
            Err(StoreError::Missing) => return Err(unread(&StoreError::Missing)),
            Err(_) => {
                self.let_go(want).await;
                self.keep_trying(want);
                account
            }
        };
        let credentials = Credentials::OAuth(Box::new(fresh));
        match presented(&credentials) {
            Some(presented) => Ok(lease(account, &credentials, presented)),
            None => Err(again("the provider gave a token that has ended already")),
        }
    }

    /// Writes the tokens that were noted, whoever else has written meanwhile. Gives the account, or
    /// nothing where they have no place in the store any more.
    async fn store(&self, want: &Want) -> Result<Option<Account>, StoreError> {
        let key = key(want);
        for _ in 0..RACES {
            let Some(unstored) = self.notes.unstored(&key) else { return Ok(None) };
            let found = self.connections.open(&want.tenant, &want.connection).await;
            if matches!(found, Err(StoreError::Missing)) {
                self.notes.forget(&key);
            }
            let (account, there) = found?;
            let Some(placed) = unstored.placed(&there) else {
                self.notes.drop_unstored(&key);
                return Ok(None);
            };
            let expect = Expect::Revision(account.revision);
            let credentials = Credentials::OAuth(Box::new(placed));
            match self.connections.put(account, &credentials, expect, None).await {
                Ok(account) => {
                    self.notes.drop_unstored(&key);
                    return Ok(Some(account));
                }
                Err(StoreError::Stale) => {}
                Err(why) => return Err(why),
            }
        }
        Err(StoreError::Stale)
    }

    /// Goes on until the tokens are stored, or of no use any more.
    fn keep_trying(self: &Arc<Self>, want: &Want) {
        if !self.notes.tend(&key(want)) {
            return;
        }
        let (desk, want) = (Arc::downgrade(self), want.clone());
        tokio::spawn(async move {
            let mut wait = SOON;
            loop {
                tokio::time::sleep(wait).await;
                let Some(desk) = desk.upgrade() else { return };
                let _turn = desk.flight(&want).lock_owned().await;
                match desk.store(&want).await {
                    Ok(_) | Err(StoreError::Missing) => return,
                    Err(_) => wait = LATER.min(wait * 2),
                }
            }
        });
    }

    /// Until nobody renews and everything is stored.
    pub(super) async fn rest(&self) {
        loop {
            let flights: Vec<Flight> = self.flights.lock().values().cloned().collect();
            for flight in flights {
                drop(flight.lock().await);
            }
            if self.notes.all_are_stored() {
                return;
            }
            tokio::time::sleep(SOON).await;
        }
    }
}
