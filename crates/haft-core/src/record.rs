//! What is written down about calls: records, events and the audit trail.

mod written;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::Digest;
use crate::call::Principal;
use crate::contract::Mode;
use crate::error::ErrorKind;

pub use written::Written;

/// One call, as UI, telemetry and operators see it: what redaction allows, and nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvocationRecord {
    /// The call.
    pub call: Arc<str>,
    /// The model's id for it, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_call: Option<String>,
    /// Whose.
    pub tenant: Arc<str>,
    /// The agent.
    pub agent: Arc<str>,
    /// Who acted.
    pub actor: Principal,
    /// For whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Principal>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn in it.
    #[serde(default)]
    pub turn: u64,
    /// How model and user talked.
    pub mode: Mode,
    /// The tool's canonical id, or the name that was asked for.
    pub tool: Arc<str>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Arc<str>>,
    /// The registry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_version: Option<Arc<str>>,
    /// The allowed arguments; of the others the shape and a digest. Absent where they were not read.
    pub arguments: Option<Written>,
    /// The allowed part of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Written>,
    /// The error's kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// The error's message, scrubbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The stage that ended it.
    pub stage: Stage,
    /// The rule that decided it, for operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Arc<str>>,
    /// Whether it was answered from memory.
    #[serde(default)]
    pub cached: bool,
    /// How often the handler was run.
    #[serde(default)]
    pub attempts: u32,
    /// Codes of what was repaired or noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// In milliseconds of the Unix epoch.
    pub started_at_ms: i64,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}

/// A stage of the one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are the stages, in order")]
pub enum Stage {
    Resolve,
    Gate,
    Arguments,
    Authorize,
    Confirm,
    Claim,
    Execute,
    Check,
    Redact,
    Settle,
    Publish,
}

impl Stage {
    /// The word in records, spans and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Gate => "gate",
            Self::Arguments => "arguments",
            Self::Authorize => "authorize",
            Self::Confirm => "confirm",
            Self::Claim => "claim",
            Self::Execute => "execute",
            Self::Check => "check",
            Self::Redact => "redact",
            Self::Settle => "settle",
            Self::Publish => "publish",
        }
    }
}

/// Something that happened, for whoever watches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What.
    #[serde(rename = "type")]
    pub kind: EventKind,
    /// Whose.
    pub tenant: String,
    /// The agent.
    pub agent: String,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn in it.
    #[serde(default)]
    pub turn: u64,
    /// The call.
    pub call: String,
    /// The model's id for it, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_call: Option<String>,
    /// The tool.
    pub tool: String,
    /// When, in milliseconds of the Unix epoch.
    pub at_ms: i64,
    /// What redaction allows to be seen.
    pub payload: Value,
    /// Who made the call that it is about, and for whom. Nobody is told: who may hear of it depends on it.
    #[serde(skip)]
    pub by: Option<(Principal, Option<Principal>)>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A call was accepted and is about to run.
    ToolCallStart,
    /// A call ended, one way or another.
    ToolCallResult,
    /// A side effect is recorded and about to be asked for.
    ToolSideEffectStarted,
    /// A side effect was done.
    ToolSideEffectCompleted,
    /// A side effect was not done, or nobody knows.
    ToolSideEffectFailed,
    /// A person is asked to approve.
    ConfirmationRequested,
    /// A person approved or declined.
    ConfirmationDecided,
    /// What is known of a side effect changed after the fact, or nobody knows what became of it:
    /// unknown, happened, not_happened, compensated, stuck.
    EffectChanged,
    /// A session changed: created, message, turn, intents, ended.
    SessionChanged,
    /// A handler wrote a note into the audit trail.
    AuditNote,
    /// A message for the session's client.
    Message,
}

impl EventKind {
    /// Every kind.
    pub const ALL: [Self; 11] = [
        Self::ToolCallStart,
        Self::ToolCallResult,
        Self::ToolSideEffectStarted,
        Self::ToolSideEffectCompleted,
        Self::ToolSideEffectFailed,
        Self::ConfirmationRequested,
        Self::ConfirmationDecided,
        Self::EffectChanged,
        Self::SessionChanged,
        Self::AuditNote,
        Self::Message,
    ];

    /// The word in events and filters.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolCallStart => "tool_call_start",
            Self::ToolCallResult => "tool_call_result",
            Self::ToolSideEffectStarted => "tool_side_effect_started",
            Self::ToolSideEffectCompleted => "tool_side_effect_completed",
            Self::ToolSideEffectFailed => "tool_side_effect_failed",
            Self::ConfirmationRequested => "confirmation_requested",
            Self::ConfirmationDecided => "confirmation_decided",
            Self::EffectChanged => "effect_changed",
            Self::SessionChanged => "session_changed",
            Self::AuditNote => "audit_note",
            Self::Message => "message",
        }
    }
}

/// One entry of the audit trail, chained to the one before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Counted from 1, without gaps.
    pub number: u64,
    /// When, in milliseconds of the Unix epoch by the store's clock.
    pub at_ms: i64,
    /// Whose.
    pub tenant: String,
    /// What: `call`, `effect`, `confirmation`, `settle`, `note`.
    pub kind: String,
    /// What it says, JSON. The hash is over the text as it is stored, which may be sealed.
    pub body: String,
    /// The hash of the entry before.
    pub previous: Digest,
    /// Over number, time, tenant, kind, body and the hash before.
    pub hash: Digest,
}

impl AuditEntry {
    /// The hash that an entry must have: SHA-256 over its fields, each with its length before it,
    /// so that no two entries run together. Stores compute it for every call, so it is not taken
    /// over JSON.
    #[must_use]
    pub fn expected_hash(&self) -> Digest {
        let said = [self.tenant.as_str(), &self.kind, &self.body];
        Digest::from_raw(&entry_hash(self.number, self.at_ms, said, &self.previous.raw()))
    }
}

/// The hash of an entry of the audit trail, of its bytes: number, time, tenant, kind and body, and the
/// hash of the one before.
#[must_use]
pub fn entry_hash(number: u64, at_ms: i64, said: [&str; 3], previous: &[u8; 32]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"haft audit entry 1\n");
    hash.update(number.to_be_bytes());
    hash.update(at_ms.to_be_bytes());
    for text in said {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    hash.update(previous);
    hash.finalize().into()
}

/// A confirmation: what a person is asked, and what they said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Confirmation {
    /// Its id, at least 128 random bits.
    pub id: String,
    /// Whose.
    pub tenant: String,
    /// The agent that asks.
    pub agent: String,
    /// Who acts: whoever this is cannot approve.
    pub actor: Principal,
    /// For whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Principal>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The turn in which it was asked; 0 outside of any.
    #[serde(default)]
    pub turn: u64,
    /// The call that asked first. Older ones do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The tool.
    pub tool: String,
    /// The effective arguments, all of them.
    pub arguments: Value,
    /// The connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The question, made from the effective arguments.
    pub preview: String,
    /// Arguments that do not look like what they are: hidden or look-alike characters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspicious: Vec<String>,
    /// Contract, effective arguments, principal, connection and policy version.
    pub binding: Digest,
    /// The contract in it, by its digest. Older ones do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_digest: Option<Digest>,
    /// The policy version in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_version: Option<Digest>,
    /// What was said.
    pub status: ConfirmationStatus,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<Principal>,
    /// When it was asked, in milliseconds of the Unix epoch.
    pub asked_at_ms: i64,
    /// When it is void.
    pub expires_at_ms: i64,
}

/// What became of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationStatus {
    /// Nobody has answered.
    Pending,
    /// Approved and not used yet.
    Approved,
    /// Declined.
    Denied,
    /// Used.
    Spent,
}

impl ConfirmationStatus {
    /// The word in records and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Spent => "spent",
        }
    }
}
