//! The formats that models and clients speak.

use std::fmt;
use std::str::FromStr;

/// A format in which tools are offered, calls arrive and results leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// OpenAI Chat Completions, and the many that imitate it.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// OpenAI Realtime: JSON in WebSocket frames.
    OpenAiRealtime,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Gemini Live: JSON in WebSocket frames.
    GeminiLive,
    /// The Model Context Protocol.
    Mcp,
    /// The ALTAR data model 1.0.
    Adm,
}

impl Dialect {
    /// Every dialect, in the order in which tables list them.
    pub const ALL: [Self; 8] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::OpenAiRealtime,
        Self::Anthropic,
        Self::Gemini,
        Self::GeminiLive,
        Self::Mcp,
        Self::Adm,
    ];

    /// The word used in commands and URLs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::OpenAiRealtime => "openai-realtime",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::GeminiLive => "gemini-live",
            Self::Mcp => "mcp",
            Self::Adm => "adm",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect(String);

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.as_str()).collect();
        write!(f, "`{}` is not a dialect; use one of {}", self.0.escape_debug(), known.join(", "))
    }
}

impl std::error::Error for UnknownDialect {}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        Self::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == text)
            .ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}

/// Whether a provider is asked to hold the model to the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// The schema is advice.
    #[default]
    Plain,
    /// The provider enforces it, in the subset that it can enforce.
    Strict,
}
