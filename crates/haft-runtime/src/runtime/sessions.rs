//! Sessions, as front ends use them.

mod due;

use std::time::Duration;

use haft_core::contract::Mode;
use haft_core::outcome::Intent;
use haft_core::record::{Event, EventKind};
use haft_core::session::{Phase, Session};
use haft_core::{Caller, Digest, ErrorKind, ToolError};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Inner, Runtime};
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

/// A name that stands for one session for a while.
struct Named<'a> {
    name: &'a Digest,
    within: i64,
    now: i64,
    slot: i64,
}

impl<'a> Named<'a> {
    fn new(name: &'a Digest, within: Duration, now: i64) -> Self {
        let within = i64::try_from(within.as_millis()).unwrap_or(i64::MAX).max(1);
        Self { name, within, now, slot: now.div_euclid(within) }
    }
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
        let session = session::begin(caller, mode, &version, now);
        let session = self.inner.book.create(session).await?;
        self.inner.session_changed(&session, "created");
        Ok(session)
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
        let named = Named::new(name, within, self.inner.store.now_ms());
        if let Some(session) = self.rejoined(caller, &named).await? {
            return same(session, request);
        }
        let mut session = self.unbegun(caller, mode, &named);
        let id = session.id.clone();
        session.request = request.cloned();
        // The request is the message that begins it.
        session.turn.untouched = false;
        match self.inner.book.create(session).await {
            Ok(session) => {
                self.inner.session_changed(&session, "created");
                Ok(session)
            }
            // Two requests at once: the other was first.
            Err(error) => match self.inner.book.load(caller, &id).await {
                Ok(session) => same(session, request),
                Err(_) => Err(error),
            },
        }
    }

    /// The session that [`rejoin`](Self::rejoin) gives, without beginning it: what a request may ask
    /// for depends on it, and one that is refused leaves nothing behind.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub async fn foresee(
        &self,
        caller: &Caller,
        mode: Mode,
        name: &Digest,
        within: Duration,
    ) -> Result<Session, ToolError> {
        let named = Named::new(name, within, self.inner.store.now_ms());
        let known = self.rejoined(caller, &named).await?;
        Ok(known.unwrap_or_else(|| self.unbegun(caller, mode, &named)))
    }

    async fn rejoined(
        &self,
        caller: &Caller,
        named: &Named<'_>,
    ) -> Result<Option<Session>, ToolError> {
        // Begun in the last slot, it may be young enough still.
        for slot in [named.slot, named.slot - 1] {
            match self.inner.book.load(caller, &session::named(caller, named.name, slot)).await {
                Ok(session) if named.now - session.created_at_ms < named.within => {
                    return Ok(Some(session));
                }
                Ok(_) => {}
                Err(error) if error.kind == ErrorKind::SessionInactive => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn unbegun(&self, caller: &Caller, mode: Mode, named: &Named<'_>) -> Session {
        let version = self.version_for(&caller.tenant);
        let mut session = session::begin(caller, mode, &version, named.now);
        session.id = session::named(caller, named.name, named.slot);
        session
    }

    /// A message of the user: it begins a turn, or waits for the one that is going on.
    ///
    /// # Errors
    ///
    /// The user is blocked, the session is over or missing, too much waits already, or the store
    /// cannot be written.
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
        let (session, arrived) = self.inner.book.change(caller, id, arrive).await?;
        let ended = || ToolError::new(ErrorKind::SessionInactive, "the session has ended");
        let arrived = arrived.ok_or_else(ended)??;
        let what = match &arrived {
            Arrived::Begins { .. } => "turn",
            Arrived::Waits { .. } => "message",
        };
        self.inner.session_changed(&session, what);
        Ok(arrived)
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
            let was = (session.phase, session.turn.number, session.turn.open);
            let released = session::release(session, Some(signal), now);
            let messages = match signal {
                Signal::TurnComplete => session::settle_turn(session),
                Signal::FarewellSpoken => Vec::new(),
            };
            (released, messages, was)
        };
        let (session, (released, messages, was)) =
            self.inner.book.change(caller, id, change).await?;
        if session.phase == Phase::Ended && was.0 != Phase::Ended {
            self.inner.session_changed(&session, "ended");
        } else if (session.turn.number, session.turn.open) != (was.1, was.2) {
            self.inner.session_changed(&session, "turn");
        }
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
        let end = |session: &mut Session| std::mem::replace(&mut session.phase, Phase::Ended);
        let (session, was) = self.inner.book.change(caller, id, end).await?;
        if was != Phase::Ended {
            self.inner.session_changed(&session, "ended");
        }
        Ok(shown(session))
    }
}

impl Inner {
    /// Tells those who watch that a session changed, and how; not what was said in it.
    fn session_changed(&self, session: &Session, change: &str) {
        self.session_changed_by(session, change, None);
    }

    /// The same, with the intents that were carried out.
    fn session_changed_by(&self, session: &Session, change: &str, intents: Option<Value>) {
        if !self.publish.is_listening() {
            return;
        }
        let mut payload = json!({
            "change": change,
            "phase": session.phase,
            "turnOpen": session.turn.open,
            "waiting": session.waiting.len(),
        });
        if let (Some(intents), Some(payload)) = (intents, payload.as_object_mut()) {
            payload.insert("intents".to_owned(), intents);
        }
        self.publish.publish(&Event {
            kind: EventKind::SessionChanged,
            tenant: session.tenant.clone(),
            agent: session.agent.clone(),
            session: Some(session.id.clone()),
            turn: session.turn.number,
            call: String::new(),
            model_call: None,
            tool: String::new(),
            at_ms: self.store.now_ms(),
            payload,
            by: None,
        });
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
