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
        /// What a tool left for it in the turn before. Not among the messages: no user has said it.
        #[serde(skip_serializing_if = "Option::is_none")]
        left: Option<Value>,
    },
    /// It waits; a turn is going on.
    Waits {
        /// How many wait, with this one.
        waiting: usize,
    },
}

/// What a session says before a call that may have to give way.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Before {
    /// Run it.
    Run,
    /// The turn is over.
    Aborted,
    /// Read these first, then think again.
    Absorbed(Vec<Value>),
    /// There is something to read first, by somebody else than whoever calls. It waits.
    Unread,
}

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A model, which reads what it is answered with.
    Model,
    /// A handler, by the way. It has no use for messages, and would let them fall.
    Handler,
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
        return Ok(Arrived::Begins { turn, group, messages: vec![message], left: None });
    }
    if session.turn.open && !session.turn.aborted {
        may_wait(session, &message)?;
        session.waiting.push_back(message);
        return Ok(Arrived::Waits { waiting: session.waiting.len() });
    }
    let mut messages = next(session);
    messages.push(message);
    let Turn { number: turn, group, left, .. } = session.turn.clone();
    Ok(Arrived::Begins { turn, group, messages, left })
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
    next(session)
}

/// Begins the next turn with the messages that wait. What a call decided about the group it decided
/// about them: a message that comes when none waits replaces nothing, and begins a chain of its own.
fn next(session: &mut Session) -> Vec<Value> {
    let messages: Vec<Value> = session.waiting.drain(..).collect();
    let (group, applied) = match session.turn.carry && !messages.is_empty() {
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
        left: session.pending_message.take(),
    };
    messages
}

/// Asks the session before a call that has a rule. Part of the same write that orders this call
/// before any later message, so exactly one of the two comes first.
pub(crate) fn before_effect(session: &mut Session, rule: Supersede, by: By) -> Before {
    if session.waiting.is_empty() {
        return Before::Run;
    }
    match rule {
        Supersede::Abort => {
            session.turn.aborted = true;
            session.turn.carry = true;
            Before::Aborted
        }
        // The model gets them with its next call that has to give way, or when the turn is over: with
        // what was done meanwhile on record, so in the same group.
        Supersede::Absorb if by == By::Handler => {
            session.turn.carry = true;
            Before::Unread
        }
        // They are part of this turn from now on; whatever comes after it begins anew.
        Supersede::Absorb => {
            session.turn.carry = false;
            Before::Absorbed(session.waiting.drain(..).collect())
        }
        // Unless the group is kept already for what another call did: that is not to be done again.
        Supersede::Queue => Before::Run,
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

#[cfg(test)]
mod tests;
