//! Credentials for one call: found, renewed where they can be, and handed to whoever makes the
//! request.
//!
//! What is stored is read anew for every call. So a connection that was rotated is used as it is
//! now, one that was removed is not used at all, and a call that has begun keeps what it has.

pub mod oauth;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::connection::{Access, Account, Credentials, Lease, OAuth, Presented};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Broker as Port, Connections, Expect, StoreError, Want};
use haft_core::secret::SecretText;
use parking_lot::Mutex;

use crate::http::Client;

/// A token that ends sooner than this is renewed before it is used.
const EARLY_MS: i64 = 60_000;
/// A renewal that failed is not tried again by those who were waiting for it.
const FAILED_FOR: Duration = Duration::from_secs(2);
/// Another program that renews the token is waited for this long.
const HELD_FOR: Duration = Duration::from_secs(15);
/// How many connections are renewed at once before those that are done are forgotten.
const FLIGHTS: usize = 1024;

/// What became of the last renewal, if it failed. Whoever holds it renews.
type Flight = Arc<tokio::sync::Mutex<Option<(Instant, ToolError)>>>;

/// Finds credentials in a store, and renews tokens over HTTP.
pub struct Broker {
    connections: Arc<dyn Connections>,
    client: Arc<Client>,
    flights: Mutex<HashMap<(String, String), Flight>>,
}

impl Broker {
    /// Over a store and a client.
    #[must_use]
    pub fn new(connections: Arc<dyn Connections>, client: Arc<Client>) -> Self {
        Self { connections, client, flights: Mutex::default() }
    }

    async fn find(&self, want: &Want) -> Result<(Account, Credentials), ToolError> {
        let found = self.connections.open(&want.tenant, &want.connection).await;
        let (account, credentials) = found.map_err(|why| unread(&why))?;
        if account.provider != want.provider {
            let message = format!("the connection is not one to {}", want.provider);
            return Err(ToolError::new(ErrorKind::Auth, message));
        }
        Ok((account, credentials))
    }

    async fn borrow(&self, want: &Want) -> Result<Lease, ToolError> {
        let (account, credentials) = self.find(want).await?;
        match presented(&credentials) {
            Some(presented) => Ok(lease(account, &credentials, presented)),
            None => self.renewed(want).await,
        }
    }

    /// One renews, the others wait and use what it got.
    async fn renewed(&self, want: &Want) -> Result<Lease, ToolError> {
        let flight = self.flight(want);
        let waited_since = Instant::now();
        let mut last = flight.lock().await;
        if let Some((at, error)) = &*last
            && (*at > waited_since || at.elapsed() < FAILED_FOR)
        {
            return Err(error.clone());
        }
        let renewed = self.renew(want).await;
        *last = renewed.as_ref().err().map(|error| (Instant::now(), error.clone()));
        renewed
    }

    fn flight(&self, want: &Want) -> Flight {
        let mut flights = self.flights.lock();
        if flights.len() > FLIGHTS {
            flights.retain(|_, flight| Arc::strong_count(flight) > 1);
        }
        let key = (want.tenant.clone(), want.connection.clone());
        flights.entry(key).or_default().clone()
    }

    async fn renew(&self, want: &Want) -> Result<Lease, ToolError> {
        let give_up = Instant::now() + HELD_FOR;
        loop {
            let (account, credentials) = self.find(want).await?;
            if let Some(presented) = presented(&credentials) {
                return Ok(lease(account, &credentials, presented));
            }
            let Credentials::OAuth(oauth) = credentials else {
                return Err(again("the connection has no credentials"));
            };
            let for_ms = HELD_FOR.as_millis() as u64;
            let held = self.connections.hold(&want.tenant, &want.connection, for_ms).await;
            if held.map_err(|why| unread(&why))? || Instant::now() > give_up {
                return self.ask(account, *oauth).await;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn ask(&self, account: Account, oauth: OAuth) -> Result<Lease, ToolError> {
        let fresh = oauth::renew(&self.client, &oauth, now_ms()).await?;
        let credentials = Credentials::OAuth(Box::new(fresh));
        let Some(presented) = presented(&credentials) else {
            return Err(again("the provider gave a token that has ended already"));
        };
        let expect = Expect::Revision(account.revision);
        match self.connections.put(account.clone(), &credentials, expect).await {
            Ok(account) => Ok(lease(account, &credentials, presented)),
            // Somebody changed the connection meanwhile; what they say counts from the next call on.
            Err(StoreError::Stale) => Ok(lease(account, &credentials, presented)),
            Err(why) => Err(unread(&why)),
        }
    }

    /// Whether something else than what was refused may be had.
    async fn better(&self, want: &Want, refused: &Lease) -> bool {
        let Ok((account, credentials)) = self.find(want).await else { return false };
        if account.revision != refused.account.revision {
            return true;
        }
        let Credentials::OAuth(mut oauth) = credentials else { return false };
        oauth.access = None;
        let credentials = Credentials::OAuth(oauth);
        let expect = Expect::Revision(account.revision);
        match self.connections.put(account, &credentials, expect).await {
            Ok(_) | Err(StoreError::Stale) => true,
            Err(_) => false,
        }
    }
}

impl Port for Broker {
    fn lease<'a>(&'a self, want: &'a Want) -> Boxed<'a, Result<Lease, ToolError>> {
        Box::pin(self.borrow(want))
    }

    fn refused<'a>(&'a self, want: &'a Want, lease: &'a Lease) -> Boxed<'a, bool> {
        Box::pin(self.better(want, lease))
    }
}

fn lease(account: Account, credentials: &Credentials, presented: Presented) -> Lease {
    let secrets = credentials.secrets().into_iter().cloned().collect();
    Lease { account, presented, secrets }
}

/// The credentials as a request carries them; nothing where a token must be had first.
fn presented(credentials: &Credentials) -> Option<Presented> {
    let bearer = |token: &SecretText| Presented::Header {
        name: "authorization".to_owned(),
        value: SecretText::new(format!("Bearer {}", token.expose())),
    };
    Some(match credentials {
        Credentials::Bearer(token) => bearer(token),
        Credentials::Header { name, key } => {
            Presented::Header { name: name.clone(), value: key.clone() }
        }
        Credentials::Query { name, key } => {
            Presented::Query { name: name.clone(), value: key.clone() }
        }
        Credentials::Basic { user, password } => {
            Presented::Header { name: "authorization".to_owned(), value: basic(user, password) }
        }
        Credentials::OAuth(oauth) => {
            bearer(&oauth.access.as_ref().filter(|access| is_fresh(access))?.token)
        }
    })
}

fn basic(user: &str, password: &SecretText) -> SecretText {
    let pair = SecretText::new(format!("{user}:{}", password.expose()));
    SecretText::new(format!("Basic {}", STANDARD.encode(pair.expose())))
}

fn is_fresh(access: &Access) -> bool {
    access.until_ms.is_none_or(|until| until > now_ms() + EARLY_MS)
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn again(message: &str) -> ToolError {
    ToolError::new(ErrorKind::Auth, message)
}

fn unread(why: &StoreError) -> ToolError {
    match why {
        StoreError::Missing => again("the connection is no longer there").suggest(
            "an operator sees those that there are with `haft connections list`, and adds one with \
             `haft connections add`",
        ),
        StoreError::WrongState(_) | StoreError::Tampered(_) => {
            again("the connection's credentials cannot be read").caused_by(why)
        }
        StoreError::Unavailable(_) | StoreError::InDoubt(_) | StoreError::Stale => {
            ToolError::new(ErrorKind::Transient, "connections cannot be read now").caused_by(why)
        }
    }
}
