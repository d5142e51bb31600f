//! Tenants, agents and what they may use, as they are written.

use std::collections::BTreeMap;

use haft_core::call::Principal;
use haft_core::contract::Mode;
use semver::VersionReq;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::overrides::Overrides;
use crate::config::PolicyText;
use crate::policy::{Delegation, Grant};

/// Everything that is on record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Records {
    /// Who has tools.
    pub tenants: Vec<Tenant>,
    /// Who uses them.
    pub agents: Vec<Agent>,
    /// Who may act for whom.
    pub delegations: Vec<Delegation>,
    /// Who may use which connection.
    pub grants: Vec<Grant>,
    /// Rules of single tenants, beside the common ones.
    pub policies: Vec<TenantPolicy>,
}

/// Declared rules of one tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenantPolicy {
    /// Whose.
    pub tenant: String,
    /// Its id among the tenant's policies.
    pub id: String,
    /// What it says.
    pub text: PolicyText,
}

impl Records {
    /// One tenant with one agent that may use the whole toolset, inside what policy allows.
    #[must_use]
    pub fn of_one(tenant: &str, agent: &str) -> Self {
        Self {
            tenants: vec![Tenant { id: tenant.into(), ..Tenant::default() }],
            agents: vec![Agent { id: agent.into(), tenant: tenant.into(), ..Agent::default() }],
            ..Self::default()
        }
    }
}

/// A tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Its id.
    pub id: String,
    /// Who may approve that an agent's rules are looser than a contract.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub administrators: Vec<Principal>,
    /// What it has taken, or left, beside its own toolset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<Definition>,
    /// How its tools may be used over MCP.
    #[serde(default, skip_serializing_if = "McpAccess::is_whole")]
    pub mcp: McpAccess,
    /// How many tokens of models its agents may use; as many as they like when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenBudget>,
}

/// How many tokens of models a tenant may use, in and out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenBudget {
    /// So many.
    pub most: u64,
    /// In this time.
    #[serde(default)]
    pub per: Period,
}

/// A time of the calendar, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    #[default]
    Day,
    /// From the first of a month to the first of the next.
    Month,
}

impl Period {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// How a tenant's tools may be used over MCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpAccess {
    /// Listed and called.
    #[default]
    Whole,
    /// Looked up only: what there is, what is enabled, and what could be. Calls are made elsewhere.
    Discovery,
    /// Not at all.
    Off,
}

impl McpAccess {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(crate) fn is_whole(&self) -> bool {
        *self == Self::Whole
    }
}

/// What a tenant says about a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The tool.
    pub tool: String,
    /// The versions that the tenant has taken; any when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionReq>,
    /// Whether the tenant has it. Left out, it has what is its own, and nothing discovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Where it came from. What was discovered is not made one's own by saying so.
    #[serde(default)]
    pub source: Origin,
    /// The contract, where the tenant brings the tool along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<Value>,
    /// What is always in the prompt of a tool that the tenant brings along; its description when
    /// left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// The folder that contract and documents stand in. Whoever reads the file reads the folder:
    /// nothing here does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Whether the tool is the tenant's own, where its contract is kept elsewhere.
    #[serde(default, skip_deserializing, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

impl Definition {
    /// A definition that says nothing about a tool but that there is one.
    #[must_use]
    pub fn of(tool: &str) -> Self {
        Self {
            tool: tool.to_owned(),
            version: None,
            enabled: None,
            source: Origin::Own,
            contract: None,
            summary: None,
            doc: None,
            folder: None,
            own: false,
        }
    }

    /// Whether the tenant brings the tool along.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.own || self.contract.is_some()
    }
}

/// Where a tool came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A toolset that somebody here answers for.
    #[default]
    Own,
    /// An upstream server or a marketplace.
    Discovered,
}

/// An agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model that it talks to; the one that the operator gave it when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// Only these tools; all that the tenant has when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Only these tools in a mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<Mode, Vec<String>>,
    /// Provider → the connection that a call uses which names none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub connections: BTreeMap<String, String>,
    /// What is said about single tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activations: Vec<Activation>,
}

/// A model of a provider, asked with the key of one of the tenant's connections. No address: what a
/// tenant writes must not lead a server anywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    /// Whose model it is: `openai`, `anthropic`, `gemini`, …
    pub provider: String,
    /// Its name there.
    pub name: String,
    /// The tenant's connection that has its key.
    pub connection: String,
}

/// What is said about one tool of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activation {
    /// The tool.
    pub tool: String,
    /// Whether the agent may use it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Where the agent's rules differ from the contract.
    #[serde(default)]
    pub overrides: Overrides,
    /// The administrator who approved that they are looser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<Principal>,
}

fn yes() -> bool {
    true
}
