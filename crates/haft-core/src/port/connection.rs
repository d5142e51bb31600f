//! Connections: keeping them, and using one for one call.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Boxed, StoreError};
use crate::call::Principal;
use crate::connection::{Account, Consent, Credentials, Grant, Lease, OAuth, Origin};
use crate::error::{ErrorKind, ToolError};
use crate::secret::SecretText;

type Answer<'a, T> = Boxed<'a, Result<T, StoreError>>;

/// What a write expects to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Nothing,
    /// This revision; [`StoreError::Stale`] otherwise.
    Revision(u64),
}

/// Where connections are kept, their credentials sealed.
pub trait Connections: Send + Sync {
    /// A tenant's accounts, by id.
    fn accounts<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Account>>;

    /// One account with its credentials.
    fn open<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, (Account, Credentials)>;

    /// Whether it is declared, and so changed where it is declared alone.
    fn is_declared(&self, _tenant: &str, _id: &str) -> bool {
        false
    }

    /// Writes an account and its credentials, and gives it with its new revision. Nobody does so where
    /// a token was renewed.
    fn put<'a>(
        &'a self,
        account: Account,
        credentials: &'a Credentials,
        expect: Expect,
        by: Option<&'a Principal>,
    ) -> Answer<'a, Account>;

    /// Forgets a connection, its credentials and its grants.
    fn remove<'a>(&'a self, tenant: &'a str, id: &'a str, by: &'a Principal) -> Answer<'a, ()>;

    /// Every grant of every tenant.
    fn grants<'a>(&'a self) -> Answer<'a, Vec<Grant>>;

    /// Every grant of one tenant.
    fn grants_in<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Grant>>;

    /// Adds a grant to an account that there is.
    fn grant<'a>(&'a self, grant: Grant, by: &'a Principal) -> Answer<'a, ()>;

    /// Takes the grants of an account back, those of one principal or all. Gives how many.
    fn revoke<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        principal: Option<&'a str>,
        by: &'a Principal,
    ) -> Answer<'a, u64>;

    /// Takes an account for a while, so that of several programs one renews its token; says whether
    /// it could.
    fn hold<'a>(&'a self, tenant: &'a str, id: &'a str, for_ms: u64) -> Answer<'a, bool>;

    /// Gives back what was taken, before its time. Writing it does the same.
    fn release<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, ()>;
}

/// Who asks for credentials, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// The tenant.
    pub tenant: String,
    /// The connection.
    pub connection: String,
    /// What the tool's contract says it is an account of.
    pub provider: String,
}

/// Finds credentials, and renews them where they can be.
pub trait Broker: Send + Sync {
    /// Credentials for one call. Asked only after the call was allowed to use the connection.
    fn lease<'a>(&'a self, want: &'a Want) -> Boxed<'a, Result<Lease, ToolError>>;

    /// The service refused what was leased. Whether there may be something better by now.
    fn refused<'a>(&'a self, want: &'a Want, lease: &'a Lease) -> Boxed<'a, bool>;

    /// Asks an address with what was leased, and gives the status of the answer. A tenant chose the
    /// address, so it is reached as tenants' tools reach theirs; its host must be one of the account's
    /// own.
    fn ask<'a>(&'a self, _lease: &'a Lease, _url: &'a str) -> Boxed<'a, Result<u16, ToolError>> {
        let message = "nothing here can ask a service";
        Box::pin(std::future::ready(Err(ToolError::new(ErrorKind::Internal, message))))
    }

    /// Prepares to ask a person for consent, in a browser that comes back to `redirect`.
    ///
    /// # Errors
    ///
    /// The address is none, or the system gives no random numbers.
    fn consent(
        &self,
        _authorize_url: &str,
        _oauth: &OAuth,
        _redirect: &str,
    ) -> Result<Consent, ToolError> {
        Err(ToolError::new(ErrorKind::Internal, "nothing here can ask for consent"))
    }

    /// Makes tokens out of the code that came back. Their address is reached as the tools of whoever
    /// chose it reach theirs.
    fn redeem<'a>(
        &'a self,
        _origin: Origin,
        _oauth: &'a OAuth,
        _consent: &'a Consent,
        _code: &'a str,
    ) -> Boxed<'a, Result<OAuth, ToolError>> {
        let message = "nothing here can redeem a code";
        Box::pin(std::future::ready(Err(ToolError::new(ErrorKind::Internal, message))))
    }

    /// Waits until nothing is being renewed and everything that was is stored, before a program ends.
    fn rest<'a>(&'a self) -> Boxed<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Whose a secret is. What one owner has and had does not count against what others have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A connection.
    Connection {
        /// Whose it is.
        tenant: String,
        /// Its id, which is unique in its tenant.
        id: String,
    },
    /// A model, by where its key comes from.
    Model(String),
}

/// A secret that is hidden: while this is kept, it is not forgotten.
#[derive(Clone, Default)]
pub struct Hidden(Arc<()>);

impl Hidden {
    /// Whether anybody else keeps it.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether both are of the same secret.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The secret is never forgotten: it is used as long as the program runs.
    pub fn for_good(self) {
        std::mem::forget(self);
    }
}

/// Takes note of what must never be shown.
pub trait Hide: Send + Sync {
    /// From now on the secret is taken out of everything, and shown as its label: while what is
    /// returned is kept, and for some time after.
    ///
    /// # Errors
    ///
    /// It cannot be told from ordinary text.
    fn hide(&self, owner: &Owner, label: &str, secret: &SecretText) -> Result<Hidden, String>;
}

/// The credentials of one connection, for one call. The path makes it and ends it; nothing in it
/// lets a handler choose another connection.
pub struct Auth {
    broker: Arc<dyn Broker>,
    hide: Arc<dyn Hide>,
    want: Want,
    hosts: Vec<String>,
    /// What was leased is hidden as long as this is there, which is until the call's answer has been
    /// made safe.
    hidden: Mutex<Vec<Hidden>>,
    /// Whether the connection has to list a host as well, where it lists none at all.
    listed_only: bool,
    over: AtomicBool,
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth").field("want", &self.want).finish_non_exhaustive()
    }
}

impl Auth {
    /// For the path alone.
    #[must_use]
    pub fn bind(
        broker: Arc<dyn Broker>,
        hide: Arc<dyn Hide>,
        want: Want,
        hosts: Vec<String>,
    ) -> Self {
        let (hidden, over) = (Mutex::default(), AtomicBool::new(false));
        Self { broker, hide, want, hosts, hidden, listed_only: false, over }
    }

    /// For a tool whose contract is not trusted to name hosts by itself: the credentials go to hosts
    /// that the connection lists, and nowhere when it lists none.
    #[must_use]
    pub fn listed_only(mut self, listed_only: bool) -> Self {
        self.listed_only = listed_only;
        self
    }

    /// The hosts of the contract that the credentials may be sent to.
    #[must_use]
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The provider.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.want.provider
    }

    /// The call has ended.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// The credentials, which are kept out of every text from now on.
    ///
    /// # Errors
    ///
    /// There are none, they cannot be had now, or the call is over.
    pub async fn lease(&self) -> Result<Lease, ToolError> {
        if self.over.load(Ordering::SeqCst) {
            return Err(ToolError::new(ErrorKind::Internal, "the call is over"));
        }
        let lease = self.broker.lease(&self.want).await?;
        let Want { tenant, connection, .. } = &self.want;
        let owner = Owner::Connection { tenant: tenant.clone(), id: connection.clone() };
        for secret in &lease.secrets {
            let hidden = self.hide.hide(&owner, &lease.account.id, secret).map_err(|why| {
                ToolError::new(ErrorKind::Auth, "the connection's credentials cannot be used")
                    .caused_by(why)
            })?;
            self.keep(hidden);
        }
        Ok(lease)
    }

    fn keep(&self, hidden: Hidden) {
        let mut kept = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|one| one.is_of(&hidden)) {
            kept.push(hidden);
        }
    }

    /// The service refused the credentials; says whether another [`Auth::lease`] may bring better.
    pub async fn refused(&self, lease: &Lease) -> bool {
        self.broker.refused(&self.want, lease).await
    }

    /// Whether the credentials may be sent to a host: the contract lists it, and so does the
    /// connection where it lists any.
    #[must_use]
    pub fn covers(&self, lease: &Lease, host: &str) -> bool {
        let listed = |hosts: &[String]| hosts.iter().any(|one| one.eq_ignore_ascii_case(host));
        let theirs = &lease.account.hosts;
        listed(&self.hosts) && (listed(theirs) || (theirs.is_empty() && !self.listed_only))
    }
}
