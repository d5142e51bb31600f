//! What the ledger remembers: one entry per side effect, written before it is asked for.
//!
//! ```text
//!              ┌────────▶ Failed ───────── (same key: next epoch) ──┐
//! Started ─────┼────────▶ Succeeded ─▶ Compensating ─▶ Compensated  │
//!    ▲         │             ▲                │                     │
//!    │         │          Happened            └─────▶ Stuck         │
//!    │         └▶ Unknown ───┤                                      │
//!    │                       └▶ NotHappened ────────────────────────┤
//!    └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! Every step is one conditional write on the state and epoch before it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Digest;
use crate::call::Principal;
use crate::contract::{Compensation, Mode, Probe, SideEffectPolicy};
use crate::error::ToolError;
use crate::outcome::Intent;
use crate::present::present;
use crate::registry::Tool;
use crate::session::{Phase, Recent, Session};

/// Where an effect stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Recorded and being carried out.
    Started,
    /// Done.
    Succeeded,
    /// Certainly not done.
    Failed,
    /// Nobody knows.
    Unknown,
    /// Unknown once; a probe or a person says that it happened.
    Happened,
    /// Unknown once; a probe or a person says that it did not happen.
    NotHappened,
    /// Being undone.
    Compensating,
    /// Undone.
    Compensated,
    /// Undoing failed for good; a person must look.
    Stuck,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Started,
        Self::Succeeded,
        Self::Failed,
        Self::Unknown,
        Self::Happened,
        Self::NotHappened,
        Self::Compensating,
        Self::Compensated,
        Self::Stuck,
    ];

    /// The word in records and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Happened => "happened",
            Self::NotHappened => "not_happened",
            Self::Compensating => "compensating",
            Self::Compensated => "compensated",
            Self::Stuck => "stuck",
        }
    }

    /// The state of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// The word that the toolbox specification has for it.
    #[must_use]
    pub fn in_toolbox_words(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Succeeded | Self::Happened | Self::Compensating | Self::Stuck => "executed",
            Self::Failed | Self::NotHappened => "failed",
            Self::Unknown => "unknown",
            Self::Compensated => "compensated",
        }
    }

    /// Whether the same key may be carried out (again).
    #[must_use]
    pub fn frees_its_key(self) -> bool {
        matches!(self, Self::Failed | Self::NotHappened)
    }
}

/// What is asked of the ledger before anything is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The caller's or the derived key, scoped by tenant, principal and tool.
    pub key: Digest,
    /// Another key under which the same may have been begun. An entry there that is about the same
    /// answers the claim, in the same step.
    pub other: Option<OtherKey>,
    /// The arguments as received and accepted, and the connection: what must be the same when the
    /// key is.
    pub fingerprint: Digest,
    /// Tenant, tool, connection and arguments, whatever the key: while one such act has an unknown
    /// outcome, another is not begun.
    pub act: Digest,
    /// Tenant, tool, connection and all that the tool gets, whatever its contract says that an act goes by.
    /// What was begun under another contract is found by it.
    pub deed: Digest,
    /// The same without the connection: what was begun while the contract used none counts, too.
    pub deed_unconnected: Option<Digest>,
    /// After so long without an outcome nobody waits for it any more. For liveness, never for
    /// safety.
    pub lease_ms: u64,
    /// For how long after the first attempt in doubt another does no harm, where the class lets it
    /// be made at all: so long the provider knows its key.
    pub again_within_ms: u64,
    /// How long the answer is kept, and how long it is remembered that there was one.
    pub keep: Keep,
    /// The approval that is spent in the same step.
    pub confirmation: Option<Spend>,
    /// Run although a similar act has an unknown outcome.
    pub despite_similar: bool,
    /// The place in its session that the call was given: what is begun has it still, in the same step.
    pub place: Option<Place>,
    /// What the record starts from.
    pub effect: Effect,
}

/// Another key of the same act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherKey {
    /// The key.
    pub key: Digest,
    /// How long ago an entry under it may have been begun, where that counts.
    pub within_ms: Option<u64>,
}

/// What a claim will look for: enough to tell whether it would begin anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Sought {
    /// The key.
    pub key: Digest,
    /// Another key under which the same may have been begun.
    pub other: Option<OtherKey>,
    /// What must be the same when the key is.
    pub fingerprint: Digest,
    /// The class that the contract gives it now.
    pub policy: SideEffectPolicy,
    /// What would be attempted.
    pub attempt: Attempted,
}

/// What an attempt asks for, and by which means.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempted {
    /// The tool's digest: exactly which contract and handler.
    pub tool_digest: Digest,
    /// The effective arguments.
    pub arguments: Value,
    /// The connection.
    pub connection: Option<String>,
    /// When that was made.
    pub account_made_ms: Option<i64>,
    /// For how long after the first attempt in doubt another does no harm.
    pub again_within_ms: u64,
}

impl Attempted {
    /// What a claim is for.
    #[must_use]
    pub fn of(claim: &Claim) -> Self {
        let effect = &claim.effect;
        Self {
            tool_digest: effect.tool_digest.clone(),
            arguments: effect.arguments.clone(),
            connection: effect.connection.clone(),
            account_made_ms: effect.account_made_ms,
            again_within_ms: claim.again_within_ms,
        }
    }

    /// Whether it asks for what an earlier attempt has asked for, as that one did.
    #[must_use]
    pub fn repeats(&self, effect: &Effect) -> bool {
        self.tool_digest == effect.tool_digest
            && self.arguments == effect.arguments
            && self.connection == effect.connection
            && self.account_made_ms == effect.account_made_ms
    }
}

/// A call's place in the session of its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What the session knows the call by, where it knows it.
    pub name: Option<String>,
    /// The turn that it is of.
    pub turn: u64,
    /// What the session's revision was: while it is, nothing has changed. Of a session that has ended it is none, and
    /// its call has no place in it.
    pub revision: Option<u64>,
    /// Without its place not even what was begun before is begun again.
    pub binds_attempts: bool,
}

impl Place {
    /// Whether a call still has it. Otherwise somebody else, on another machine say, was told of the same call
    /// that it does not run.
    #[must_use]
    pub fn is_in(&self, session: &Session) -> bool {
        let named = |recent: &Recent| self.name.as_ref() == Some(&recent.id);
        session.phase == Phase::Active
            && session.turn.number == self.turn
            && !session.turn.aborted
            && !session.recent.iter().any(|recent| named(recent) && recent.superseded)
    }
}

/// How long an entry is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// The answer's body.
    pub result_ms: u64,
    /// The key.
    pub key_ms: u64,
}

/// The approval that a claim spends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spend {
    /// The confirmation's id.
    pub id: String,
    /// What it must be bound to.
    pub binding: Digest,
    /// The turn in which it is spent, for the audit trail; 0 outside of any.
    pub turn: u64,
}

/// What is known of an effect before it is carried out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// The call that asked for it.
    pub call: String,
    /// Whose.
    pub tenant: String,
    /// The agent.
    pub agent: String,
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
    /// The chain of turns that replaced one another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_group: Option<String>,
    /// How model and user talked.
    pub mode: Mode,
    /// The tool's canonical id.
    pub tool: String,
    /// Its version.
    pub tool_version: String,
    /// Its digest: exactly which contract and handler.
    pub tool_digest: Digest,
    /// The registry.
    pub registry_version: String,
    /// Its class.
    pub policy: SideEffectPolicy,
    /// The effective arguments.
    pub arguments: Value,
    /// The arguments as they came, where that is something else: a text, or the value.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<Value>,
    /// The connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// When that was made, where its tool uses one: another that was made under the same name is another account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_made_ms: Option<i64>,
    /// The call whose handler asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// The key of that call's effect: what it is a part of, whichever attempt asked for it first. An earlier version of
    /// haft did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<Digest>,
    /// The effect that this one undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensates: Option<String>,
    /// It does no harm twice only under one key, by which its provider knows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relies_on_its_key: bool,
    /// When it was first asked for, where an earlier attempt under the same key may have happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_at_ms: Option<i64>,
    /// What every attempt under its key is sent with, for providers that deduplicate by themselves. A key that is used
    /// again once its entry is gone has another: a provider may remember for longer. Absent where an earlier version
    /// of haft wrote it, which made it of the key alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_key: Option<String>,
    /// What its contract said then about what can be done afterwards. Absent where an earlier version of haft
    /// wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
}

/// What a contract says about its effects: how to find out about one, and how to undo it. Contracts change,
/// and what happened under one is not to be judged or undone by the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct After {
    /// What the ids of its toolset begin with: the tools that it names are of that one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub toolset: String,
    /// The tool that tells whether it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// The tool that undoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<Compensation>,
}

impl After {
    /// What the contract of a tool says.
    #[must_use]
    pub fn of(tool: &Tool) -> Self {
        let contract = &tool.contract;
        if contract.probe.is_none() && contract.compensation.is_none() {
            return Self::default();
        }
        let toolset = tool.id.strip_suffix(contract.tool_id.as_str()).unwrap_or_default();
        Self {
            toolset: toolset.to_owned(),
            probe: contract.probe.clone(),
            compensation: contract.compensation.clone(),
        }
    }
}

/// One entry of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectRecord {
    /// What was asked for.
    #[serde(flatten)]
    pub effect: Effect,
    /// The idempotency key.
    pub key: Digest,
    /// What must be the same when the key is.
    pub fingerprint: Digest,
    /// Where it stands.
    pub state: State,
    /// Which attempt under this key.
    pub epoch: u64,
    /// When it was recorded, in milliseconds of the Unix epoch by the store's clock.
    pub started_at_ms: i64,
    /// When its outcome was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<i64>,
    /// The answer, as the model saw it. Absent when there is none, or no longer.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The error, as the model saw it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ToolError>,
    /// What the handler asked of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intents: Vec<Intent>,
    /// The approval that was spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<String>,
    /// Who said what happened, where it was unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The call that undid it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation_id: Option<String>,
    /// What undoing it gave.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub compensation_result: Option<Value>,
}

impl EffectRecord {
    /// When it was first asked for under this key, as far as it may have happened since.
    #[must_use]
    pub fn first_at_ms(&self) -> i64 {
        self.effect.first_at_ms.unwrap_or(self.started_at_ms)
    }

    /// Whether the handler of this one asked for another.
    #[must_use]
    pub fn has_part(&self, other: &Effect) -> bool {
        other.tenant == self.effect.tenant
            && match &other.part_of {
                Some(key) => *key == self.key,
                // An earlier version of haft wrote it.
                None => other.within.as_ref() == Some(&self.effect.call),
            }
    }
}

/// Who said what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    /// Whether it happened.
    pub happened: bool,
    /// Who says so: a principal, or `probe:<tool>`.
    pub by: String,
    /// Why.
    pub note: String,
    /// When.
    pub at_ms: i64,
}

/// The ledger's answer to a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Claimed {
    /// Recorded; carry it out.
    Fresh(Ticket),
    /// Somebody is carrying it out.
    InFlight(Box<EffectRecord>),
    /// It has been carried out: succeeded, or settled as happened, or undone since.
    Answered(Box<EffectRecord>),
    /// The key was used for something else.
    Conflict,
    /// Under this key nobody knows whether it happened.
    Unknown(Box<EffectRecord>),
    /// Under another key the same act has an unknown outcome.
    Similar(Box<EffectRecord>),
    /// The approval cannot be spent.
    Unspendable(Unspendable),
    /// Its place in the session is not there any more.
    Displaced,
}

/// Why an approval cannot be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unspendable {
    /// There is none, or nobody approved it.
    NotApproved,
    /// It has been spent.
    Spent,
    /// Its time is over.
    Expired,
    /// It was given for something else.
    OtherCall,
}

/// The right to carry out one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Under which key.
    pub key: Digest,
    /// Which attempt.
    pub epoch: u64,
    /// The call.
    pub call: String,
    /// An earlier attempt under this key may have been carried out. Then this one cannot say that
    /// nothing was done.
    pub in_doubt: bool,
    /// What the entry says that attempts are sent with.
    pub provider_key: Option<String>,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Succeeded, Failed or Unknown.
    pub state: State,
    /// The answer, made safe to remember.
    pub result: Option<Value>,
    /// The error, made safe to remember.
    pub error: Option<ToolError>,
    /// What the handler asked of the session.
    pub intents: Vec<Intent>,
}

/// What became of settling an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Written.
    Written,
    /// This attempt has ended in this before. What was written first stays.
    Again,
    /// Somebody else has moved on: another epoch, or a resolution. The late outcome is in the audit
    /// trail and changes nothing, save that a late success ends an unknown.
    TooLate(State),
}
