//! Loading and storing sessions around the functions that change them.

use std::borrow::Cow;
use std::sync::Arc;

use haft_core::port::{Store, StoreError};
use haft_core::session::Session;
use haft_core::{Caller, ErrorKind, ToolError};
use serde_json::Value;

use super::intents;
use crate::path::shown;

/// Somebody else may write in between; so often it is tried again.
const TRIES: usize = 64;

/// The sessions of a store.
#[derive(Clone)]
pub(crate) struct Book {
    store: Arc<dyn Store>,
}

impl Book {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
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
        for _ in 0..TRIES {
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
                Err(StoreError::Stale) => {}
                Err(error) => return Err(refused(id, &error)),
            }
        }
        Err(ToolError::new(ErrorKind::Transient, "the session is busy")
            .caused_by(format!("session {id} was written by others {TRIES} times in a row")))
    }

    /// Stores a new session.
    pub(crate) async fn create(&self, session: Session) -> Result<Session, ToolError> {
        let id = session.id.clone();
        self.store.save(session).await.map_err(|error| refused(&id, &error))
    }
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
