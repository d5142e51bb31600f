//! What entries say, kind by kind. Tenant and id stand in the entry itself.

use std::collections::BTreeMap;

use haft_core::call::Principal;
use haft_core::config::{Entry, Kind};
use haft_core::contract::Mode;
use semver::VersionReq;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::{Instant, Problem, suggest};
use crate::toolbox::{McpAccess, ModelChoice, Origin, Overrides, TokenBudget};

/// The body of an entry of one kind.
pub trait Body: Serialize + DeserializeOwned {
    /// The kind.
    const KIND: Kind;
}

macro_rules! bodies {
    ($($body:ident => $kind:ident),* $(,)?) => {
        $(impl Body for $body {
            const KIND: Kind = Kind::$kind;
        })*

        /// Whether a body is one of its kind. What holds credentials is for others to judge.
        ///
        /// # Errors
        ///
        /// What is wrong, with the nearest key or word that is known.
        pub fn parse(kind: Kind, body: &Value) -> Result<(), Problem> {
            match kind {
                $(Kind::$kind => shape::<$body>(body).map(drop),)*
                Kind::Key | Kind::Connection => Ok(()),
            }
        }
    };
}

bodies! {
    Tenant => Tenant,
    Agent => Agent,
    Definition => Definition,
    Activation => Activation,
    Delegation => Delegation,
    PolicyText => Policy,
    Grant => Grant,
}

fn shape<T: DeserializeOwned>(body: &Value) -> Result<T, Problem> {
    // A list would be read as the members in their order.
    if !body.is_object() {
        return Err(Problem::error("request", "an object is expected here"));
    }
    T::deserialize(body).map_err(|error| Problem::error("request", suggest(&error.to_string())))
}

/// What an entry says.
///
/// # Errors
///
/// What is wrong with it.
pub fn read<T: Body>(entry: &Entry) -> Result<T, Problem> {
    shape(&entry.body).map_err(|problem| {
        let place = format!("stored {} `{}`", entry.kind.as_str(), entry.id);
        Problem::error(&place, problem.message)
    })
}

/// A tenant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tenant {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who may approve that an agent's rules are looser than a contract.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub administrators: Vec<Principal>,
    /// How its tools may be used over MCP.
    #[serde(skip_serializing_if = "McpAccess::is_whole")]
    pub mcp: McpAccess,
    /// How many tokens of models its agents may use; as many as they like when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenBudget>,
}

/// An agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model that it talks to; the one that the operator gave it when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelChoice>,
    /// Only these tools; all that the tenant has when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Only these tools in a mode.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<Mode, Vec<String>>,
    /// The connections that its calls use which name none, by provider. They have to be granted still.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub connections: BTreeMap<String, String>,
}

/// What a tenant says about a tool. The entry's id is the tool's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Definition {
    /// The versions that the tenant has taken; any when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionReq>,
    /// Whether the tenant has it. Left out, it has what is its own, and nothing discovered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Where it came from. What was discovered is not made one's own by saying so.
    pub source: Origin,
    /// The contract of a tool that the tenant brings along, as a tool's folder would hold it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<Value>,
    /// What is always in its prompt; its description when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
}

/// What is said about one tool of one agent. The entry's id is `<agent>/<tool>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activation {
    /// Whether the agent may use it.
    pub enabled: bool,
    /// Where the agent's rules differ from the contract.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub overrides: Overrides,
    /// The administrator who takes it on themselves that they are looser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<Principal>,
}

fn is_plain(overrides: &Overrides) -> bool {
    *overrides == Overrides::default()
}

/// Who may act for whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delegation {
    /// Who acts.
    pub actor: Principal,
    /// For whom.
    pub subject: Principal,
    /// With which tools.
    pub tools: Vec<String>,
    /// Through which of the subject's connections; none when left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<String>,
    /// Until when.
    pub until: Instant,
}

/// Rules of one tenant, beside those of `haft.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyText {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Cedar policies.
    pub cedar: String,
    /// Tools that may be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Tools that may not be used, whatever else is said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// What a person must approve: effects, tools, patterns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<String>,
}

/// Who may use which connection, with which tools.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The connection, an opaque id.
    pub connection: String,
    /// Whose account it is.
    pub provider: String,
    /// Who: `user:mara`, `agent:*`, `*`.
    pub principals: Vec<String>,
    /// With which tools.
    pub tools: Vec<String>,
}

/// The id of an activation's entry.
#[must_use]
pub fn activation_id(agent: &str, tool: &str) -> String {
    format!("{agent}/{tool}")
}
