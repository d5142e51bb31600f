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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    fn pages() -> std::path::PathBuf {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errors")).to_path_buf()
    }

    /// The table of the index, as the code has it.
    fn table() -> String {
        let mut table = String::from(
            "| kind | what it says | try again | registry | runner | ADM |\n|---|---|---|---|---|---|\n",
        );
        for kind in ErrorKind::ALL {
            let heading = kind.page().lines().next().unwrap();
            let title = heading.strip_prefix(&format!("# {kind}: ")).unwrap();
            table.push_str(&format!(
                "| [{kind}]({kind}.md) | {title} | {} | `{}` | `{}` | `{}` |\n",
                if kind.is_retryable() { "yes" } else { "" },
                kind.in_registry_words(),
                kind.in_runner_words(),
                kind.in_adm_words(),
            ));
        }
        table
    }

    #[test]
    fn the_index_has_the_table_of_the_code() {
        let index = fs::read_to_string(pages().join("README.md")).unwrap();
        assert!(index.contains(&table()), "docs/errors/README.md should contain:\n\n{}", table());
    }

    #[test]
    fn kinds_and_pages_are_the_same_set() {
        let found: BTreeSet<String> = fs::read_dir(pages())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            .map(|name| name.trim_end_matches(".md").to_owned())
            .collect();
        let kinds: BTreeSet<String> = ErrorKind::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(found, kinds);
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::parse(kind.as_str()), Some(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
