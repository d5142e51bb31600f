//! Connections in memory: the reference, and the fake.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use haft_core::Principal;
use haft_core::connection::{Account, Credentials, Grant};
use haft_core::port::{Boxed, Connections, Expect, StoreError};
use parking_lot::Mutex;

use super::{missing, next, without};
use crate::tables::Res;

type Answer<'a, T> = Boxed<'a, Res<T>>;

/// Connections that go with the program.
#[derive(Default)]
pub struct Accounts {
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    accounts: BTreeMap<(String, String), Row>,
    grants: Vec<Grant>,
}

struct Row {
    account: Account,
    credentials: Credentials,
    held_until_ms: i64,
}

pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn key(tenant: &str, id: &str) -> (String, String) {
    (tenant.to_owned(), id.to_owned())
}

impl Accounts {
    fn answer<T: Send + 'static>(&self, step: impl FnOnce(&mut Rows) -> Res<T>) -> Answer<'_, T> {
        Box::pin(std::future::ready(step(&mut self.rows.lock())))
    }
}

impl Connections for Accounts {
    fn accounts<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Account>> {
        self.answer(|rows| {
            let of = rows.accounts.values().filter(|row| row.account.tenant == tenant);
            Ok(of.map(|row| row.account.clone()).collect())
        })
    }

    fn open<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, (Account, Credentials)> {
        let found = {
            let rows = self.rows.lock();
            let row = rows.accounts.get(&key(tenant, id));
            row.map(|row| (row.account.clone(), row.credentials.clone()))
        };
        Box::pin(std::future::ready(found.ok_or_else(missing)))
    }

    fn put<'a>(
        &'a self,
        mut account: Account,
        credentials: &'a Credentials,
        expect: Expect,
        _: Option<&'a Principal>,
    ) -> Answer<'a, Account> {
        let now = now_ms();
        self.answer(|rows| {
            let at = key(&account.tenant, &account.id);
            let there = rows.accounts.get(&at).map(|row| row.account.revision);
            expected(there, expect)?;
            next(&mut account, expect, now);
            let row = Row {
                account: account.clone(),
                credentials: credentials.clone(),
                held_until_ms: 0,
            };
            rows.accounts.insert(at, row);
            Ok(account)
        })
    }

    fn remove<'a>(&'a self, tenant: &'a str, id: &'a str, _: &'a Principal) -> Answer<'a, ()> {
        self.answer(|rows| {
            rows.accounts.remove(&key(tenant, id)).ok_or_else(missing)?;
            rows.grants.retain(|one| one.tenant != tenant || one.connection != id);
            Ok(())
        })
    }

    fn grants<'a>(&'a self) -> Answer<'a, Vec<Grant>> {
        self.answer(|rows| Ok(rows.grants.clone()))
    }

    fn grants_in<'a>(&'a self, tenant: &'a str) -> Answer<'a, Vec<Grant>> {
        let own = |one: &&Grant| one.tenant == tenant;
        self.answer(|rows| Ok(rows.grants.iter().filter(own).cloned().collect()))
    }

    fn grant<'a>(&'a self, grant: Grant, _: &'a Principal) -> Answer<'a, ()> {
        self.answer(|rows| {
            rows.accounts.get(&key(&grant.tenant, &grant.connection)).ok_or_else(missing)?;
            if !rows.grants.contains(&grant) {
                rows.grants.push(grant);
            }
            Ok(())
        })
    }

    fn revoke<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        principal: Option<&'a str>,
        _: &'a Principal,
    ) -> Answer<'a, u64> {
        self.answer(|rows| {
            let mut changed = 0;
            let all = std::mem::take(&mut rows.grants);
            for grant in all {
                if grant.tenant != tenant || grant.connection != id {
                    rows.grants.push(grant);
                    continue;
                }
                let left = without(grant.clone(), principal);
                changed += u64::from(left.as_ref() != Some(&grant));
                rows.grants.extend(left);
            }
            Ok(changed)
        })
    }

    fn hold<'a>(&'a self, tenant: &'a str, id: &'a str, for_ms: u64) -> Answer<'a, bool> {
        let now = now_ms();
        self.answer(|rows| {
            let row = rows.accounts.get_mut(&key(tenant, id)).ok_or_else(missing)?;
            let free = row.held_until_ms <= now;
            if free {
                row.held_until_ms = now.saturating_add(i64::try_from(for_ms).unwrap_or(i64::MAX));
            }
            Ok(free)
        })
    }

    fn release<'a>(&'a self, tenant: &'a str, id: &'a str) -> Answer<'a, ()> {
        self.answer(|rows| {
            if let Some(row) = rows.accounts.get_mut(&key(tenant, id)) {
                row.held_until_ms = 0;
            }
            Ok(())
        })
    }
}

/// Whether what is there is what was expected.
pub(crate) fn expected(there: Option<u64>, expect: Expect) -> Res<()> {
    match (there, expect) {
        (None, Expect::Nothing) => Ok(()),
        (Some(there), Expect::Revision(revision)) if there == revision => Ok(()),
        (None, Expect::Revision(_)) => Err(StoreError::Missing),
        (Some(_), Expect::Nothing | Expect::Revision(_)) => Err(StoreError::Stale),
    }
}
