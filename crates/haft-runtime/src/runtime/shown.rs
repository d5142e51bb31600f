//! What there is, for whoever asks: catalogs, registries, connections, what a tenant could take.

use std::sync::Arc;

use haft_core::contract::Mode;
use haft_core::session::Session;
use haft_core::{Caller, Registry, Tool};
use tokio::sync::watch;

use super::Runtime;
use crate::toolbox::{Catalog, McpAccess, Unavailable};

impl Runtime {
    /// The tools of a caller, and why the others are not there.
    #[must_use]
    pub fn catalog(&self, caller: &Caller, mode: Mode) -> Catalog {
        let shelf = self.inner.shelves.load().of(&caller.tenant).clone();
        self.inner.catalog(&shelf, caller, mode, None, self.inner.store.now_ms())
    }

    /// The tools of a caller in the registry that a session is pinned to; none where that is not
    /// loaded.
    #[must_use]
    pub fn catalog_in(&self, caller: &Caller, session: &Session) -> Option<Catalog> {
        let shelf = self.inner.shelf(&caller.tenant, Some(&session.registry_version))?;
        let (id, now_ms) = (Some(session.id.as_str()), self.inner.store.now_ms());
        Some(self.inner.catalog(&shelf, caller, session.mode, id, now_ms))
    }

    /// A registry that is loaded, by its version; also by one that speaks of what a tenant has beside
    /// it, which is not in the registry.
    #[must_use]
    pub fn registry(&self, version: &str) -> Option<Arc<Registry>> {
        self.inner.shelves.load().registry(version)
    }

    /// Tells whenever a catalog may have changed: another registry, other rules, other tenants or
    /// agents.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// How a tenant's tools may be used over MCP.
    #[must_use]
    pub fn mcp_access(&self, tenant: &str) -> McpAccess {
        self.inner.rules.load().directory.mcp_access(tenant)
    }

    /// The registry that new sessions and single calls use.
    #[must_use]
    pub fn current(&self) -> Arc<Registry> {
        self.inner.shelves.load().current.registry.clone()
    }

    /// What new sessions of a tenant are pinned to: the registry's version, and behind a `+` what
    /// stands for the tools that the tenant brings along.
    #[must_use]
    pub fn version_for(&self, tenant: &str) -> Arc<str> {
        self.inner.shelves.load().of(tenant).version.clone()
    }

    /// The tools that a tenant brings along, in stable order.
    #[must_use]
    pub fn own_tools(&self, tenant: &str) -> Vec<Tool> {
        let shelves = self.inner.shelves.load();
        shelves.brought(tenant).map(|own| own.tools.clone()).unwrap_or_default()
    }

    /// The connections that a caller may use a tool with, by id: what is granted, without regard to
    /// what a request was given.
    #[must_use]
    pub fn connections(&self, caller: &Caller, tool: &Tool) -> Vec<String> {
        let Some(needed) = &tool.contract.connection else { return Vec::new() };
        let rules = self.inner.rules.load();
        let (tenant, who) = (&*caller.tenant, caller.principal());
        let usable = rules.directory.grants.usable(tenant, who, &needed.provider, &tool.id);
        usable.into_iter().map(str::to_owned).collect()
    }

    /// What a tenant could take, and how: for its administrators.
    #[must_use]
    pub fn offers(&self, tenant: &str) -> Vec<Unavailable> {
        let shelf = self.inner.shelves.load().of(tenant).clone();
        self.inner.rules.load().directory.offers(&shelf.stock, tenant)
    }
}
