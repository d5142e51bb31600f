//! Approving, as people do it.

use haft_core::port::StoreError;
use haft_core::record::{Confirmation, ConfirmationStatus, EventKind};
use haft_core::{Envelope, ErrorKind, Principal, ToolError};

use super::{Runtime, Void};
use crate::token::Approval;

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The confirmation.
    pub confirmation: Confirmation,
    /// The approval as a token, for a client that repeats the call itself. Calls with the same
    /// arguments find the approval without it.
    pub token: Option<String>,
}

impl Runtime {
    /// Approves or declines. Whoever asked cannot: the approver is another principal. What somebody has
    /// approved can still be declined until a call has used it.
    ///
    /// # Errors
    ///
    /// There is no such question, it was answered or has expired, the approver is the actor, or what
    /// would be approved is no longer what would run.
    pub async fn confirm(
        &self,
        tenant: &str,
        id: &str,
        approve: bool,
        by: &Principal,
    ) -> Result<Decided, ToolError> {
        if approve && let Some(void) = self.would_be_void(tenant, id).await {
            return Err(void.refusal());
        }
        self.decide(tenant, id, approve, by).await
    }

    /// The same of a question that was put a moment ago: what it asks for is what would run.
    pub(crate) async fn decide(
        &self,
        tenant: &str,
        id: &str,
        approve: bool,
        by: &Principal,
    ) -> Result<Decided, ToolError> {
        let decided = self.inner.store.decide(tenant, id, approve, by).await;
        let confirmation = match decided {
            Ok(confirmation) => confirmation,
            Err(error @ StoreError::WrongState(_)) => {
                return Err(refused(&error).suggest(self.instead(tenant, id).await));
            }
            Err(error) => return Err(refused(&error)),
        };
        self.inner.announce(&confirmation, EventKind::ConfirmationDecided);
        let token = (confirmation.status == ConfirmationStatus::Approved).then(|| {
            self.inner.tokens.seal(&Approval {
                id: confirmation.id.clone(),
                binding: confirmation.binding.clone(),
                expires_at_ms: confirmation.expires_at_ms,
            })
        });
        Ok(Decided { confirmation, token })
    }

    async fn open_question(&self, tenant: &str, id: &str) -> Option<Confirmation> {
        let (store, now_ms) = (&self.inner.store, self.inner.store.now_ms());
        let asked = store.confirmation(tenant, id).await.ok()?;
        let is_open = asked.status == ConfirmationStatus::Pending && asked.expires_at_ms > now_ms;
        is_open.then_some(asked)
    }

    /// What an open question's approval would be void for. What is not open has its own answer.
    async fn would_be_void(&self, tenant: &str, id: &str) -> Option<Void> {
        self.void(&self.open_question(tenant, id).await?).await
    }

    /// What to do about a question that cannot be answered so.
    async fn instead(&self, tenant: &str, id: &str) -> &'static str {
        const ANEW: &str = "have the agent make the call again, and answer the new question";
        let (store, now_ms) = (&self.inner.store, self.inner.store.now_ms());
        let Ok(asked) = store.confirmation(tenant, id).await else { return ANEW };
        match asked.status {
            _ if asked.expires_at_ms <= now_ms => ANEW,
            ConfirmationStatus::Pending => {
                "the question stays open: have a person answer it who did not ask for the call"
            }
            ConfirmationStatus::Approved => {
                "have the agent make the call again: it finds the approval"
            }
            // Whoever has declined is not asked the same at once.
            ConfirmationStatus::Denied => {
                "the same call is not asked about again before this one expires; have the agent make \
                 another, or wait until then"
            }
            ConfirmationStatus::Spent => ANEW,
        }
    }
}

fn refused(error: &StoreError) -> ToolError {
    match error {
        StoreError::Missing => ToolError::new(ErrorKind::NotFound, "there is no such question")
            .suggest("list the open ones"),
        StoreError::WrongState(why) => ToolError::new(ErrorKind::ConfirmationRefused, why.clone()),
        StoreError::Unavailable(_)
        | StoreError::InDoubt(_)
        | StoreError::Stale
        | StoreError::Tampered(_) => {
            ToolError::new(ErrorKind::StoreUnavailable, "the answer could not be recorded")
                .caused_by(error)
        }
    }
}

/// The question that a call waits for, where it does.
pub(crate) fn asked(envelope: &Envelope) -> Option<&str> {
    let error = envelope.result.as_ref().err()?;
    let details = error.details.as_ref().filter(|_| error.kind == ErrorKind::ConfirmationRequired);
    details?.pointer("/confirmation/id")?.as_str()
}
