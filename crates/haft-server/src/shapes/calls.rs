//! Calls and how they end.

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
    /// The call that carried it out, where this is its answer given again: what it did is found and undone by that.
    replay_of: Option<String>,
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
