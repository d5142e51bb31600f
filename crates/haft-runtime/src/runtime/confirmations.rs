//! Approving, as people do it.

use haft_core::port::StoreError;
use haft_core::record::{Confirmation, ConfirmationStatus, EventKind};
use haft_core::{Envelope, ErrorKind, Principal, ToolError};

use super::Runtime;
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
    /// Approves or declines. Whoever asked cannot: the approver is another principal.
    ///
    /// # Errors
    ///
    /// There is no such question, it was answered or has expired, or the approver is the actor.
    pub async fn confirm(
        &self,
        tenant: &str,
        id: &str,
        approve: bool,
        by: &Principal,
    ) -> Result<Decided, ToolError> {
        let decided = self.inner.store.decide(tenant, id, approve, by).await;
        let not_theirs =
            matches!(decided, Err(StoreError::WrongState(_))) && self.is_open(tenant, id).await;
        let confirmation = decided.map_err(|error| match not_theirs {
            true => refused(&error).suggest(
                "the question stays open: have a person answer it who did not ask for the call",
            ),
            false => refused(&error),
        })?;
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

    /// Whether a question waits for its answer.
    async fn is_open(&self, tenant: &str, id: &str) -> bool {
        let (store, now_ms) = (&self.inner.store, self.inner.store.now_ms());
        store.confirmation(tenant, id).await.is_ok_and(|one| {
            one.status == ConfirmationStatus::Pending && one.expires_at_ms > now_ms
        })
    }
}

fn refused(error: &StoreError) -> ToolError {
    match error {
        StoreError::Missing => ToolError::new(ErrorKind::NotFound, "there is no such question")
            .suggest("list the open ones"),
        StoreError::WrongState(why) => ToolError::new(ErrorKind::ConfirmationRefused, why.clone())
            .suggest("have the agent make the call again, and answer the new question"),
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
