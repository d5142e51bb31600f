//! One policy for all, and of their own for tenants that have rules of their own.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::Digest;
use haft_core::port::{Ask, Decide, Decision, Standing};
use serde_json::json;

/// Policies by tenant. What one tenant writes is never asked about another's calls.
pub struct ByTenant {
    common: Arc<dyn Decide>,
    own: HashMap<String, Arc<dyn Decide>>,
    version: Digest,
}

impl ByTenant {
    /// The common policy, and those of tenants that have one of their own.
    #[must_use]
    pub fn new(common: Arc<dyn Decide>, own: HashMap<String, Arc<dyn Decide>>) -> Self {
        let mut all: Vec<_> = own.iter().map(|(id, one)| (id, one.version())).collect();
        all.sort();
        let version = Digest::of_json(&json!([common.version(), all]));
        Self { common, own, version }
    }

    fn of(&self, tenant: &str) -> &dyn Decide {
        &**self.own.get(tenant).unwrap_or(&self.common)
    }
}

impl Decide for ByTenant {
    fn version(&self) -> Digest {
        self.version.clone()
    }

    fn version_for(&self, tenant: &str) -> Digest {
        self.of(tenant).version()
    }

    fn standing(&self, ask: &Ask<'_>) -> Standing {
        self.of(&ask.caller.tenant).standing(ask)
    }

    fn differs_by_session(&self, ask: &Ask<'_>) -> bool {
        self.of(&ask.caller.tenant).differs_by_session(ask)
    }

    fn decide(&self, ask: &Ask<'_>) -> Arc<Decision> {
        self.of(&ask.caller.tenant).decide(ask)
    }

    fn holds(&self, condition: &str, ask: &Ask<'_>) -> Result<bool, String> {
        self.of(&ask.caller.tenant).holds(condition, ask)
    }
}
