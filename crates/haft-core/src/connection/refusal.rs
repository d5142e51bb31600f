//! Why a provider gives no code or no token: the words of OAuth 2 (RFC 6749, sections 4.1.2.1 and 5.2).
//!
//! The list is closed, so what is shown of a provider's answer is one of ours. What it says beside the
//! word is shown to nobody: it may repeat what it was sent.

/// A provider's word for why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It cannot make sense of the request.
    InvalidRequest,
    /// It does not know the program, or its secret is another.
    InvalidClient,
    /// The code or the refresh token has ended, was taken back, or is somebody else's.
    InvalidGrant,
    /// The program may not ask in this way.
    UnauthorizedClient,
    /// The person, or the provider, said no.
    AccessDenied,
    /// It gives no tokens in this way.
    UnsupportedGrantType,
    /// It gives no codes.
    UnsupportedResponseType,
    /// It does not know a scope, or does not give it.
    InvalidScope,
    /// Something is wrong on its side.
    ServerError,
    /// It cannot answer at the moment.
    TemporarilyUnavailable,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::InvalidRequest,
        Self::InvalidClient,
        Self::InvalidGrant,
        Self::UnauthorizedClient,
        Self::AccessDenied,
        Self::UnsupportedGrantType,
        Self::UnsupportedResponseType,
        Self::InvalidScope,
        Self::ServerError,
        Self::TemporarilyUnavailable,
    ];

    /// The one that a provider's word stands for.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }

    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::AccessDenied => "access_denied",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
        }
    }

    /// What to do.
    #[must_use]
    pub fn fix(self) -> &'static str {
        match self {
            Self::InvalidRequest => {
                "an administrator compares the connection's addresses, scopes and audience with what the \
                 provider's documents ask for"
            }
            Self::InvalidClient => {
                "an administrator corrects the client's id, its secret, or where the secret goes"
            }
            Self::InvalidGrant => "ask the user to connect the account again",
            Self::UnauthorizedClient => {
                "an administrator allows the client, in the provider's own settings, to ask in this way"
            }
            Self::AccessDenied => "ask the user whether they agree, then begin again",
            Self::UnsupportedGrantType | Self::UnsupportedResponseType => {
                "an administrator chooses another kind of connection, or other addresses: this provider \
                 gives no tokens in this way there"
            }
            Self::InvalidScope => {
                "an administrator corrects the scopes: the provider does not know one of them, or does not \
                 give it to this client"
            }
            Self::ServerError | Self::TemporarilyUnavailable => "try again later",
        }
    }

    /// Whether the same may go well later.
    #[must_use]
    pub fn passes(self) -> bool {
        matches!(self, Self::ServerError | Self::TemporarilyUnavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_and_says_what_to_do() {
        for one in Refusal::ALL {
            assert_eq!(Refusal::parse(one.as_str()), Some(one));
            assert!(!one.fix().is_empty() && !one.fix().ends_with('.'), "{one:?}");
        }
        for other in ["", "Invalid_Grant", "invalid_grant ", "interaction_required", "<b>"] {
            assert_eq!(Refusal::parse(other), None, "{other}");
        }
    }
}
