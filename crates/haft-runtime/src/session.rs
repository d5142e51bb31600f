//! Sessions: a mode for good, a pinned registry, turns with budgets, and a small state machine.
//!
//! What a session may do is decided here by plain functions over [`Session`]; `Book` loads and
//! stores it around them, and tries again when somebody else wrote first.

mod book;
mod intents;
mod placed;
mod recent;
mod turns;

pub(crate) use book::Book;
pub use intents::Signal;
pub(crate) use intents::{apply, release};
pub(crate) use placed::{Held, Placed};
pub(crate) use recent::{Came, Seen, answered, enter, gave_way, is_answered};
pub use turns::Arrived;
pub(crate) use turns::{Before, By, arrive, before_effect, count, searches, settle_turn};

use std::sync::Arc;

use haft_core::contract::Mode;
use haft_core::port::SessionView;
use haft_core::session::{Phase, Session, Turn};
use haft_core::{Caller, Digest};
use serde_json::json;

use crate::identity;

/// A session that begins now, with its first turn open for whatever comes first.
pub(crate) fn begin(caller: &Caller, mode: Mode, version: &str, now_ms: i64) -> Session {
    Session {
        id: identity::fresh("ses"),
        tenant: caller.tenant.to_string(),
        agent: caller.agent.to_string(),
        principal: caller.principal().clone(),
        mode,
        registry_version: version.to_owned(),
        phase: Phase::Active,
        turn: Turn {
            number: 1,
            group: identity::fresh("grp"),
            retrieval_calls: 0,
            searched: false,
            calls: 0,
            open: true,
            aborted: false,
            carry: false,
            untouched: true,
            applied: Vec::new(),
            left: None,
        },
        suppress_audio: false,
        suppress_transcript: false,
        pending_message: None,
        deferred: Vec::new(),
        waiting: std::collections::VecDeque::new(),
        recent: std::collections::VecDeque::new(),
        request: None,
        created_at_ms: now_ms,
        revision: 0,
    }
}

/// The id of a session that is found again by name, in a slot of time. Nobody else's can be guessed
/// into: a session belongs to its principal.
pub(crate) fn named(caller: &Caller, name: &Digest, slot: i64) -> String {
    let all = json!([&*caller.tenant, &*caller.agent, caller.principal(), name, slot]);
    let name = Digest::of_json(&all);
    let hex = name.hex();
    format!("ses_{}", hex.get(..32).unwrap_or(hex))
}

/// What handlers see of a session.
pub(crate) fn view(session: Option<&Session>, registry_version: Option<&Arc<str>>) -> SessionView {
    match session {
        Some(session) => SessionView {
            id: Some(session.id.clone()),
            active: session.phase != Phase::Ended,
            turn: session.turn.number,
            registry_version: session.registry_version.as_str().into(),
            suppress_audio: session.suppress_audio,
            suppress_transcript: session.suppress_transcript,
        },
        // A call by itself is as active as can be.
        None => SessionView {
            active: true,
            registry_version: registry_version.cloned().unwrap_or_default(),
            ..SessionView::default()
        },
    }
}
