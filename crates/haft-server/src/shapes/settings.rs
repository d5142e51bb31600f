//! What is configured, as administrators read it.

use utoipa::ToSchema;

use super::Open;
use crate::api::ModeName;

/// One thing that is configured.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Configured<T> {
    /// Its id.
    id: String,
    /// `stored` here, or `declared` in `haft.toml` and read-only.
    source: String,
    /// Raised by every change; absent where it is declared.
    version: Option<u64>,
    /// When it was last changed, in milliseconds of the Unix epoch.
    changed_at_ms: Option<i64>,
    /// By whom.
    changed_by: Option<String>,
    /// What it says.
    value: T,
    /// What is probably not what was meant.
    warnings: Option<Vec<String>>,
}

/// A part of a list.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Configurations<T> {
    /// By id.
    items: Vec<Configured<T>>,
    /// Where the next page begins; absent on the last one.
    next: Option<String>,
}

/// Versions of one thing, newest first.
#[derive(ToSchema)]
pub(crate) struct Versions<T>(Vec<Configured<T>>);

/// What is kept about a tool of the tenant.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DefinitionKept {
    /// The versions that the tenant has taken; any where absent.
    version: Option<String>,
    /// Whether the tenant has it.
    enabled: Option<bool>,
    /// `own` or `discovered`.
    source: Option<String>,
    /// The contract of a tool that the tenant brings along.
    contract: Option<Open>,
    /// What is always in the prompt of a tool that the tenant brings along.
    summary: Option<String>,
    /// Its document.
    doc: Option<String>,
    /// The folder in which contract and document are declared.
    folder: Option<String>,
    /// Whether the tool is the tenant's own, where its contract is kept elsewhere.
    own: Option<bool>,
}

/// What is kept about one tool of one agent.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActivationKept {
    /// Whether the agent may use it.
    enabled: bool,
    /// Where the agent's rules differ from the contract.
    overrides: Option<Overrides>,
    /// The administrator who took it on themselves that they are looser.
    approved_by: Option<String>,
}

/// Where an agent's rules differ from a contract; what is left out is as the contract says.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Overrides {
    /// Whether a person must approve.
    requires_confirmation: Option<bool>,
    /// Where the tool may be used.
    allowed_modes: Option<Vec<ModeName>>,
    /// How long a call should take at most.
    latency_budget_ms: Option<u64>,
    /// A call is stopped after this long.
    max_runtime_ms: Option<u64>,
    /// A larger result is refused.
    max_result_bytes: Option<u64>,
    /// How often it may be called.
    rate: Option<Rate>,
    /// How arguments are read: `lenient` or `strict`.
    arguments: Option<String>,
}

/// So many calls in so long.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rate {
    /// How many.
    calls: u64,
    /// In how long.
    window_ms: u64,
}

/// What is kept of a key: nothing that opens anything.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyKept {
    /// What it is for.
    name: Option<String>,
    /// Who holds it.
    principal: String,
    /// For whom its holder acts, always.
    subject: Option<String>,
    /// What it allows.
    roles: Vec<String>,
    /// The agents whose calls it may make.
    agents: Option<Vec<String>>,
    /// What is known about its user; absent where nothing is said.
    user: Option<Open>,
    /// When it was made, in milliseconds of the Unix epoch; absent where it is declared.
    made_at_ms: Option<i64>,
    /// When it ends; never where absent.
    expires_at_ms: Option<i64>,
    /// When it was revoked.
    revoked_at_ms: Option<i64>,
}
