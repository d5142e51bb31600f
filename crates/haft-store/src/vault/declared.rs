//! Connections that are declared, over those that are kept. What is declared is changed where it is
//! declared; a token that was had with it goes with the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::Principal;
use haft_core::connection::{Account, Credentials, Grant};
use haft_core::port::{Boxed, Connections, Expect, StoreError};
use haft_core::secret::SecretText;
use parking_lot::Mutex;

use super::memory::{expected, now_ms};
use crate::tables::Res;

type Answer<'a, T> = Boxed<'a, Res<T>>;

/// Where the credentials of a declared connection come from. Asked for each call, so that a file that
/// somebody replaces is read as it is now.
pub type Source = Arc<dyn Fn() -> Result<Credentials, String> + Send + Sync>;

/// Declared connections, and whatever is kept under them.
pub struct Declared {
    under: Arc<dyn Connections>,
    own: BTreeMap<(String, String), One>,
}

struct One {
    account: Account,
    source: Source,
    state: Mutex<State>,
}

struct State {
    revision: u64,
    /// What was had with the credentials as they were then.
    tokens: Option<Credentials>,
    held_until_ms: i64,
}

impl Declared {
    /// Over others, which count only where nothing of the same name is declared.
    #[must_use]
    pub fn over(under: Arc<dyn Connections>, declared: Vec<(Account, Source)>) -> Self {
        let one = |(account, source): (Account, Source)| {
            let state = State { revision: 1, tokens: None, held_until_ms: 0 };
            let key = (account.tenant.clone(), account.id.clone());
            (key, One { account, source, state: Mutex::new(state) })
        };
        Self { under, own: declared.into_iter().map(one).collect() }
    }

    fn of(&self, tenant: &str, id: &str) -> Option<&One> {
        self.own.get(&(tenant.to_owned(), id.to_owned()))
    }
}

impl One {
    fn account(&self) -> Account {
        Account { revision: self.state.lock().revision, ..self.account.clone() }
    }

    fn open(&self) -> Res<(Account, Credentials)> {
        let named =
            |why| StoreError::WrongState(format!("the connection `{}`: {why}", self.account.id));
        let written = (self.source)().map_err(named)?;
        let state = self.state.lock();
        let account = Account { revision: state.revision, ..self.account.clone() };
        match &state.tokens {
            Some(tokens) if is_of(tokens, &written) => Ok((account, tokens.clone())),
            Some(_) | None => Ok((account, written)),
        }
    }

    fn renew(&self, credentials: &Credentials, expect: Expect) -> Res<Account> {
        let mut state = self.state.lock();
        expected(Some(state.revision), expect)?;
        state.revision = state.revision.saturating_add(1);
        state.tokens = Some(credentials.clone());
        state.held_until_ms = 0;
        Ok(Account { revision: state.revision, ..self.account.clone() })
    }
}

/// Whether tokens were had with credentials that are still written so.
fn is_of(tokens: &Credentials, written: &Credentials) -> bool {
    let (Credentials::OAuth(tokens), Credentials::OAuth(written)) = (tokens, written) else {
        return false;
    };
    let (one, other) = (&tokens.client_secret, &written.client_secret);
    one.as_ref().map(SecretText::expose) == other.as_ref().map(SecretText::expose)
}

fn read_only<'a, T: Send + 'a>(id: &str) -> Answer<'a, T> {
    let why = format!("the connection `{id}` is declared in haft.toml; change it there");
    Box::pin(std::future::ready(Err(StoreError::WrongState(why))))
}

impl Connections for Declared {
    fn accounts<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Account>> {
        Box::pin(async move {
            let mut all = self.under.accounts(tenant).await?;
            all.retain(|one| self.of(tenant, &one.id).is_none());
            let own = self.own.values().filter(|one| one.account.tenant == tenant);
            all.extend(own.map(One::account));
            all.sort_by(|one, other| one.id.cmp(&other.id));
            Ok(all)
        })
    }

    fn open<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, (Account, Credentials)> {
        match self.of(tenant, id) {
            Some(one) => Box::pin(std::future::ready(one.open())),
            None => self.under.open(tenant, id),
        }
    }

    fn is_declared(&self, tenant: &str, id: &str) -> bool {
        self.of(tenant, id).is_some() || self.under.is_declared(tenant, id)
    }

    fn put<'a>(
        &'a self,
        account: Account,
        credentials: &'a Credentials,
        expect: Expect,
        by: Option<&'a Principal>,
    ) -> Answer<'a, Account> {
        match (self.of(&account.tenant, &account.id), by) {
            (None, _) => self.under.put(account, credentials, expect, by),
            (Some(one), None) => Box::pin(std::future::ready(one.renew(credentials, expect))),
            (Some(_), Some(_)) => read_only(&account.id),
        }
    }

    fn remove<'a>(&'a self, tenant: &'a str, id: &'a str, by: &'a Principal) -> Answer<'a, ()> {
        match self.of(tenant, id) {
            Some(_) => read_only(id),
            None => self.under.remove(tenant, id, by),
        }
    }

    fn grants<'a>(&'a self) -> Answer<'a, Vec<Grant>> {
        Box::pin(async move {
            let mut all = self.under.grants().await?;
            // What is granted of an account that was kept under this name was not granted of this one.
            all.retain(|one| self.of(&one.tenant, &one.connection).is_none());
            Ok(all)
        })
    }

    fn grants_in<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Grant>> {
        Box::pin(async move {
            let mut all = self.under.grants_in(tenant).await?;
            all.retain(|one| self.of(&one.tenant, &one.connection).is_none());
            Ok(all)
        })
    }

    fn grant<'a>(&'a self, grant: Grant, by: &'a Principal) -> Answer<'a, ()> {
        match self.of(&grant.tenant, &grant.connection) {
            Some(_) => read_only(&grant.connection),
            None => self.under.grant(grant, by),
        }
    }

    fn revoke<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        principal: Option<&'a str>,
        by: &'a Principal,
    ) -> Answer<'a, u64> {
        match self.of(tenant, id) {
            Some(_) => read_only(id),
            None => self.under.revoke(tenant, id, principal, by),
        }
    }

    fn hold<'a>(&'a self, tenant: &'a str, id: &'a str, for_ms: u64) -> Answer<'a, bool> {
        let Some(one) = self.of(tenant, id) else { return self.under.hold(tenant, id, for_ms) };
        let (mut state, now) = (one.state.lock(), now_ms());
        let free = state.held_until_ms <= now;
        if free {
            state.held_until_ms = now.saturating_add(i64::try_from(for_ms).unwrap_or(i64::MAX));
        }
        Box::pin(std::future::ready(Ok(free)))
    }

    fn release<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, ()> {
        let Some(one) = self.of(tenant, id) else { return self.under.release(tenant, id) };
        one.state.lock().held_until_ms = 0;
        Box::pin(std::future::ready(Ok(())))
    }
}
