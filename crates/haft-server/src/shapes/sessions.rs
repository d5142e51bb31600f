//! Sessions, and what becomes of what is said in them.

use serde_json::Value;
use utoipa::ToSchema;

use super::calls::Intent;

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
    /// What a tool left for it in the turn before.
    left: Option<Value>,
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
    /// The chain of turns in which it came.
    group: Option<String>,
}

/// A session: one's own, or as operators see others'.
#[derive(ToSchema)]
#[serde(untagged)]
pub(crate) enum SessionShown {
    /// One's own.
    Own(Session),
    /// Somebody else's.
    Seen(SessionSeen),
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
        /// What a tool left for it in the turn before.
        left: Option<Value>,
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
