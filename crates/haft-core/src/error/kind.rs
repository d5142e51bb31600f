//! The closed list of what can go wrong.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)?) => {
        /// What went wrong. Closed: a new kind must break every place that translates kinds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorKind {
            $($(#[$doc])* $variant,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word in envelopes, and the name of its page under `docs/errors/`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Its page, in Markdown.
            #[must_use]
            pub fn page(self) -> &'static str {
                match self {
                    $(Self::$variant => {
                        include_str!(concat!("../../../../docs/errors/", $word, ".md"))
                    })*
                }
            }
        }
    };
}

kinds! {
    /// The tool does not exist for this caller.
    Unavailable = "unavailable",
    /// Policy says no.
    Denied = "denied",
    /// The user is blocked for a while.
    Blocked = "blocked",
    /// Too many calls in too short a time.
    RateLimited = "rate_limited",
    /// The turn's or run's allowance is used up.
    BudgetExceeded = "budget_exceeded",
    /// The arguments do not fit the contract.
    InvalidArguments = "invalid_arguments",
    /// A person has to approve first.
    ConfirmationRequired = "confirmation_required",
    /// The approval that was presented does not hold for this call.
    ConfirmationRefused = "confirmation_refused",
    /// A writing call came with neither a session nor a key.
    IdempotencyKeyRequired = "idempotency_key_required",
    /// The request is older than the ledger remembers.
    RequestExpired = "request_expired",
    /// The same act is running; its answer has not come yet.
    InFlight = "in_flight",
    /// The same key or id with other content, or a clash in the tool's own world.
    Conflict = "conflict",
    /// The effect may have happened. It must not be repeated.
    UnknownOutcome = "unknown_outcome",
    /// It was done, and the answer is no longer kept.
    ResultExpired = "result_expired",
    /// A newer message replaced the one that asked for this.
    Superseded = "superseded",
    /// Called off before anything was done.
    Cancelled = "cancelled",
    /// Stopped at its deadline, before it could have done anything.
    Timeout = "timeout",
    /// Failed for now; nothing was done.
    Transient = "transient",
    /// Failed for good; nothing was done.
    Permanent = "permanent",
    /// What the tool was asked for is not there.
    NotFound = "not_found",
    /// The session has ended.
    SessionInactive = "session_inactive",
    /// The connection's credentials were refused, or there are none.
    Auth = "auth",
    /// The tool's answer breaks its own contract.
    InvalidOutput = "invalid_output",
    /// The answer could not be made safe to show.
    RedactionFailed = "redaction_failed",
    /// The ledger cannot be written, so nothing was done.
    StoreUnavailable = "store_unavailable",
    /// A fault of ours or of the handler's code.
    Internal = "internal",
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ErrorKind {
    /// The kind of a word, where there is one.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }

    /// Whether the same call may be sent again and come out otherwise.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        match self {
            Self::RateLimited
            | Self::InFlight
            | Self::Timeout
            | Self::Transient
            | Self::StoreUnavailable => true,
            Self::Unavailable
            | Self::Denied
            | Self::Blocked
            | Self::BudgetExceeded
            | Self::InvalidArguments
            | Self::ConfirmationRequired
            | Self::ConfirmationRefused
            | Self::IdempotencyKeyRequired
            | Self::RequestExpired
            | Self::Conflict
            | Self::UnknownOutcome
            | Self::ResultExpired
            | Self::Superseded
            | Self::Cancelled
            | Self::Permanent
            | Self::NotFound
            | Self::SessionInactive
            | Self::Auth
            | Self::InvalidOutput
            | Self::RedactionFailed
            | Self::Internal => false,
        }
    }

    /// Whether a handler may say it. The others are the path's own words.
    #[must_use]
    pub fn is_for_handlers(self) -> bool {
        match self {
            Self::RateLimited
            | Self::InvalidArguments
            | Self::Conflict
            | Self::Timeout
            | Self::Transient
            | Self::Permanent
            | Self::NotFound
            | Self::SessionInactive
            | Self::Auth
            | Self::Internal => true,
            Self::Unavailable
            | Self::Denied
            | Self::Blocked
            | Self::BudgetExceeded
            | Self::ConfirmationRequired
            | Self::ConfirmationRefused
            | Self::IdempotencyKeyRequired
            | Self::RequestExpired
            | Self::InFlight
            | Self::UnknownOutcome
            | Self::ResultExpired
            | Self::Superseded
            | Self::Cancelled
            | Self::InvalidOutput
            | Self::RedactionFailed
            | Self::StoreUnavailable => false,
        }
    }

    /// Whether a failure of this kind may come after something was done, where whoever reports it says no
    /// more. The others are definite by nature.
    #[must_use]
    pub fn leaves_doubt(self) -> bool {
        match self {
            Self::InFlight
            | Self::UnknownOutcome
            | Self::ResultExpired
            | Self::Timeout
            | Self::Transient
            | Self::InvalidOutput
            | Self::RedactionFailed
            | Self::Internal => true,
            Self::Unavailable
            | Self::Denied
            | Self::Blocked
            | Self::RateLimited
            | Self::BudgetExceeded
            | Self::InvalidArguments
            | Self::ConfirmationRequired
            | Self::ConfirmationRefused
            | Self::IdempotencyKeyRequired
            | Self::RequestExpired
            | Self::Conflict
            | Self::Superseded
            | Self::Cancelled
            | Self::Permanent
            | Self::NotFound
            | Self::SessionInactive
            | Self::Auth
            | Self::StoreUnavailable => false,
        }
    }

    /// What a model does best next, where the place that raised it says nothing better.
    #[must_use]
    pub fn suggestion(self) -> &'static str {
        match self {
            Self::Unavailable => "use one of the tools that you were given",
            Self::Denied => "do not try again; tell the user what you are not allowed to do",
            Self::Blocked => "say nothing more to this user until the block ends",
            Self::RateLimited => "wait before you call this tool again",
            Self::BudgetExceeded => "answer with what you have",
            Self::InvalidArguments => "correct the arguments that are named and call again",
            Self::ConfirmationRequired => "ask the user to approve; you cannot approve it yourself",
            Self::ConfirmationRefused => "ask for a new approval of exactly this call",
            Self::IdempotencyKeyRequired => "send an idempotency key, or call within a session",
            Self::RequestExpired => "check whether it was done before you ask again",
            Self::InFlight => "wait; the same call is being carried out",
            Self::Conflict => "look at what is there now before you decide what to do",
            Self::UnknownOutcome => {
                "do not repeat it: it may have been done; tell the user that it is being checked"
            }
            Self::ResultExpired => {
                "it was done; do not repeat it. Look its result up with a tool that only reads, or \
                 tell the user"
            }
            Self::Superseded => "read the newer message first",
            Self::Cancelled => "nothing was done; call again only if it is still wanted",
            Self::Timeout => "try again later, or ask for less",
            Self::Transient => "try again later",
            Self::Permanent => "do not repeat this call; it will fail again",
            Self::NotFound => "check the id, or search for it",
            Self::SessionInactive => "do nothing; the session is over",
            Self::Auth => "ask the user to connect the account again",
            Self::InvalidOutput => "do not rely on this tool's answer; tell the user",
            Self::RedactionFailed => "the answer cannot be shown; tell the user",
            Self::StoreUnavailable => "nothing was done; try again later",
            Self::Internal => "tell the user that the tool failed",
        }
    }
}
