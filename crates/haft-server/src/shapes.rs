//! The shapes of answers that are made of what other crates have, for the OpenAPI document. A test
//! holds them against what is really answered.
#![expect(dead_code, reason = "describe answers in the OpenAPI document")]

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

use crate::api::dialects::Answered;

/// How a call ended. One of `data` and `error` is there.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    /// Whether it went well.
    ok: bool,
    /// What it gave.
    data: Option<Value>,
    /// Why it did not.
    error: Option<CallError>,
    /// What the tool asked of the session, and what the session made of it.
    intents: Vec<AppliedIntent>,
    /// How it came about.
    meta: Meta,
}

/// Why a call did not end well.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CallError {
    /// One of a closed list of words; `/errors/{kind}` has a page on each.
    kind: String,
    /// For the model.
    message: String,
    /// Whether the same call may be sent again.
    retryable: bool,
    /// Whether a repetition must carry the same idempotency key.
    idempotency_required: bool,
    /// Whether a part of the effect may have happened.
    partial_side_effects: bool,
    /// What to do next.
    suggestion: String,
    /// More, for programs: paths and expectations, a confirmation request.
    details: Option<Value>,
}

/// How an answer came about.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Meta {
    /// The model's id for the call where it has one.
    call_id: String,
    /// The id under which it is on record.
    record_id: Option<String>,
    /// The tool's canonical id, or the name that was asked for.
    tool: String,
    /// The contract's version.
    tool_version: Option<String>,
    /// The registry's version.
    registry_version: Option<String>,
    /// How long it took.
    duration_ms: f64,
    /// Answered from the ledger or the cache: nothing was done now.
    cached: bool,
    /// What was repaired in the arguments, and what else the caller should know.
    warnings: Option<Vec<Warning>>,
    /// What the mode reduced.
    clamps: Option<Vec<Clamped>>,
    /// How often the handler was run, where not once.
    attempts: Option<u32>,
}

/// Something that was repaired or noticed.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Warning {
    /// A JSON pointer into the arguments; empty for the whole.
    path: String,
    /// A stable word.
    code: String,
    /// In words.
    message: String,
    /// What was there.
    before: Option<Value>,
    /// What is there now.
    after: Option<Value>,
}

/// Something that the mode reduced.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clamped {
    /// A JSON pointer into the arguments.
    path: String,
    /// What was asked for.
    before: Option<Value>,
    /// What was used.
    after: Option<Value>,
}

/// Something that a tool asks of the session.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Intent {
    /// `END_VOICE_SESSION`, `SUPPRESS_AUDIO`, `SUPPRESS_TRANSCRIPT` or `SET_PENDING_MESSAGE`.
    #[schema(rename = "type")]
    kind: String,
    /// What the end waits for: `immediately`, `turn_complete` or `farewell_spoken`.
    after: Option<String>,
    /// Whether to suppress.
    value: Option<bool>,
    /// The message.
    message: Option<Value>,
}

/// An intent, and what the session made of it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AppliedIntent {
    /// `END_VOICE_SESSION`, `SUPPRESS_AUDIO`, `SUPPRESS_TRANSCRIPT` or `SET_PENDING_MESSAGE`.
    #[schema(rename = "type")]
    kind: String,
    /// What the end waits for.
    after: Option<String>,
    /// Whether to suppress.
    value: Option<bool>,
    /// The message.
    message: Option<Value>,
    /// `applied`, `deferred` or `refused`.
    status: String,
    /// Why not.
    reason: Option<String>,
}

/// What became of one call of a batch.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum Step {
    /// It was made.
    Ended(Box<Envelope>),
    /// It was not made.
    Skipped(Skipped),
}

/// A call that was not made, because a critical one before it did not end well.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Skipped {
    /// Always.
    skipped: bool,
}

/// What a request for calls is answered with.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum CallAnswer {
    /// To one call.
    One(Box<Envelope>),
    /// To a batch: each call, in order.
    Batch(Vec<Step>),
    /// To a provider's message.
    Message(Answered),
}

/// Work that was accepted, under its own address.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accepted {
    /// Its id.
    id: String,
    /// `running`.
    status: String,
}

/// Work that was called off.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalledOff {
    /// Its id.
    id: String,
    /// `cancelled`.
    status: String,
    /// Of several calls, those that had ended.
    ended: Vec<EndedBefore>,
    /// Side effects that had begun: they are carried out, and `/v1/effects` has their outcomes. Absent
    /// where that is not known.
    #[schema(required)]
    begun: Option<Vec<BegunBefore>>,
}

/// One of several calls that had ended before the rest was called off.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedBefore {
    /// Its place.
    index: usize,
    /// How it ended; for its caller alone.
    end: Option<Step>,
}

/// A side effect that cannot be called off any more.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BegunBefore {
    /// The call, by which `/v1/effects` knows it.
    call: String,
    /// The tool.
    tool: String,
    /// The id that its client gave it, or that was given to it.
    id: String,
}

/// A call that was called off, or its answer.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum LaterAnswer {
    /// As it would have been at once.
    Answer(CallAnswer),
    /// It was called off.
    CalledOff(CalledOff),
}

/// A call that waits for a person, or work whose answer comes later.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum NotYet {
    /// A person has to approve first.
    Asked(Box<Envelope>),
    /// The answer comes later.
    Accepted(Accepted),
}

/// A turn of a session.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TurnState {
    /// Counted from 1.
    number: u64,
    /// The chain of turns that it belongs to.
    group: String,
    /// How many retrieval calls it had.
    retrieval_calls: u32,
    /// Whether something was searched for.
    searched: bool,
    /// How many calls it had.
    calls: u32,
    /// Whether it goes on.
    open: bool,
    /// Whether a newer message has ended it.
    aborted: bool,
    /// Whether the next turn stays in the chain.
    carry: bool,
    /// Whether nothing was called in it yet.
    untouched: Option<bool>,
    /// Effects whose intents were applied.
    applied: Option<Vec<String>>,
}

/// A session.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Session {
    /// Its id.
    id: String,
    /// Whose.
    tenant: String,
    /// The agent.
    agent: String,
    /// Whom it serves.
    principal: String,
    /// `text` or `voice`.
    mode: String,
    /// The registry that it is pinned to.
    registry_version: String,
    /// `active`, `ending` or `ended`.
    phase: String,
    /// The turn.
    turn: TurnState,
    /// Whether audio is not to be played.
    suppress_audio: bool,
    /// Whether the transcript is not to be shown.
    suppress_transcript: bool,
    /// What a tool left for the next turn.
    pending_message: Option<Value>,
    /// Intents that wait.
    deferred: Option<Vec<Deferred>>,
    /// Messages that wait.
    waiting: Option<Vec<Value>>,
    /// Calls that are known again.
    recent: Option<Vec<Recent>>,
    /// What it was begun with, under its key.
    request: Option<String>,
    /// When it began, in milliseconds of the Unix epoch.
    created_at_ms: i64,
    /// How often it has changed.
    revision: u64,
}

/// An intent that waits.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Deferred {
    /// What.
    intent: Intent,
    /// For what.
    after: String,
    /// Until when, in milliseconds of the Unix epoch.
    until_ms: i64,
}

/// A call that is known again when it is sent again.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Recent {
    /// The model's id for it.
    id: String,
    /// What it asked, as a digest.
    fingerprint: String,
    /// Whether it was answered.
    answered: bool,
    /// Whether a newer message came before it.
    superseded: Option<bool>,
}

/// A session as operators see it: without what was said in it.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionSeen {
    /// Its id.
    id: String,
    /// The agent.
    agent: String,
    /// Whom it serves.
    principal: String,
    /// `text` or `voice`.
    mode: String,
    /// The registry that it is pinned to.
    registry_version: String,
    /// `active`, `ending` or `ended`.
    phase: String,
    /// The turn.
    turn: TurnState,
    /// How many messages wait.
    waiting: u64,
    /// When it began, in milliseconds of the Unix epoch.
    created_at_ms: i64,
}

/// What became of a message.
#[derive(ToSchema)]
#[serde(tag = "status", rename_all = "camelCase")]
pub(crate) enum Arrived {
    /// It begins a turn.
    Begins {
        /// The turn.
        turn: u64,
        /// The chain of turns that it belongs to.
        group: String,
        /// What it begins with.
        messages: Vec<Value>,
    },
    /// It waits.
    Waits {
        /// How many wait.
        waiting: u64,
    },
}

/// What became of a client's signal.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Signalled {
    /// Intents that were carried out now.
    released: Vec<Intent>,
    /// Messages that waited, and begin the next turn.
    messages: Vec<Value>,
    /// The session.
    session: Session,
}

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
    /// `pending`, `approved`, `denied` or `spent`.
    status: String,
    /// By whom.
    decided_by: Option<String>,
    /// When it was asked, in milliseconds of the Unix epoch.
    asked_at_ms: i64,
    /// When it is void.
    expires_at_ms: i64,
}

/// A question that was answered.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decided {
    /// The question.
    confirmation: Confirmation,
    /// What the call is sent again with, where it was approved.
    token: Option<String>,
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
    /// `undone`, `already_undone`, `nothing_to_undo`, `cannot_be_undone`, `unknown` or `stuck`.
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
    /// Counted from 1, over all tenants.
    number: u64,
    /// When, in milliseconds of the Unix epoch.
    at_ms: i64,
    /// What it tells of.
    kind: String,
    /// What it says.
    body: Value,
    /// The hash of the entry before.
    previous: String,
    /// Its hash.
    hash: String,
}

/// What the check of the audit trail found.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Checked {
    /// How many entries were checked, where all are intact.
    entries: u64,
    /// How many were there once and were forgotten in their time.
    forgotten: u64,
    /// How many signed checkpoints agree with them.
    checkpoints: u64,
    /// The last one's hash.
    head: Option<String>,
    /// The number of the first entry that is not as it was written, and what is wrong with it.
    #[schema(value_type = Option<Vec<Value>>)]
    broken: Option<(u64, String)>,
}

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
