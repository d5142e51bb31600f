//! Loading and storing sessions around the functions that change them.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use haft_core::port::{Store, StoreError};
use haft_core::session::Session;
use haft_core::{Caller, ErrorKind, ToolError};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::intents;
use crate::path::shown;

/// Another process may write in between; for so long it is tried again. Within this process changes of a
/// session wait for one another.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pauses in between, from the first one on, and the longest.
const PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// So many queues there are; sessions that share one by chance wait for one another.
const QUEUES: usize = 1024;

/// For so long somebody waits in one. The store decides in any case who was first, and whoever holds a place may
/// not be polled for a while.
const QUEUED: Duration = Duration::from_secs(1);

/// The sessions of a store.
#[derive(Clone)]
pub(crate) struct Book {
    store: Arc<dyn Store>,
    queues: Arc<[Mutex<()>]>,
}

impl Book {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, queues: (0..QUEUES).map(|_| Mutex::new(())).collect() }
    }

    /// Waits until nobody else in this process changes the session. Whoever comes first is served first.
    async fn turn(&self, id: &str) -> Option<MutexGuard<'_, ()>> {
        let at = id
            .bytes()
            .fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        match self.queues.get(at % QUEUES) {
            Some(queue) => tokio::time::timeout(QUEUED, queue.lock()).await.ok(),
            None => None,
        }
    }

    /// Loads a session as it is now: what has waited long enough is carried out.
    pub(crate) async fn load(&self, caller: &Caller, id: &str) -> Result<Session, ToolError> {
        let mut session = self.own(caller, id).await?;
        intents::release(&mut session, None, self.store.now_ms());
        Ok(session)
    }

    /// A session of this caller. One of somebody else is as good as none.
    async fn own(&self, caller: &Caller, id: &str) -> Result<Session, ToolError> {
        let found = self.store.session(&caller.tenant, id).await;
        let session = found.map_err(|error| refused(id, &error))?;
        match session.agent == *caller.agent && session.principal == *caller.principal() {
            true => Ok(session),
            false => Err(refused(id, &StoreError::Missing)),
        }
    }

    /// Changes a session. The change is a function of what is stored, so it can be tried again.
    pub(crate) async fn change<T>(
        &self,
        caller: &Caller,
        id: &str,
        mut change: impl FnMut(&mut Session) -> T,
    ) -> Result<(Session, T), ToolError> {
        self.change_and_keep(caller, id, |session| (change(session), None)).await
    }

    /// What a call was answered, where that is kept.
    pub(crate) async fn answer(
        &self,
        caller: &Caller,
        session: &str,
        id: &str,
    ) -> Result<Option<Value>, ToolError> {
        match self.store.answer(&caller.tenant, session, id).await {
            Ok(answer) => Ok(Some(answer)),
            Err(StoreError::Missing) => Ok(None),
            Err(error) => Err(refused(session, &error)),
        }
    }

    /// As [`change`](Self::change), where the change may also say what a call was answered.
    pub(crate) async fn change_and_keep<'v, T>(
        &self,
        caller: &Caller,
        id: &str,
        mut change: impl FnMut(&mut Session) -> (T, Option<(&'v str, Cow<'v, Value>)>),
    ) -> Result<(Session, T), ToolError> {
        let _turn = self.turn(id).await;
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            let before = self.own(caller, id).await?;
            let mut session = before.clone();
            intents::release(&mut session, None, self.store.now_ms());
            let (came, kept) = change(&mut session);
            if session == before {
                return Ok((session, came));
            }
            let saved = match kept {
                Some((call, answer)) => self.store.save_answer(session, call, &answer).await,
                None => self.store.save(session).await,
            };
            match saved {
                Ok(saved) => return Ok((saved, came)),
                Err(StoreError::Stale) if begun.elapsed() < PATIENCE => {}
                Err(StoreError::Stale) => return Err(busy(id)),
                Err(error) => return Err(refused(id, &error)),
            }
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }

    /// Stores a new session.
    pub(crate) async fn create(&self, session: Session) -> Result<Session, ToolError> {
        let id = session.id.clone();
        self.store.save(session).await.map_err(|error| refused(&id, &error))
    }
}

fn busy(id: &str) -> ToolError {
    ToolError::new(ErrorKind::Transient, "the session is busy")
        .caused_by(format!("session {id} was written by other processes for {PATIENCE:?}"))
}

fn refused(id: &str, error: &StoreError) -> ToolError {
    match error {
        StoreError::Missing => ToolError::new(
            ErrorKind::SessionInactive,
            format!("there is no session `{}`", shown(id)),
        )
        .suggest("start a session first"),
        StoreError::Unavailable(_)
        | StoreError::InDoubt(_)
        | StoreError::Stale
        | StoreError::WrongState(_)
        | StoreError::Tampered(_) => {
            ToolError::new(ErrorKind::StoreUnavailable, "the session cannot be read or written now")
                .caused_by(error)
        }
    }
}
