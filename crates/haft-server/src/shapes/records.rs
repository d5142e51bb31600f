//! What is on record: questions, effects, calls, events and the audit trail.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

/// What a person is asked, and what they said.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Confirmation {
    /// Its id.
    id: String,
    /// Whose.
    tenant: String,
    /// The agent that asks.
    agent: String,
    /// Who acts: whoever this is cannot approve.
    actor: String,
    /// For whom.
    subject: Option<String>,
    /// The session.
    session: Option<String>,
    /// The turn in which it was asked; 0 outside of any.
    turn: u64,
    /// The call that asked first.
    call: Option<String>,
    /// The tool.
    tool: String,
    /// The effective arguments.
    arguments: Value,
    /// The connection.
    connection: Option<String>,
    /// The question.
    preview: String,
    /// Arguments that do not look like what they are.
    suspicious: Option<Vec<String>>,
    /// What an approval would be bound to, as a digest.
    binding: String,
    /// The contract in it, by its digest.
    tool_digest: Option<String>,
    /// The version of the rules in it.
    policy_version: Option<String>,
    /// `pending`, `approved`, `denied` or `spent`.
    status: String,
    /// By whom.
    decided_by: Option<String>,
    /// When it was asked, in milliseconds of the Unix epoch.
    asked_at_ms: i64,
    /// When it is void.
    expires_at_ms: i64,
    /// Why an approval would be refused, where nobody has answered and it would: `rules_changed`,
    /// `tool_changed`, `tool_gone`, `connection_gone` or `expired`.
    void: Option<String>,
}

/// A question that was answered.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decided {
    /// The question.
    confirmation: Confirmation,
    /// What the call is sent again with, where it was approved.
    token: Option<String>,
    /// Who had approved it, where it was declined before a call was made with that.
    #[schema(rename = "tookBackFrom")]
    took_back_from: Option<String>,
}

/// What became of a side effect.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Effect {
    /// The call that asked for it.
    call: String,
    /// Whose.
    tenant: String,
    /// The agent.
    agent: String,
    /// Who acted.
    actor: String,
    /// For whom.
    subject: Option<String>,
    /// The session.
    session: Option<String>,
    /// The turn in it.
    turn: u64,
    /// The chain of turns.
    turn_group: Option<String>,
    /// `text` or `voice`.
    mode: String,
    /// The tool.
    tool: String,
    /// Its version.
    tool_version: String,
    /// Its digest.
    tool_digest: String,
    /// The registry.
    registry_version: String,
    /// `idempotent`, `compensatable` or `irreversible`.
    policy: String,
    /// The connection.
    connection: Option<String>,
    /// The call whose handler made it.
    within: Option<String>,
    /// The effect that it undoes.
    compensates: Option<String>,
    /// The key, as a digest.
    key: String,
    /// `started`, `succeeded`, `failed`, `unknown`, `happened`, `not_happened`, `compensating`,
    /// `compensated` or `stuck`.
    state: String,
    /// Which attempt.
    epoch: u64,
    /// In milliseconds of the Unix epoch.
    started_at_ms: i64,
    /// In milliseconds of the Unix epoch.
    ended_at_ms: Option<i64>,
    /// The question that was approved for it.
    confirmation: Option<String>,
    /// What somebody said became of it.
    resolution: Option<Resolution>,
    /// The call that undid it.
    compensation_id: Option<String>,
    /// Why it failed.
    error_kind: Option<String>,
}

/// What a probe found.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probed {
    /// The tool that was asked.
    tool: String,
    /// The effect, settled.
    effect: Effect,
}

/// What somebody said became of an effect.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Resolution {
    /// Whether it happened.
    happened: bool,
    /// Who says so.
    by: String,
    /// How that is known.
    note: String,
    /// When, in milliseconds of the Unix epoch.
    at_ms: i64,
}

/// What became of undoing an effect.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undone {
    /// The effect's call.
    call: String,
    /// Its tool.
    tool: String,
    /// `undone`, `already_undone`, `nothing_to_undo`, `cannot_be_undone`, `unknown`, `stuck`, or `denied` where
    /// whoever asked may not any more.
    status: String,
    /// In words.
    message: String,
}

/// A call on record, in the view that redaction allows.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CallRecord {
    /// The call.
    call: String,
    /// The model's id for it.
    model_call: Option<String>,
    /// Whose.
    tenant: String,
    /// The agent.
    agent: String,
    /// Who acted.
    actor: String,
    /// For whom.
    subject: Option<String>,
    /// The session.
    session: Option<String>,
    /// The turn in it.
    turn: u64,
    /// `text` or `voice`.
    mode: String,
    /// The tool's canonical id, or the name that was asked for.
    tool: String,
    /// Its version.
    tool_version: Option<String>,
    /// The registry.
    registry_version: Option<String>,
    /// The allowed arguments; of the others the shape and a digest.
    arguments: Option<Value>,
    /// The allowed part of the answer.
    result: Option<Value>,
    /// The error's kind.
    error: Option<String>,
    /// The error's message.
    message: Option<String>,
    /// The stage that ended it.
    stage: String,
    /// The rule that decided it.
    rule: Option<String>,
    /// Whether it was answered from memory.
    cached: bool,
    /// How often the handler was run.
    attempts: u32,
    /// Codes of what was repaired or noticed.
    warnings: Option<Vec<String>>,
    /// In milliseconds of the Unix epoch.
    started_at_ms: i64,
    /// How long it took, in microseconds.
    duration_us: u64,
}

/// One tool's calls in figures.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CallStats {
    /// The tool.
    tool: String,
    /// How many calls.
    calls: u64,
    /// How many of them ended in an error.
    errors: u64,
    /// Half of them took at most so long, in microseconds.
    p50_us: u64,
    /// Ninety-nine in a hundred took at most so long.
    p99_us: u64,
}

/// The calls that began in a slice of time.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Slice {
    /// When it begins, in milliseconds of the Unix epoch.
    at_ms: i64,
    /// How many calls.
    calls: u64,
    /// How many ended in each kind of error.
    errors: BTreeMap<String, u64>,
    /// Half of them took at most so long, in microseconds.
    p50_us: u64,
    /// Ninety-nine in a hundred took at most so long.
    p99_us: u64,
}

/// Something that happened, as it is on record.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Event {
    /// Its place: what `after` takes.
    id: String,
    /// `tool_call_result`, `effect_changed`, `confirmation_decided` or `audit_note`.
    #[schema(rename = "type")]
    kind: String,
    /// Whose.
    tenant: String,
    /// The agent.
    agent: String,
    /// The session.
    session: Option<String>,
    /// The turn in it.
    turn: u64,
    /// The call.
    call: String,
    /// The model's id for it.
    model_call: Option<String>,
    /// The tool.
    tool: String,
    /// When, in milliseconds of the Unix epoch.
    at_ms: i64,
    /// What redaction allows to be seen.
    payload: Value,
}

/// An entry of the audit trail.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AuditEntry {
    /// Its place: what `before` takes.
    id: String,
    /// Counted from 1, over all tenants; for the tenant that runs the server alone.
    number: Option<u64>,
    /// When, in milliseconds of the Unix epoch.
    at_ms: i64,
    /// What it tells of.
    kind: String,
    /// What it says.
    body: Value,
    /// The hash of the entry before; only for the tenant that runs the server.
    previous: Option<String>,
    /// Its hash.
    hash: String,
}

/// What the check of the audit trail found.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Checked {
    /// How many entries were checked, where all are intact. This and the next three are for the tenant that
    /// runs the server alone.
    entries: Option<u64>,
    /// How many were there once and were forgotten in their time.
    forgotten: Option<u64>,
    /// How many signed checkpoints agree with them.
    checkpoints: Option<u64>,
    /// The last one's hash.
    head: Option<String>,
    /// The number of the first entry that is not as it was written (`null` for other tenants than the one
    /// that runs the server), and what is wrong with it.
    #[schema(value_type = Option<Vec<Value>>)]
    broken: Option<(u64, String)>,
    /// What somebody should look at although nothing was touched: a store's time that is far ahead of the
    /// machine's clock, and entries that are dated so.
    warning: Option<String>,
}
