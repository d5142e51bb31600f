//! What every door gives back: one envelope.

use std::sync::Arc;

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::error::ToolError;
use crate::present::present;

/// The end of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// What came of it.
    pub result: Result<Value, ToolError>,
    /// What the handler asked of the session, and what the session made of it.
    pub intents: Vec<Applied>,
    /// How it came about.
    pub meta: Meta,
}

impl Envelope {
    /// Whether it went well.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }
}

impl Serialize for Envelope {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Envelope", 4)?;
        fields.serialize_field("ok", &self.result.is_ok())?;
        match &self.result {
            Ok(data) => fields.serialize_field("data", data)?,
            Err(error) => fields.serialize_field("error", error)?,
        }
        fields.serialize_field("intents", &self.intents)?;
        fields.serialize_field("meta", &self.meta)?;
        fields.end()
    }
}

/// How an answer came about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The model's id for the call where it has one: the same from start to result.
    pub call_id: Arc<str>,
    /// The id under which it is on record.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub record_id: Arc<str>,
    /// The call that carried it out, where this is its answer given again: what it did is found and undone by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_of: Option<Arc<str>>,
    /// The tool's canonical id, or the name that was asked for.
    pub tool: Arc<str>,
    /// The contract's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_version: Option<Arc<str>>,
    /// The registry's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry_version: Option<Arc<str>>,
    /// How long it took.
    pub duration_ms: f64,
    /// Answered from the ledger or the cache: nothing was done now.
    pub cached: bool,
    /// What was repaired in the arguments, and what else the caller should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the mode reduced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clamps: Vec<Clamped>,
    /// How often the handler was run.
    #[serde(default, skip_serializing_if = "is_one")]
    pub attempts: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_one(attempts: &u32) -> bool {
    *attempts <= 1
}

/// Something that was repaired or noticed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// A JSON pointer into the arguments; empty for the whole.
    pub path: String,
    /// A stable word: `string_to_integer`, `latency_budget`.
    pub code: String,
    /// In words.
    pub message: String,
    /// What was there.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there now.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Something that the mode reduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clamped {
    /// A JSON pointer into the arguments.
    pub path: String,
    /// What was asked for; absent where nothing was.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What was used; absent where it was taken away.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Something that a handler asks of the session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields)]
pub enum Intent {
    /// End the voice session.
    EndVoiceSession {
        /// When.
        after: After,
    },
    /// Play no more audio, or play it again.
    SuppressAudio {
        /// Whether to suppress.
        value: bool,
    },
    /// Show no more transcript, or show it again.
    SuppressTranscript {
        /// Whether to suppress.
        value: bool,
    },
    /// Leave a message for the next turn.
    SetPendingMessage {
        /// The message.
        message: Value,
    },
}

/// What a deferred intent waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// Nothing.
    Immediately,
    /// The client's word that the turn is over.
    #[serde(alias = "current_turn")]
    TurnComplete,
    /// The client's word that the farewell was spoken.
    FarewellSpoken,
}

/// An intent, and what the session made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// What was asked.
    #[serde(flatten)]
    pub intent: Intent,
    /// What became of it.
    pub status: IntentStatus,
    /// Why not, where it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentStatus {
    /// Done.
    Applied,
    /// Waits for the client, or for a limit.
    Deferred,
    /// The session's state does not allow it.
    Refused,
}
