//! Chat Completions as they are written.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::decode::text::Piece;

/// A chunk, a whole completion, or an assistant's message alone.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Part<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// None of its fields was there, or they were null.
    pub(super) fn says_nothing(&self) -> bool {
        self.choices.is_none()
            && [self.usage, self.error, self.role, self.tool_calls].iter().all(Option::is_none)
    }

    pub(super) fn is_message(&self) -> bool {
        self.choices.is_none() && (self.role.is_some() || self.tool_calls.is_some())
    }
}

#[derive(Deserialize)]
pub(super) struct Part<'a> {
    pub(super) index: Option<u32>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow)]
    pub(super) function_call: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct ToolCall<'a> {
    pub(super) index: Option<i64>,
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    /// A tool that takes free text.
    #[serde(borrow)]
    pub(super) custom: Option<&'a RawValue>,
    /// Where Google's OpenAI door puts the signature of a thought.
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    /// A string by the book; some imitators send the object itself.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Custom<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}

/// Text, or a list of parts where the provider thinks aloud (Mistral).
pub(super) enum Content<'a> {
    Text(Piece<'a>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Vec<Thought<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct Thought<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Piece<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text or parts")
            }
            fn visit_borrowed_bytes<E: Error>(self, text: &'de [u8]) -> Result<Self::Value, E> {
                Ok(Content::Text(Piece(Cow::Borrowed(text))))
            }
            fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<Self::Value, E> {
                Ok(Content::Text(Piece(Cow::Owned(text.to_vec()))))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }
        deserializer.deserialize_bytes(Read)
    }
}
