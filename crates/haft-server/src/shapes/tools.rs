//! Tools as they are listed.

use serde_json::Value;
use utoipa::ToSchema;

/// A tool as it stands to an agent.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Tool {
    /// Its canonical id.
    id: String,
    /// Its version.
    version: String,
    /// Its digest.
    digest: String,
    /// One line for the model.
    description: String,
    /// What is always in the prompt.
    summary: String,
    /// `retrieval`, `action` or `utility`.
    category: String,
    /// `read_only`, `state_change` or `external_side_effect`.
    effect: String,
    /// `pure`, `idempotent`, `compensatable` or `irreversible`.
    side_effect_policy: String,
    /// Whether a person has to approve: `true`, `false`, or on a condition.
    requires_confirmation: Value,
    /// In which modes it may be called.
    allowed_modes: Vec<String>,
    /// Its latency budget.
    latency_budget_ms: u64,
    /// JSON Schema of its arguments.
    parameters: Value,
    /// JSON Schema of its result.
    output: Option<Value>,
    /// Each parameter's kind and cardinality.
    typed_parameters: Value,
    /// For search.
    tags: Option<Vec<String>>,
    /// Whether it should not be used any more, and what instead.
    deprecated: Option<Value>,
    /// Whether it is the tenant's own, where the agent may use it.
    own: Option<bool>,
    /// 3 is the agent's, 2 the tenant's, 1 what could be taken; in lists of the tenant's tools.
    tier: Option<u8>,
    /// Why the agent may not use it: a stable word.
    why: Option<String>,
    /// The same in words.
    in_words: Option<String>,
    /// What would enable it.
    enable: Option<Value>,
    /// The rule that decided it, for operators.
    rule: Option<String>,
}

/// Something that a contract says and a format says otherwise or not at all.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Loss {
    /// The tool's canonical id.
    tool: String,
    /// Where in the contract: a JSON pointer.
    pointer: String,
    /// The keyword of JSON Schema, or the contract's field.
    keyword: String,
    /// `changed`, `described`, `approximated` or `dropped`.
    fate: String,
    /// What that means, in a sentence.
    note: String,
}

/// A tool that a format cannot express.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quarantined {
    /// The tool's canonical id.
    tool: String,
    /// Where in the contract: a JSON pointer.
    pointer: String,
    /// Why, in a sentence.
    reason: String,
}

/// How a tool stands for an agent, after all that was said about it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolState {
    /// The agent.
    agent: String,
    /// The tool's canonical id.
    tool: String,
    /// Whether its activation is on; a tool without one is.
    enabled: bool,
    /// Whether the agent may use it now, in text mode.
    available: bool,
    /// Why not: a stable word.
    why: Option<String>,
    /// What would enable it.
    enable: Option<String>,
}
