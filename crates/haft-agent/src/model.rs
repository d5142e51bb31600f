//! The port to a model: a request goes out, bytes come back.

use std::fmt;
use std::time::Duration;

use haft_core::hop::Chain;
use haft_core::port::Boxed;
use haft_wire::Dialect;

/// A model somewhere. It sends a request once: trying again is the loop's business.
pub trait Model: Send + Sync {
    /// What it speaks.
    fn dialect(&self) -> Dialect;

    /// Its name, as requests give it.
    fn name(&self) -> &str;

    /// Where it is, for records: no key, no query.
    fn place(&self) -> String;

    /// Sends a request's body. Dropping the future, or what it gives, ends the request.
    fn ask<'a>(&'a self, body: String) -> Boxed<'a, Result<Box<dyn Stream>, Refusal>>;

    /// The same for a request that came through other servers, which is said to the model's.
    fn ask_via<'a>(
        &'a self,
        body: String,
        _via: &'a Chain,
    ) -> Boxed<'a, Result<Box<dyn Stream>, Refusal>> {
        self.ask(body)
    }

    /// A text in which the provider may have repeated the key, without it. Errors in mid-stream are
    /// shown and recorded only after they went through here.
    fn hide(&self, text: String) -> String {
        text
    }
}

/// The bytes of an answer, as they come.
pub trait Stream: Send {
    /// The next piece; none when all were delivered.
    fn next<'a>(&'a mut self) -> Boxed<'a, Result<Option<Vec<u8>>, Refusal>>;
}

/// Why a model did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Whether the same request may be sent again.
    pub retry: Retry,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// The provider's word for it, where it gives one.
    pub code: Option<String>,
    /// In words for people: never the key, never the request.
    pub message: String,
}

/// Whether a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It would be refused again.
    Never,
    /// After a pause.
    Soon,
    /// After the pause that the provider asks for.
    After(Duration),
}

impl Refusal {
    /// One that passes.
    #[must_use]
    pub fn passing(message: impl Into<String>) -> Self {
        Self { retry: Retry::Soon, status: None, code: None, message: message.into() }
    }

    /// One that stays.
    #[must_use]
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { retry: Retry::Never, status: None, code: None, message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{} (status {status})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Refusal {}
