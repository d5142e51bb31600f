//! The contract that an effect was caused under.

use haft_core::Tool;
use haft_core::config::Kind;
use haft_core::ledger::EffectRecord;

use crate::config::Sheet;
use crate::runtime::Runtime;

/// Of a definition so many versions are looked through.
const VERSIONS: usize = 100;

impl Runtime {
    /// The tool as it was when an effect was caused: what undoes it and what can tell about it stands
    /// in its contract. A tool that a tenant brought along is found again when its definition is
    /// gone. Where nothing else is left, as it is now.
    pub async fn tool_behind(&self, effect: &EffectRecord) -> Option<Tool> {
        let effect = &effect.effect;
        let then = self.inner.shelf(&effect.tenant, Some(&effect.registry_version));
        if let Some(tool) = then.as_ref().and_then(|shelf| shelf.find(&effect.tool)) {
            return Some(tool.clone());
        }
        let now = self.inner.shelf(&effect.tenant, None);
        let now = now.as_ref().and_then(|shelf| shelf.find(&effect.tool));
        match now {
            Some(tool) if tool.digest == effect.tool_digest => Some(tool.clone()),
            Some(_) | None => self.written(effect).await.or_else(|| now.cloned()),
        }
    }

    /// The tool out of an earlier version of its definition.
    async fn written(&self, effect: &haft_core::ledger::Effect) -> Option<Tool> {
        let (tenant, id) = (&effect.tenant, &effect.tool);
        let all =
            self.inner.store.versions(Kind::Definition, tenant, id, None, VERSIONS).await.ok()?;
        let all = all.iter().filter_map(Sheet::read);
        let mut made = all.filter_map(|sheet| self.compiled(&sheet));
        made.find(|tool| tool.digest == effect.tool_digest)
    }
}
