//! Messages on their way into a conversation, and whose turn it is.
//!
//! Each step asks the session and keeps its answer under one lock: a message that begins a turn can
//! neither be overlooked by the turn that ends just then, nor be overwritten by it.

use haft_core::session::Session;
use haft_core::{Caller, ErrorKind, ToolError};
use haft_runtime::Runtime;
use haft_runtime::session::{Arrived, Signal};
use serde_json::{Value, json};
use tokio::sync::Mutex;

pub(super) struct Inbox {
    runtime: Runtime,
    caller: Caller,
    session: String,
    turn: Mutex<Turn>,
}

/// The session's turn, as far as this conversation knows.
enum Turn {
    /// None that this conversation would run.
    Closed,
    /// Open and run here, or to be run with the next thing that is said. The messages began it and
    /// nobody has taken them up.
    Open(Vec<String>),
    /// The session was told of its end or of a message, and the answer was not heard: the future was
    /// dropped, or the store failed.
    Unsure,
}

impl Turn {
    /// A turn was begun; what had begun another one before comes first.
    fn begin(&mut self, messages: Vec<String>) {
        match self {
            Self::Open(before) => before.extend(messages),
            Self::Closed | Self::Unsure => *self = Self::Open(messages),
        }
    }
}

impl Inbox {
    /// A session that was just opened waits for the message that begins its first turn. One that is
    /// found again by name is in the middle of it.
    pub(super) fn new(runtime: Runtime, caller: Caller, session: &Session) -> Self {
        let turn = match session.turn.untouched {
            true => Turn::Closed,
            false => Turn::Open(Vec::new()),
        };
        Self { runtime, caller, session: session.id.clone(), turn: Mutex::new(turn) }
    }

    async fn send(&self, text: &str) -> Result<Arrived, ToolError> {
        self.runtime.message(&self.caller, &self.session, json!(text)).await
    }

    async fn settle(&self) -> Result<Vec<String>, ToolError> {
        let signal = Signal::TurnComplete;
        let signalled = self.runtime.signal(&self.caller, &self.session, signal).await?;
        // Where nothing waited, no turn has begun: what was left for this one has been read.
        let left = signalled.session.turn.left.filter(|_| !signalled.messages.is_empty());
        Ok(beginning(left.as_ref(), &signalled.messages))
    }

    /// A message from beside.
    pub(super) async fn post(&self, text: &str) -> Result<Arrived, ToolError> {
        let mut turn = self.turn.lock().await;
        let was_closed = matches!(*turn, Turn::Closed);
        if was_closed {
            *turn = Turn::Unsure;
        }
        let arrived = self.send(text).await;
        match &arrived {
            // Also in the middle of a run, when the session has given its turn up for a newer message.
            Ok(Arrived::Begins { messages, left, .. }) => {
                turn.begin(beginning(left.as_ref(), messages));
            }
            Ok(Arrived::Waits { .. }) | Err(_) if was_closed => *turn = Turn::Closed,
            Ok(Arrived::Waits { .. }) | Err(_) => {}
        }
        arrived
    }

    /// The messages that a run begins with, this one the last. Dropped from here on, the turn stays
    /// open, and the next message belongs to it.
    pub(super) async fn begin(&self, text: &str) -> Result<Vec<String>, ToolError> {
        let mut turn = self.turn.lock().await;
        let was_closed = match &mut *turn {
            Turn::Open(waiting) => {
                let mut messages = std::mem::take(waiting);
                messages.push(text.to_owned());
                return Ok(messages);
            }
            Turn::Closed => true,
            Turn::Unsure => false,
        };
        *turn = Turn::Unsure;
        let messages = match self.send(text).await {
            Ok(Arrived::Begins { messages, left, .. }) => beginning(left.as_ref(), &messages),
            // The turn that is open is the one whose end was not heard.
            Ok(Arrived::Waits { .. }) if !was_closed => self.settle().await?,
            Ok(Arrived::Waits { .. }) => Vec::new(),
            Err(error) => {
                if was_closed {
                    *turn = Turn::Closed;
                }
                return Err(error);
            }
        };
        if messages.is_empty() {
            *turn = Turn::Closed;
            // Whoever runs that turn takes the message up at its end.
            return Err(elsewhere());
        }
        *turn = Turn::Open(Vec::new());
        Ok(messages)
    }

    /// The turn is over. Messages that waited have begun the next one, which is to be run.
    pub(super) async fn complete(&self) -> Result<Vec<String>, ToolError> {
        let mut turn = self.turn.lock().await;
        match &mut *turn {
            // The next one has begun already, and that one is not over.
            Turn::Open(begun) if !begun.is_empty() => return Ok(std::mem::take(begun)),
            Turn::Closed => return Ok(Vec::new()),
            Turn::Open(_) | Turn::Unsure => {}
        }
        *turn = Turn::Unsure;
        let waiting = self.settle().await?;
        *turn = if waiting.is_empty() { Turn::Closed } else { Turn::Open(Vec::new()) };
        Ok(waiting)
    }

    /// Messages that were taken and are left for the next run.
    pub(super) async fn keep(&self, mut messages: Vec<String>) {
        let mut turn = self.turn.lock().await;
        if let Turn::Open(newer) = &mut *turn {
            messages.append(newer);
        }
        *turn = Turn::Open(messages);
    }
}

/// Somebody else runs the session's turn.
pub(super) fn elsewhere() -> ToolError {
    ToolError::new(
        ErrorKind::Conflict,
        "another turn of this session is going on; the message waits for its end",
    )
}

/// What a turn begins with. What a tool left for it is marked as such: it is no word of the user's.
fn beginning(left: Option<&Value>, messages: &[Value]) -> Vec<String> {
    let left = left.map(|left| format!("(left by a tool in the turn before: {left})"));
    left.into_iter().chain(texts(messages)).collect()
}

pub(super) fn texts(messages: &[Value]) -> Vec<String> {
    let text = |message: &Value| match message.as_str() {
        Some(text) => text.to_owned(),
        None => message.to_string(),
    };
    messages.iter().map(text).collect()
}
