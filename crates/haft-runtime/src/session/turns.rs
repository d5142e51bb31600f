//! Turns, and what becomes of a call when a newer message waits.

use haft_core::contract::Category;
use haft_core::session::{Phase, Session, Turn};
use haft_core::{ErrorKind, Tool, ToolError};
use serde::Serialize;
use serde_json::Value;

use crate::identity;
use crate::policy::Supersede;

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "status")]
pub enum Arrived {
    /// It begins a turn.
    Begins {
        /// The turn.
        turn: u64,
        /// Its group.
        group: String,
        /// What it begins with: messages that had waited, and this one.
        messages: Vec<Value>,
    },
    /// It waits; a turn is going on.
    Waits {
        /// How many wait, with this one.
        waiting: usize,
    },
}

/// What a session says before an irreversible call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Before {
    /// Run it.
    Run,
    /// The turn is over.
    Aborted,
    /// Read these first, then think again.
    Absorbed(Vec<Value>),
}

/// So many messages wait at most for a turn to end, and so many bytes of them, as JSON: they are part
/// of the session, which is read and written with every call.
const MAX_WAITING: usize = 100;
const MAX_WAITING_BYTES: usize = 256 << 10;

/// A message arrives.
pub(crate) fn arrive(session: &mut Session, message: Value) -> Result<Arrived, ToolError> {
    // A session is opened with a turn for its first message: there is none that this one replaces.
    if std::mem::take(&mut session.turn.untouched) && session.turn.open {
        let (turn, group) = (session.turn.number, session.turn.group.clone());
        return Ok(Arrived::Begins { turn, group, messages: vec![message] });
    }
    if session.turn.open && !session.turn.aborted {
        may_wait(session, &message)?;
        session.waiting.push_back(message);
        return Ok(Arrived::Waits { waiting: session.waiting.len() });
    }
    let messages = session.waiting.drain(..).chain([message]).collect();
    next(session);
    Ok(Arrived::Begins { turn: session.turn.number, group: session.turn.group.clone(), messages })
}

fn may_wait(session: &Session, message: &Value) -> Result<(), ToolError> {
    let bytes = |message: &Value| message.to_string().len();
    let all = session.waiting.iter().map(bytes).sum::<usize>() + bytes(message);
    if session.waiting.len() < MAX_WAITING && all <= MAX_WAITING_BYTES {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::BudgetExceeded,
        format!(
            "too much waits for the turn to end: at most {MAX_WAITING} messages, {} KiB in all",
            MAX_WAITING_BYTES >> 10
        ),
    )
    .suggest("report `turn_complete`; then send the message again"))
}

/// The turn is over. Messages that waited begin the next one, and are returned.
pub(crate) fn settle_turn(session: &mut Session) -> Vec<Value> {
    (session.turn.open, session.turn.untouched) = (false, false);
    if session.phase != Phase::Active || session.waiting.is_empty() {
        return Vec::new();
    }
    let messages = session.waiting.drain(..).collect();
    next(session);
    messages
}

fn next(session: &mut Session) {
    let (group, applied) = match session.turn.carry {
        true => (session.turn.group.clone(), std::mem::take(&mut session.turn.applied)),
        false => (identity::fresh("grp"), Vec::new()),
    };
    session.turn = Turn {
        number: session.turn.number + 1,
        group,
        retrieval_calls: 0,
        searched: false,
        calls: 0,
        open: true,
        aborted: false,
        carry: false,
        untouched: false,
        applied,
    };
}

/// Asks the session before an irreversible call. Part of the same write that orders this call
/// before any later message, so exactly one of the two comes first.
pub(crate) fn before_irreversible(session: &mut Session, rule: Supersede) -> Before {
    if session.waiting.is_empty() {
        return Before::Run;
    }
    match rule {
        Supersede::Abort => {
            session.turn.aborted = true;
            session.turn.carry = true;
            Before::Aborted
        }
        Supersede::Absorb => {
            session.turn.carry = true;
            Before::Absorbed(session.waiting.drain(..).collect())
        }
        Supersede::Queue => {
            session.turn.carry = false;
            Before::Run
        }
        Supersede::Finish => {
            session.turn.carry = true;
            Before::Run
        }
    }
}

/// Whether a tool searches: a retrieval tool that says so in its tags.
pub(crate) fn searches(tool: &Tool) -> bool {
    tool.contract.category == Category::Retrieval
        && tool.contract.tags.iter().any(|tag| tag == "search")
}

/// Counts a call against the turn's budgets.
pub(crate) fn count(turn: &mut Turn, tool: &Tool) {
    turn.calls = turn.calls.saturating_add(1);
    turn.untouched = false;
    if tool.contract.category == Category::Retrieval {
        turn.retrieval_calls = turn.retrieval_calls.saturating_add(1);
    }
    turn.searched |= searches(tool);
}
