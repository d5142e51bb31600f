//! Connections in the store, their credentials sealed.
//!
//! Each record is sealed with XChaCha20-Poly1305 under a nonce of its own, bound to the account that
//! it belongs to: whoever exchanges two records, or changes a host in the database, gets nothing
//! that can be opened. Keys are named by their own digest, so that a wrong key is told from a
//! damaged record, and several can be known at once while one takes over from another.

mod declared;
mod keys;
mod memory;
mod place;
mod ring;
pub(crate) mod seal;

use std::path::PathBuf;
use std::sync::Arc;

use haft_core::Principal;
use haft_core::connection::{Account, Credentials, Grant};
use haft_core::port::{Boxed, Connections, Expect, StoreError};

use crate::sqlite::{Kept, Sqlite};
use crate::tables::Res;

pub use declared::{Declared, Source};
pub use keys::{BadKey, Key, Keyring};
pub use memory::Accounts;
pub(crate) use memory::expected;
pub use place::KeyPlace;
pub(crate) use ring::{Ring, unread};

type Answer<'a, T> = Boxed<'a, Res<T>>;

/// What was sealed with another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resealed {
    /// How many connections.
    pub connections: usize,
    /// Of how many tenants the key that seals what callers wrote.
    pub tenants: usize,
}

/// Connections in a SQLite store.
pub struct Vault {
    store: Arc<Sqlite>,
    keys: Ring,
}

impl Vault {
    /// Over a store, with the keys that open it.
    #[must_use]
    pub fn new(store: Arc<Sqlite>, keys: Keyring) -> Self {
        Self { store, keys: Ring::of(keys) }
    }

    /// Over a store, with the keys of a place, where they are looked for again when a record was
    /// sealed with another one.
    ///
    /// # Errors
    ///
    /// The keys cannot be read.
    pub fn at(store: Arc<Sqlite>, place: KeyPlace) -> std::io::Result<Self> {
        Ok(Self { store, keys: Ring::at(place)? })
    }

    /// Makes the first key where there is none, and gives the file that it was put into.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    pub fn prepare(&self) -> std::io::Result<Option<PathBuf>> {
        self.keys.prepare()
    }

    /// The keys to seal with. Where they cannot be looked for now, those that are known: what is to be
    /// kept may be the only copy of a token.
    fn keys_to_seal(&self) -> Res<Arc<Keyring>> {
        if self.keys.known().is_empty() {
            self.prepare().map_err(|why| unread(&why))?;
        }
        Ok(self.keys.anew().unwrap_or_else(|_| self.keys.known()))
    }

    /// Seals everything under the first key that is not yet, the keys of tenants first: all of it, or
    /// nothing where one record cannot be opened. Gives what was sealed anew.
    ///
    /// # Errors
    ///
    /// A record cannot be opened with the keys that there are, or the store cannot be written.
    pub async fn reseal(&self) -> Res<Resealed> {
        let all = self.store.kept_connections(None).await?;
        let keys = self.keys.known();
        let current = keys.current()?.id().to_owned();
        let mut anew = Vec::new();
        for kept in all.into_iter().filter(|kept| kept.key_id != current) {
            let credentials = seal::open(&keys, &kept)?;
            let revision = kept.account.revision;
            anew.push((seal::seal(&keys, kept.account, &credentials)?, revision));
        }
        let connections = anew.len();
        let tenants = self.store.rewrap(keys).await?;
        self.store.reseal_connections(anew).await?;
        Ok(Resealed { connections, tenants })
    }

    async fn write(
        &self,
        account: Account,
        credentials: &Credentials,
        expect: Expect,
        by: Option<Principal>,
    ) -> Res<Account> {
        let keys = self.keys_to_seal()?;
        let kept = seal::seal(&keys, account, credentials)?;
        let sealed_with = kept.key_id.clone();
        let account = self.store.put_connection(kept, expect, by).await?;
        // Another key may have taken over meanwhile: whoever did that has not seen this record, and
        // takes the old key away.
        let now = self.keys_to_seal()?;
        if now.current()?.id() != sealed_with {
            let anew = seal::seal(&now, account.clone(), credentials)?;
            match self.store.reseal_connections(vec![(anew, account.revision)]).await {
                // Somebody has written it since, as it is now.
                Ok(()) | Err(StoreError::Stale | StoreError::Missing) => {}
                Err(
                    why @ (StoreError::Unavailable(_)
                    | StoreError::InDoubt(_)
                    | StoreError::WrongState(_)
                    | StoreError::Tampered(_)),
                ) => return Err(why),
            }
        }
        Ok(account)
    }
}

impl Connections for Vault {
    fn accounts<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Account>> {
        Box::pin(async move {
            let all = self.store.kept_connections(Some(tenant.to_owned())).await?;
            Ok(all.into_iter().map(|kept| kept.account).collect())
        })
    }

    fn open<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, (Account, Credentials)> {
        Box::pin(async move {
            let kept: Kept = self.store.kept_connection(tenant.to_owned(), id.to_owned()).await?;
            let credentials = seal::open(&*self.keys.with(&kept.key_id)?, &kept)?;
            Ok((kept.account, credentials))
        })
    }

    fn put<'a>(
        &'a self,
        mut account: Account,
        credentials: &'a Credentials,
        expect: Expect,
        by: Option<&'a Principal>,
    ) -> Answer<'a, Account> {
        let now = haft_core::port::Store::now_ms(&*self.store);
        next(&mut account, expect, now);
        Box::pin(self.write(account, credentials, expect, by.cloned()))
    }

    fn remove<'a>(&'a self, tenant: &'a str, id: &'a str, by: &'a Principal) -> Answer<'a, ()> {
        Box::pin(self.store.remove_connection(tenant.to_owned(), id.to_owned(), by.clone()))
    }

    fn grants<'a>(&'a self) -> Answer<'a, Vec<Grant>> {
        Box::pin(self.store.connection_grants())
    }

    fn grants_in<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Grant>> {
        Box::pin(self.store.connection_grants_in(tenant.to_owned()))
    }

    fn grant<'a>(&'a self, grant: Grant, by: &'a Principal) -> Answer<'a, ()> {
        Box::pin(self.store.grant_connection(grant, by.clone()))
    }

    fn revoke<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        principal: Option<&'a str>,
        by: &'a Principal,
    ) -> Answer<'a, u64> {
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        let principal = principal.map(str::to_owned);
        Box::pin(self.store.revoke_connection(tenant, id, principal, by.clone()))
    }

    fn hold<'a>(&'a self, tenant: &'a str, id: &'a str, for_ms: u64) -> Answer<'a, bool> {
        Box::pin(self.store.hold_connection(tenant.to_owned(), id.to_owned(), for_ms))
    }

    fn release<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, ()> {
        Box::pin(self.store.release_connection(tenant.to_owned(), id.to_owned()))
    }
}

/// What a write leaves behind: the next revision, and the time.
fn next(account: &mut Account, expect: Expect, now_ms: i64) {
    account.changed_ms = now_ms;
    match expect {
        Expect::Nothing => {
            account.made_ms = now_ms;
            account.revision = 1;
        }
        Expect::Revision(revision) => account.revision = revision.saturating_add(1),
    }
}

/// Grants without one principal; those without any go.
pub(crate) fn without(mut grant: Grant, principal: Option<&str>) -> Option<Grant> {
    let principal = principal?;
    grant.principals.retain(|one| one != principal);
    (!grant.principals.is_empty()).then_some(grant)
}

pub(crate) fn missing() -> StoreError {
    StoreError::Missing
}
