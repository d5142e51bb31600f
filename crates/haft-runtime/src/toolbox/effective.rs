//! A tool as one agent has it: its contract, with what its activation changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_core::contract::{Arguments, Confirmation, Limits, Mode, SideEffectPolicy};
use haft_core::port::Standing;
use haft_core::registry::Tool;
use serde::Serialize;

use super::overrides::Overrides;
use super::records::Origin;
use super::stock::Stocked;

/// A tool that an agent may use.
#[derive(Clone, Debug)]
pub struct EffectiveTool {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Where it came from.
    pub origin: Origin,
    /// Whether the agent's tenant has brought it along.
    pub of_tenant: bool,
    /// Whether a person must approve.
    pub requires_confirmation: Confirmation,
    /// Where it may be used.
    pub allowed_modes: Vec<Mode>,
    /// How long a call should take at most.
    pub latency_budget_ms: u64,
    /// Caps on one call and on many.
    pub limits: Limits,
    /// How arguments are read.
    pub arguments: Arguments,
    /// The agent's own connection for it, used where a call names none.
    pub connection: Option<String>,
    /// What policy said when the catalog was built. The gate asks anew.
    pub standing: Standing,
}

impl EffectiveTool {
    pub(crate) fn new(
        stocked: &Stocked,
        overrides: Option<&Overrides>,
        standing: Standing,
    ) -> Self {
        let plain = Overrides::default();
        let said = overrides.unwrap_or(&plain);
        let tool = &stocked.tool;
        let contract = &tool.contract;
        let mut arguments = contract.arguments;
        arguments.mode = said.arguments.unwrap_or(arguments.mode);
        Self {
            tool: Arc::clone(tool),
            origin: stocked.origin,
            of_tenant: stocked.defined,
            requires_confirmation: match said.requires_confirmation {
                Some(always) => Confirmation::Always(always),
                None => contract.requires_confirmation.clone(),
            },
            allowed_modes: modes(tool, said).to_vec(),
            latency_budget_ms: said.latency_budget_ms.unwrap_or(contract.latency_budget_ms),
            limits: said.limits(contract),
            arguments,
            connection: None,
            standing,
        }
    }

    /// With the agent's own connection to the tool's provider.
    pub(crate) fn connected(mut self, connections: &BTreeMap<String, String>) -> Self {
        let needed = self.tool.contract.connection.as_ref();
        self.connection = needed.and_then(|needed| connections.get(&needed.provider)).cloned();
        self
    }

    /// What a planner wants to know before it plans.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let contract = &self.tool.contract;
        let categories = [contract.category.as_str().to_owned()];
        Metadata {
            name: self.tool.id.clone(),
            side_effect_policy: contract.side_effect_policy,
            requires_confirmation: self.requires_confirmation != Confirmation::Always(false),
            compensation_tool: contract.compensation.as_ref().map(|undo| undo.tool.clone()),
            categories: categories.into_iter().chain(contract.tags.iter().cloned()).collect(),
        }
    }
}

/// Where a tool may be used.
pub(crate) fn modes<'a>(tool: &'a Tool, overrides: &'a Overrides) -> &'a [Mode] {
    overrides.allowed_modes.as_ref().unwrap_or(&tool.contract.allowed_modes)
}

/// What a planner wants to know before it plans.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metadata {
    /// The tool's canonical id.
    pub name: String,
    /// What may be done when an outcome is unknown.
    pub side_effect_policy: SideEffectPolicy,
    /// Whether a person must approve, always or sometimes.
    pub requires_confirmation: bool,
    /// The tool that undoes it.
    pub compensation_tool: Option<String>,
    /// Its category and its tags.
    pub categories: Vec<String>,
}

impl Metadata {
    /// Whether nothing undoes it.
    #[must_use]
    pub fn is_irreversible(&self) -> bool {
        self.side_effect_policy == SideEffectPolicy::Irreversible
    }

    /// Whether repeating it does no harm.
    #[must_use]
    pub fn is_safe_to_retry(&self) -> bool {
        matches!(self.side_effect_policy, SideEffectPolicy::Pure | SideEffectPolicy::Idempotent)
    }
}
