//! What the contract that an effect was caused under says about it.

use haft_core::Tool;
use haft_core::config::Kind;
use haft_core::ledger::{After, Effect, EffectRecord};

use crate::config::Sheet;
use crate::runtime::Runtime;

/// Of a definition so many versions are looked through.
const VERSIONS: usize = 100;

impl Runtime {
    /// How an effect can be looked into and undone, as its contract said when it was caused. Nothing where
    /// that is not known: an earlier version of haft has not recorded it, and the tool is another by now.
    pub async fn after(&self, effect: &EffectRecord) -> Option<After> {
        let effect = &effect.effect;
        match &effect.after {
            Some(after) => Some(after.clone()),
            None => self.tool_behind(effect).await.as_ref().map(After::of),
        }
    }

    /// The very tool that caused an effect, where it is loaded or can be made again from what its tenant
    /// wrote down.
    pub(super) async fn tool_behind(&self, effect: &Effect) -> Option<Tool> {
        for version in [Some(effect.registry_version.as_str()), None] {
            let shelf = self.inner.shelf(&effect.tenant, version);
            let tool = shelf.as_ref().and_then(|shelf| shelf.find(&effect.tool));
            if let Some(tool) = tool.filter(|tool| tool.digest == effect.tool_digest) {
                return Some(tool.clone());
            }
        }
        self.written(effect).await
    }

    /// Why nothing is done about an effect by the connection that it went through: another may have its name by now.
    pub(super) async fn elsewhere(&self, effect: &Effect) -> Option<String> {
        let (connection, then) = (effect.connection.as_deref()?, effect.account_made_ms?);
        let now = self.inner.account_made_ms(&effect.tenant, connection).await?;
        (now != then).then(|| {
            format!("its connection `{connection}` was made anew since, and may be another account")
        })
    }

    /// The tool out of an earlier version of its definition.
    async fn written(&self, effect: &Effect) -> Option<Tool> {
        let (tenant, id) = (&effect.tenant, &effect.tool);
        let all =
            self.inner.store.versions(Kind::Definition, tenant, id, None, VERSIONS).await.ok()?;
        let all = all.iter().filter_map(Sheet::read);
        let mut made = all.filter_map(|sheet| self.compiled(&sheet));
        made.find(|tool| tool.digest == effect.tool_digest)
    }
}

/// Why nothing is done about an effect although its contract may have said how.
pub(super) const CHANGED: &str =
    "its tool is another by now, and what its contract said then is not on record";
