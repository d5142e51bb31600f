//! Sessions, as front ends use them.

use haft_core::contract::Mode;
use haft_core::outcome::Intent;
use haft_core::session::{Phase, Session};
use haft_core::{Caller, ErrorKind, ToolError};
use serde::Serialize;
use serde_json::Value;

use super::Runtime;
use crate::session::{self, Arrived, Signal};

/// What became of a client's signal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Signalled {
    /// Intents that were carried out now.
    pub released: Vec<Intent>,
    /// Messages that waited, and begin the next turn.
    pub messages: Vec<Value>,
    /// The session.
    pub session: Session,
}

impl Runtime {
    /// Begins a session: its mode and its registry are set for good.
    ///
    /// # Errors
    ///
    /// The user is blocked, no registry is loaded, or the store cannot be written.
    pub async fn open(&self, caller: &Caller, mode: Mode) -> Result<Session, ToolError> {
        self.inner.blocked(caller).await?;
        let shelf = self.inner.shelves.load().current.clone();
        let now = self.inner.store.now_ms();
        self.inner.book.create(session::begin(caller, mode, &shelf.registry, now)).await
    }

    /// A message of the user: it begins a turn, or waits for the one that is going on.
    ///
    /// # Errors
    ///
    /// The user is blocked, the session is over or missing, or the store cannot be written.
    pub async fn message(
        &self,
        caller: &Caller,
        id: &str,
        message: Value,
    ) -> Result<Arrived, ToolError> {
        self.inner.blocked(caller).await?;
        let arrive = |session: &mut Session| {
            (session.phase == Phase::Active).then(|| session::arrive(session, message.clone()))
        };
        let (_, arrived) = self.inner.book.change(caller, id, arrive).await?;
        arrived.ok_or_else(|| ToolError::new(ErrorKind::SessionInactive, "the session has ended"))
    }

    /// What the client reports: deferred intents wait for it.
    ///
    /// # Errors
    ///
    /// The session is missing, or the store cannot be written.
    pub async fn signal(
        &self,
        caller: &Caller,
        id: &str,
        signal: Signal,
    ) -> Result<Signalled, ToolError> {
        let now = self.inner.store.now_ms();
        let change = |session: &mut Session| {
            let released = session::release(session, Some(signal), now);
            let messages = match signal {
                Signal::TurnComplete => session::settle_turn(session),
                Signal::FarewellSpoken => Vec::new(),
            };
            (released, messages)
        };
        let (session, (released, messages)) = self.inner.book.change(caller, id, change).await?;
        Ok(Signalled { released, messages, session: shown(session) })
    }

    /// A session as it is now.
    ///
    /// # Errors
    ///
    /// It is missing, or the store cannot be read.
    pub async fn session(&self, caller: &Caller, id: &str) -> Result<Session, ToolError> {
        self.inner.book.load(caller, id).await.map(shown)
    }

    /// Ends a session at once.
    ///
    /// # Errors
    ///
    /// It is missing, or the store cannot be written.
    pub async fn close(&self, caller: &Caller, id: &str) -> Result<Session, ToolError> {
        self.inner.book.end(caller, id).await.map(shown)
    }
}

/// A session without the answers of its calls: those are for the model that made them.
fn shown(mut session: Session) -> Session {
    session.recent.clear();
    session
}
