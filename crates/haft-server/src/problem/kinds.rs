//! The ends of calls and of changes as problems, each kind under its status.

use axum::http::StatusCode;
use haft_core::port::StoreError;
use haft_core::{ErrorKind, ToolError};
use haft_runtime::config::ChangeError;
use serde_json::Value;

use super::Problem;

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        let error = error.into_fault();
        let mut problem =
            Self::new(status(error.kind), error.kind.as_str(), error.message, &error.suggestion);
        problem.retry_after =
            retry_after(error.kind, error.details.as_ref()).filter(|_| error.retryable);
        problem.details = error.details;
        problem
    }
}

/// So much of what is wrong with a change is told at a time.
const MOST_TOLD: usize = 50;

impl From<ChangeError> for Problem {
    fn from(error: ChangeError) -> Self {
        let said = error.to_string();
        match error {
            ChangeError::Declared => Self::declared(),
            ChangeError::Missing => Self::missing("entry"),
            ChangeError::Stale => Self::precondition_failed("it has changed since it was read"),
            ChangeError::Invalid(mut found) => {
                // Whoever has mended these is told the next ones.
                found.truncate(MOST_TOLD);
                let details = crate::api::admin::problems(&found);
                let said = ChangeError::Invalid(found).to_string();
                Self::invalid_configuration(said).with_details(details)
            }
            ChangeError::Looser(_) => Self::looser(said),
            ChangeError::NotEmpty(_) => Self::not_empty(said),
            ChangeError::Store(StoreError::Missing) => Self::missing("entry"),
            ChangeError::Store(error) => {
                let message = "the store does not take the change now; nothing was changed";
                ToolError::new(ErrorKind::StoreUnavailable, message).caused_by(error).into()
            }
        }
    }
}

/// How many seconds to wait before the same request makes sense again: as long as the details say,
/// and not a moment less.
pub(crate) fn retry_after(kind: ErrorKind, details: Option<&Value>) -> Option<u64> {
    let said = details.and_then(|details| details.get("retryAfterMs")).and_then(Value::as_u64);
    kind.is_retryable().then(|| said.map_or(1, |wait_ms| wait_ms.div_ceil(1000).max(1)))
}

/// The HTTP status of a kind.
#[must_use]
pub fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Unavailable | ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Denied | ErrorKind::Blocked | ErrorKind::ConfirmationRefused => {
            StatusCode::FORBIDDEN
        }
        ErrorKind::RateLimited | ErrorKind::BudgetExceeded => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::InvalidArguments => StatusCode::UNPROCESSABLE_ENTITY,
        // Accepted, and waiting for a person.
        ErrorKind::ConfirmationRequired => StatusCode::ACCEPTED,
        ErrorKind::IdempotencyKeyRequired => StatusCode::BAD_REQUEST,
        ErrorKind::RequestExpired | ErrorKind::ResultExpired | ErrorKind::SessionInactive => {
            StatusCode::GONE
        }
        ErrorKind::InFlight
        | ErrorKind::Conflict
        | ErrorKind::UnknownOutcome
        | ErrorKind::Superseded
        | ErrorKind::Cancelled => StatusCode::CONFLICT,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Transient | ErrorKind::StoreUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Permanent | ErrorKind::Auth | ErrorKind::InvalidOutput => {
            StatusCode::BAD_GATEWAY
        }
        ErrorKind::RedactionFailed | ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
