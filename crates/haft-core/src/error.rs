//! Why a call did not end well: one closed list of kinds, and the words that others use for them.
//!
//! A [`ToolError`] has two audiences. `message` and `suggestion` are written for the model;
//! `source` is for the log and is never serialised.

mod kind;
mod words;

use std::fmt;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use kind::ErrorKind;

/// One error, for the model and for the log. It is as large as a pointer: whatever a call can come to
/// has room for one, and is handed from stage to stage.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolError(Box<Fault>);

/// What an error says; a [`ToolError`] can be read and changed as one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// What went wrong.
    pub kind: ErrorKind,
    /// In words for the model: no stack, no path, no host.
    pub message: String,
    /// Whether the same call may be sent again.
    pub retryable: bool,
    /// Whether a repetition must carry the same idempotency key.
    #[serde(default)]
    pub idempotency_required: bool,
    /// Whether a part of the effect may have happened.
    #[serde(default)]
    pub partial_side_effects: bool,
    /// What to do next.
    pub suggestion: String,
    /// More, for programs: paths and expectations, a confirmation request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What really happened, for the log alone.
    #[serde(skip)]
    pub source: Option<String>,
    /// The message as records, events and screens have it, where that is less than the caller is told.
    #[serde(skip)]
    pub shown: Option<String>,
}

impl Fault {
    /// The message as everybody but the caller may see it: arguments that redaction hides are quoted
    /// nowhere.
    #[must_use]
    pub fn shown(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.message)
    }
}

impl ToolError {
    /// An error with what its kind implies.
    ///
    /// ```
    /// use haft_core::error::{ErrorKind, ToolError};
    ///
    /// let error = ToolError::new(ErrorKind::Transient, "the calendar is busy");
    /// assert!(error.retryable);
    /// assert_eq!(error.suggestion, "try again later");
    /// ```
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Fault {
            kind,
            message: message.into(),
            retryable: kind.is_retryable(),
            idempotency_required: kind == ErrorKind::IdempotencyKeyRequired,
            partial_side_effects: false,
            suggestion: kind.suggestion().to_owned(),
            details: None,
            source: None,
            shown: None,
        }))
    }

    /// What it says, to be taken apart.
    #[must_use]
    pub fn into_fault(self) -> Fault {
        *self.0
    }

    /// With a better suggestion than the kind's own.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = suggestion.into();
        self
    }

    /// With more for programs.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// With what really happened, for the log alone.
    #[must_use]
    pub fn caused_by(mut self, source: impl fmt::Display) -> Self {
        self.source = Some(source.to_string());
        self
    }
}

impl Deref for ToolError {
    type Target = Fault;

    fn deref(&self) -> &Fault {
        &self.0
    }
}

impl DerefMut for ToolError {
    fn deref_mut(&mut self) -> &mut Fault {
        &mut self.0
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl std::error::Error for ToolError {}
