//! The same kinds in the words of others. Each table leaves nothing out.

use super::ErrorKind;

impl ErrorKind {
    /// The word of the tool registry architecture (`ErrorType`).
    #[must_use]
    pub fn in_registry_words(self) -> &'static str {
        match self {
            Self::InvalidArguments | Self::IdempotencyKeyRequired => "VALIDATION",
            Self::Unavailable | Self::NotFound => "NOT_FOUND",
            Self::SessionInactive | Self::Blocked | Self::Superseded | Self::Cancelled => {
                "SESSION_INACTIVE"
            }
            Self::Transient | Self::Timeout | Self::InFlight | Self::StoreUnavailable => {
                "TRANSIENT"
            }
            Self::Permanent | Self::UnknownOutcome | Self::RequestExpired => "PERMANENT",
            Self::RateLimited | Self::BudgetExceeded => "RATE_LIMIT",
            Self::Auth | Self::Denied | Self::ConfirmationRefused => "AUTH",
            Self::ConfirmationRequired => "CONFIRMATION_REQUIRED",
            Self::Conflict | Self::ResultExpired => "CONFLICT",
            Self::InvalidOutput | Self::RedactionFailed | Self::Internal => "INTERNAL",
        }
    }

    /// The word of the tool use specification (`errorCode`).
    #[must_use]
    pub fn in_runner_words(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Denied
            | Self::Blocked
            | Self::RateLimited
            | Self::BudgetExceeded
            | Self::ConfirmationRequired
            | Self::ConfirmationRefused => "policy_denied",
            Self::InvalidArguments | Self::IdempotencyKeyRequired => "validation",
            Self::RedactionFailed => "redaction_failed",
            Self::RequestExpired
            | Self::InFlight
            | Self::Conflict
            | Self::UnknownOutcome
            | Self::ResultExpired
            | Self::Superseded
            | Self::Cancelled
            | Self::Timeout
            | Self::Transient
            | Self::Permanent
            | Self::NotFound
            | Self::SessionInactive
            | Self::Auth
            | Self::InvalidOutput
            | Self::StoreUnavailable
            | Self::Internal => "execution",
        }
    }

    /// The standard error type of the ALTAR data model.
    #[must_use]
    pub fn in_adm_words(self) -> haft_adm::ErrorType {
        use haft_adm::ErrorType as Adm;
        match self {
            Self::InvalidArguments | Self::IdempotencyKeyRequired => Adm::ParameterValidationFailed,
            Self::Unavailable | Self::NotFound => Adm::ResourceNotFound,
            Self::Denied
            | Self::Blocked
            | Self::ConfirmationRequired
            | Self::ConfirmationRefused
            | Self::Auth => Adm::PermissionDenied,
            Self::RateLimited | Self::BudgetExceeded => Adm::RateLimitExceeded,
            Self::Permanent => Adm::BusinessRuleViolation,
            Self::Transient | Self::Timeout | Self::StoreUnavailable | Self::Internal => {
                Adm::ServiceUnavailable
            }
            Self::InFlight
            | Self::Conflict
            | Self::UnknownOutcome
            | Self::ResultExpired
            | Self::RequestExpired
            | Self::Superseded
            | Self::Cancelled
            | Self::SessionInactive => Adm::InvalidState,
            Self::InvalidOutput | Self::RedactionFailed => Adm::ConfigurationError,
        }
    }
}
