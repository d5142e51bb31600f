//! Tenants that were called the same one after the other. What was begun for one of them, and what is kept
//! of it, is nothing to the next.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_core::Caller;
use haft_core::config::{Kind, Snapshot};
use haft_core::{ErrorKind, ToolError};
use parking_lot::RwLock;

use super::{Inner, Runtime};
use crate::toolbox::Records;

/// How many tenants of each name this process has seen go.
#[derive(Default)]
pub(crate) struct Eras {
    gone: RwLock<HashMap<String, u64>>,
    /// How many in all. Every call asks, and most of the time there were none.
    all: AtomicU64,
}

impl Eras {
    /// Which tenant of this name there is now.
    pub(crate) fn of(&self, tenant: &str) -> u64 {
        if self.all.load(Ordering::Acquire) == 0 {
            return 0;
        }
        self.gone.read().get(tenant).copied().unwrap_or_default()
    }

    fn end(&self, tenant: &str) {
        let mut gone = self.gone.write();
        *gone.entry(tenant.to_owned()).or_default() += 1;
        self.all.fetch_add(1, Ordering::Release);
    }
}

impl Inner {
    /// Whether the tenant is gone that somebody was let in for: whoever is called so now is another.
    pub(crate) fn is_over(&self, caller: &Caller) -> bool {
        caller.era.is_some_and(|era| era != self.eras.of(&caller.tenant))
    }

    /// What whoever asked for a tenant that is gone is told.
    pub(crate) fn of_nobody() -> ToolError {
        let message = "the tenant that this was asked for was removed; nothing was done";
        ToolError::new(ErrorKind::Unavailable, message)
            .suggest("do not send it again: a tenant of the same name is another one")
    }

    /// A tenant is gone. All that this process keeps of tenants by their names is forgotten here.
    fn forget_tenant(&self, tenant: &str) {
        // First: what is kept from here on is kept for another.
        self.eras.end(tenant);
        self.suggestions.forget(tenant);
        self.rates.forget(tenant);
        self.forget_secrets(tenant);
        self.publish.tenant_removed(tenant);
        self.observe.iter().for_each(|observer| observer.tenant_removed(tenant));
    }
}

impl Runtime {
    /// Which of the tenants that were called so one after the other there is now. What is kept for one
    /// of them is for no other: it is to be held against this.
    #[must_use]
    pub fn era(&self, tenant: &str) -> u64 {
        self.inner.eras.of(tenant)
    }

    /// Tenants that are there no longer take along what is known of them in memory, and so do those in
    /// whose place others have come.
    pub(super) fn forget_removed(&self, now: &Records, replaced: &[String]) {
        let before = self.configured();
        let stays =
            |id: &String| now.tenants.iter().any(|one| one.id == *id) && !replaced.contains(id);
        let known = before.records.tenants.iter().map(|one| &one.id);
        known.filter(|id| !stays(id)).for_each(|gone| self.inner.forget_tenant(gone));
    }

    /// Tenants that another process has removed and made again since the store was last read: of what
    /// they said before, nothing is there. One of which that cannot be found out counts as another.
    pub(super) async fn replaced(&self, now: &Snapshot) -> Vec<String> {
        let before = self.configured();
        let mut replaced = Vec::new();
        for old in before.snapshot.entries.iter().filter(|one| one.kind == Kind::Tenant) {
            let new = now.entries.iter().find(|one| one.kind == Kind::Tenant && one.id == old.id);
            if new.is_none_or(|new| new.version == old.version) {
                continue;
            }
            let (tenant, at) = (&old.tenant, old.version + 1);
            let said = self.inner.store.versions(Kind::Tenant, tenant, &old.id, Some(at), 1).await;
            let is_there =
                said.is_ok_and(|said| said.first().is_some_and(|one| one.version == old.version));
            if !is_there {
                replaced.push(old.id.clone());
            }
        }
        replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tenant_has_eras_of_its_own() {
        let eras = Eras::default();
        assert_eq!((eras.of("acme"), eras.of("bank")), (0, 0));
        eras.end("acme");
        eras.end("acme");
        assert_eq!((eras.of("acme"), eras.of("bank")), (2, 0));
    }
}
