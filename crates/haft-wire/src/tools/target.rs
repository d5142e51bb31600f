//! What tools are rendered for.

use crate::{Dialect, Strictness};

/// A dialect, and how it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The dialect.
    pub dialect: Dialect,
    /// Whether the provider holds the model to the schema; plain where the dialect has no such mode.
    pub strictness: Strictness,
    /// Which of its ways to write a schema.
    pub schemas: Schemas,
}

/// Ways to write a schema, where a dialect has two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schemas {
    /// The dialect's own.
    #[default]
    Own,
    /// JSON Schema: Gemini's `parametersJsonSchema`.
    JsonSchema,
}

impl Target {
    /// Every target that differs from the others.
    pub const ALL: [Self; 12] = [
        Self::plain(Dialect::OpenAiChat),
        Self::strict(Dialect::OpenAiChat),
        Self::plain(Dialect::OpenAiResponses),
        Self::strict(Dialect::OpenAiResponses),
        Self::plain(Dialect::OpenAiRealtime),
        Self::plain(Dialect::Anthropic),
        Self::strict(Dialect::Anthropic),
        Self::plain(Dialect::Gemini),
        Self { schemas: Schemas::JsonSchema, ..Self::plain(Dialect::Gemini) },
        Self::plain(Dialect::GeminiLive),
        Self::plain(Dialect::Mcp),
        Self::plain(Dialect::Adm),
    ];

    const fn plain(dialect: Dialect) -> Self {
        Self { dialect, strictness: Strictness::Plain, schemas: Schemas::Own }
    }

    const fn strict(dialect: Dialect) -> Self {
        Self { dialect, strictness: Strictness::Strict, schemas: Schemas::Own }
    }

    /// The dialect with its own schemas; strict only where the dialect can be.
    #[must_use]
    pub fn new(dialect: Dialect, strictness: Strictness) -> Self {
        let strictness = if has_strict(dialect) { strictness } else { Strictness::Plain };
        Self { dialect, strictness, schemas: Schemas::Own }
    }

    /// With JSON Schema where the dialect takes it beside its own.
    #[must_use]
    pub fn with_json_schema(self) -> Self {
        match self.dialect {
            Dialect::Gemini => Self { schemas: Schemas::JsonSchema, ..self },
            Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::OpenAiRealtime
            | Dialect::Anthropic
            | Dialect::GeminiLive
            | Dialect::Mcp
            | Dialect::Adm => self,
        }
    }

    /// The targets that a word names: one of them, all of a provider (`openai`), or `all`.
    /// Nothing where it names none.
    #[must_use]
    pub fn named(word: &str) -> Vec<Self> {
        let is = |target: &Self| {
            let name = target.name();
            word == "all" || name == word || name.starts_with(&format!("{word}-"))
        };
        Self::ALL.into_iter().filter(is).collect()
    }

    /// A name for tables and files: `openai-strict`, `gemini-json-schema`.
    #[must_use]
    pub fn name(self) -> String {
        let strict = if self.strictness == Strictness::Strict { "-strict" } else { "" };
        let schemas = if self.schemas == Schemas::JsonSchema { "-json-schema" } else { "" };
        format!("{}{strict}{schemas}", self.dialect)
    }
}

/// Whether a dialect has a strict mode.
#[must_use]
pub fn has_strict(dialect: Dialect) -> bool {
    match dialect {
        Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Anthropic => true,
        Dialect::OpenAiRealtime
        | Dialect::Gemini
        | Dialect::GeminiLive
        | Dialect::Mcp
        | Dialect::Adm => false,
    }
}
