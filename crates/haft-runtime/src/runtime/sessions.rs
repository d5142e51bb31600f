//! Sessions, as front ends use them.

use std::time::Duration;

use haft_core::contract::Mode;
use haft_core::outcome::Intent;
use haft_core::session::{Phase, Session};
use haft_core::{Caller, Digest, ErrorKind, ToolError};
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
        let version = self.version_for(&caller.tenant);
        let now = self.inner.store.now_ms();
        self.inner.book.create(session::begin(caller, mode, &version, now)).await
    }

    /// The session of a conversation that is not kept here: its client sends all of it each time. The
    /// same one for the same name, so that the same act of a request that is sent again is known
    /// again; another one once `within` has passed. Where the name is a key that stands for one
    /// `request`, no other comes under it.
    ///
    /// # Errors
    ///
    /// As of [`open`](Self::open), and a conflict where the name was used for another request.
    pub async fn rejoin(
        &self,
        caller: &Caller,
        mode: Mode,
        name: &Digest,
        request: Option<&Digest>,
        within: Duration,
    ) -> Result<Session, ToolError> {
        self.inner.blocked(caller).await?;
        let now = self.inner.store.now_ms();
        let within = i64::try_from(within.as_millis()).unwrap_or(i64::MAX).max(1);
        let id = |slot: i64| session::named(caller, name, slot);
        let slot = now.div_euclid(within);
        // Begun in the last slot, it may be young enough still.
        for known in [slot, slot - 1] {
            match self.inner.book.load(caller, &id(known)).await {
                Ok(session) if now - session.created_at_ms < within => {
                    return same(session, request);
                }
                Ok(_) => {}
                Err(error) if error.kind == ErrorKind::SessionInactive => {}
                Err(error) => return Err(error),
            }
        }
        let version = self.version_for(&caller.tenant);
        let mut session = session::begin(caller, mode, &version, now);
        session.id = id(slot);
        session.request = request.cloned();
        // The request is the message that begins it.
        session.turn.untouched = false;
        match self.inner.book.create(session).await {
            Ok(session) => Ok(session),
            // Two requests at once: the other was first.
            Err(error) => match self.inner.book.load(caller, &id(slot)).await {
                Ok(session) => same(session, request),
                Err(_) => Err(error),
            },
        }
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

/// One key is for one request.
fn same(session: Session, request: Option<&Digest>) -> Result<Session, ToolError> {
    match session.request.as_ref() == request {
        true => Ok(session),
        false => {
            let message = "the same idempotency key came with another request";
            Err(ToolError::new(ErrorKind::Conflict, message).suggest(
                "use a key of its own for each request, and the same one only to repeat it",
            ))
        }
    }
}

/// A session without the answers of its calls: those are for the model that made them.
fn shown(mut session: Session) -> Session {
    session.recent.clear();
    session
}
