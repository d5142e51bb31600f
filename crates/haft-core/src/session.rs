//! What is remembered of a session.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Principal;
use crate::contract::Mode;
use crate::outcome::{After, Intent};

/// A session, as stores keep it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id, at least 128 random bits.
    pub id: String,
    /// Whose.
    pub tenant: String,
    /// The agent that runs in it.
    pub agent: String,
    /// Whom it serves.
    pub principal: Principal,
    /// Set at creation, for good.
    pub mode: Mode,
    /// The registry that it was created with.
    pub registry_version: String,
    /// Where it stands.
    pub phase: Phase,
    /// The current turn.
    pub turn: Turn,
    /// What clients were told to do with sound and text.
    #[serde(default)]
    pub suppress_audio: bool,
    /// As above.
    #[serde(default)]
    pub suppress_transcript: bool,
    /// A message that a tool left for the next turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_message: Option<Value>,
    /// Intents that wait for the client.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<Deferred>,
    /// Messages that came while a turn was running.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub waiting: VecDeque<Value>,
    /// The last calls by the model's id, oldest first.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub recent: VecDeque<Recent>,
    /// Over the request that it was begun with, where a key of the caller's own stands for that one
    /// request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<crate::Digest>,
    /// When it was created, in milliseconds of the Unix epoch.
    pub created_at_ms: i64,
    /// Raised by every write; a write on an older one is refused.
    #[serde(default)]
    pub revision: u64,
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Calls are taken.
    Active,
    /// It ends as soon as a deferred intent may be applied; no new calls.
    Ending,
    /// Over.
    Ended,
}

/// One exchange between user and model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Counted from 1.
    pub number: u64,
    /// Shared by turns that replace one another.
    pub group: String,
    /// How many retrieval calls there were in it.
    #[serde(default)]
    pub retrieval_calls: u32,
    /// Whether a search was made in it.
    #[serde(default)]
    pub searched: bool,
    /// How many calls there were in it.
    #[serde(default)]
    pub calls: u32,
    /// Whether it is going on.
    #[serde(default)]
    pub open: bool,
    /// Set when a newer message ended it.
    #[serde(default)]
    pub aborted: bool,
    /// Whether the messages that wait begin a turn of the same group.
    #[serde(default)]
    pub carry: bool,
    /// Whether it waits for what begins it: no message and no call has come yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untouched: bool,
    /// The effects of the group whose intents have been applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<String>,
    /// What a tool left for it in the turn before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Value>,
}

/// An intent that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deferred {
    /// What to apply.
    pub intent: Intent,
    /// What it waits for.
    pub after: After,
    /// When it is applied at the latest, in milliseconds of the Unix epoch.
    pub until_ms: i64,
}

/// A call that was answered in this session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recent {
    /// The model's id.
    pub id: String,
    /// Over tool and arguments as they came.
    pub fingerprint: crate::Digest,
    /// Whether it was answered; the answer is kept beside the session.
    #[serde(default)]
    pub answered: bool,
    /// Whether the answer was newer messages, so that it never ran.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub superseded: bool,
    /// The group of the turn in which it came; an older haft did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// A block on a principal; it outlives the session that it was made in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    /// Whose rule.
    pub tenant: String,
    /// Who is blocked.
    pub principal: Principal,
    /// Until when, in milliseconds of the Unix epoch.
    pub until_ms: i64,
    /// Why.
    pub reason: String,
}
