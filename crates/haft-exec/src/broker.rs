//! Credentials for one call: found, renewed where they can be, and handed to whoever makes the
//! request.
//!
//! What is stored is read anew for every call. So a connection that was rotated is used as it is
//! now, one that was removed is not used at all, and a call that has begun keeps what it has.
//! A renewal does not end with the call that asked for it (`renew.rs`).

mod notes;
pub mod oauth;
mod renew;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use haft_core::connection::{
    Access, Account, Consent, Credentials, Lease, OAuth, Origin, Presented,
};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Broker as Port, Connections, StoreError, Want};
use haft_core::secret::SecretText;
use parking_lot::Mutex;

use self::notes::{Key, Notes};
use self::renew::Flight;
use crate::http::Client;

/// A token that ends sooner than this is renewed before it is used.
const EARLY_MS: i64 = 60_000;

/// Finds credentials in a store, and renews tokens over HTTP.
pub struct Broker(Arc<Desk>);

/// What renewals need, which may outlive the calls that they are made for.
struct Desk {
    connections: Arc<dyn Connections>,
    client: Arc<Client>,
    /// For addresses that tenants chose.
    tenants: Arc<Client>,
    flights: Mutex<HashMap<Key, Flight>>,
    notes: Notes,
}

impl Broker {
    /// Over a store and a client. Where a tenant chose the address of tokens, one like it asks that
    /// reaches public addresses alone.
    #[must_use]
    pub fn new(connections: Arc<dyn Connections>, client: Arc<Client>) -> Self {
        let tenants = Arc::new(client.public_only());
        Self::with_tenants(connections, client, tenants)
    }

    /// The same with another client for addresses that tenants chose.
    #[must_use]
    pub fn with_tenants(
        connections: Arc<dyn Connections>,
        client: Arc<Client>,
        tenants: Arc<Client>,
    ) -> Self {
        let (flights, notes) = (Mutex::default(), Notes::default());
        Self(Arc::new(Desk { connections, client, tenants, flights, notes }))
    }
}

impl Desk {
    /// The way out for addresses, by who chose them.
    fn client_of(&self, origin: Origin) -> &Client {
        match origin {
            Origin::Operator => &self.client,
            Origin::Tenant => &self.tenants,
        }
    }

    async fn stored(&self, want: &Want) -> Result<(Account, Credentials), ToolError> {
        let found = self.connections.open(&want.tenant, &want.connection).await;
        if matches!(found, Err(StoreError::Missing)) {
            self.notes.forget(&key(want));
        }
        let (account, credentials) = found.map_err(|why| unread(&why))?;
        if account.provider != want.provider {
            let message = format!("the connection is not one to {}", want.provider);
            return Err(ToolError::new(ErrorKind::Auth, message));
        }
        Ok((account, credentials))
    }

    async fn borrow(self: &Arc<Self>, want: &Want) -> Result<Lease, ToolError> {
        let (account, stored) = self.stored(want).await?;
        let credentials = self.notes.over(&key(want), stored);
        match self.usable(want, &credentials) {
            Some(presented) => Ok(lease(account, &credentials, presented)),
            None => self.renewed(want).await,
        }
    }

    /// As a request carries them, unless a token has to be had first.
    fn usable(&self, want: &Want, credentials: &Credentials) -> Option<Presented> {
        if let Credentials::OAuth(oauth) = credentials {
            let access = oauth.access.as_ref()?;
            if self.notes.is_refused(&key(want), access.token.expose()) {
                return None;
            }
        }
        presented(credentials)
    }

    /// Whether something else than what was refused may be had. Nothing is written for that: it
    /// would come between a renewal that is under way and its end.
    async fn better(&self, want: &Want, refused: &Lease) -> bool {
        let Ok((account, stored)) = self.stored(want).await else { return false };
        match stored {
            Credentials::OAuth(_) => {
                if let Some(token) = bearer_of(&refused.presented) {
                    self.notes.refuse(&key(want), SecretText::new(token));
                }
                true
            }
            Credentials::Bearer(_)
            | Credentials::Header { .. }
            | Credentials::Query { .. }
            | Credentials::Basic { .. } => account.revision != refused.account.revision,
        }
    }
}

impl Port for Broker {
    fn lease<'a>(&'a self, want: &'a Want) -> Boxed<'a, Result<Lease, ToolError>> {
        Box::pin(self.0.borrow(want))
    }

    fn refused<'a>(&'a self, want: &'a Want, lease: &'a Lease) -> Boxed<'a, bool> {
        Box::pin(self.0.better(want, lease))
    }

    fn ask<'a>(&'a self, lease: &'a Lease, url: &'a str) -> Boxed<'a, Result<u16, ToolError>> {
        Box::pin(crate::http::ask_with(&self.0.tenants, url, lease))
    }

    fn consent(
        &self,
        authorize_url: &str,
        oauth: &OAuth,
        redirect: &str,
    ) -> Result<Consent, ToolError> {
        oauth::consent(authorize_url, oauth, redirect)
    }

    fn redeem<'a>(
        &'a self,
        origin: Origin,
        oauth: &'a OAuth,
        consent: &'a Consent,
        code: &'a str,
    ) -> Boxed<'a, Result<OAuth, ToolError>> {
        Box::pin(oauth::redeem(self.0.client_of(origin), oauth, consent, code, now_ms()))
    }

    fn rest<'a>(&'a self) -> Boxed<'a, ()> {
        Box::pin(self.0.rest())
    }
}

fn key(want: &Want) -> Key {
    (want.tenant.clone(), want.connection.clone())
}

fn bearer_of(presented: &Presented) -> Option<&str> {
    match presented {
        Presented::Header { value, .. } => value.expose().strip_prefix("Bearer "),
        Presented::Query { .. } => None,
    }
}

fn lease(account: Account, credentials: &Credentials, presented: Presented) -> Lease {
    let mut secrets: Vec<SecretText> = credentials.secrets().into_iter().cloned().collect();
    secrets.extend(sent(credentials));
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

/// What is sent and holds a secret in a form that its own spellings do not have: services repeat it in others again.
/// (Not of a password that could be found by trying, in whatever it is made of.)
fn sent(credentials: &Credentials) -> Option<SecretText> {
    const LONG: usize = 14;
    match credentials {
        Credentials::Basic { user, password } if password.expose().chars().count() >= LONG => {
            Some(pair(user, password))
        }
        Credentials::Basic { .. }
        | Credentials::Bearer(_)
        | Credentials::Header { .. }
        | Credentials::Query { .. }
        | Credentials::OAuth(_) => None,
    }
}

/// Name and password as the header has them.
fn basic(user: &str, password: &SecretText) -> SecretText {
    SecretText::new(format!("Basic {}", pair(user, password).expose()))
}

fn pair(user: &str, password: &SecretText) -> SecretText {
    let pair = SecretText::new(format!("{user}:{}", password.expose()));
    SecretText::new(STANDARD.encode(pair.expose()))
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
        StoreError::WrongState(_) => again("the connection's credentials cannot be read")
            .suggest(
                "an operator asks `haft connections test`, which says what is missing: the key that it was \
                 sealed with, or the variable or file that haft.toml names",
            )
            .caused_by(why),
        StoreError::Tampered(_) => again("the connection's credentials cannot be read")
            .suggest(
                "an operator removes the connection with `haft connections remove` and adds it \
                 again: what is stored was damaged or changed by others",
            )
            .caused_by(why),
        StoreError::Unavailable(_) | StoreError::InDoubt(_) | StoreError::Stale => {
            ToolError::new(ErrorKind::Transient, "connections cannot be read now").caused_by(why)
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_core::connection::AuthKind;

    use super::*;

    #[test]
    fn what_is_sent_of_name_and_password_is_a_secret_too() {
        let of = |password: &str| {
            let password = SecretText::new(password);
            let account = Account {
                tenant: "acme".into(),
                id: "work".into(),
                provider: "crm".into(),
                kind: AuthKind::Basic,
                hosts: Vec::new(),
                origin: Origin::Operator,
                revision: 1,
                made_ms: 0,
                changed_ms: 0,
            };
            let credentials = Credentials::Basic { user: "joe".into(), password };
            let presented = presented(&credentials).unwrap();
            let lease = lease(account, &credentials, presented);
            lease.secrets.iter().map(|one| one.expose().to_owned()).collect::<Vec<_>>()
        };
        let long = "Sup3r-Canary-Pass-99";
        assert_eq!(of(long), [long, "am9lOlN1cDNyLUNhbmFyeS1QYXNzLTk5"]);
        assert_eq!(of("8842761"), ["8842761"], "nobody is to find it by trying");
    }
}
