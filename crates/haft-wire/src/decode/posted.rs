//! What somebody posts as a model's message: whether it is one, and nothing else.
//!
//! A decoder reads calls wherever they stand. Of a conversation those would be all that were ever made
//! in it, and whoever posts a message has its calls carried out: what was done and answered long ago
//! would be done again. So a body is looked through before its calls count: it is one message of the
//! model, its items, or one response, whole or as a recorded stream; what others said does not stand in
//! it, and neither does the result of a call.

mod anthropic;
mod gemini;
mod once;
mod openai_chat;
mod openai_responses;
mod request;

use std::collections::HashSet;
use std::fmt;

use super::fields::Fields;
use super::input::{Events, Input};
use super::{Limits, message};
use crate::dialect::Dialect;
use crate::said::Turn;

/// What a model said, as it was posted: [`message`], held to hold nothing else, and each id once. The
/// same call under the same id again is that call; another call under it is broken
/// ([`Broken::SameId`](crate::Broken::SameId)). Calls without an id are told apart by their places.
///
/// # Errors
/// Something else stands in the body: none of its calls may be run.
pub fn posted(dialect: Dialect, limits: Limits, bytes: &[u8]) -> Result<Turn, Foreign> {
    let mut looked = Looked { look: look_of(dialect), seen: Seen::default() };
    let mut input = Input::of(dialect, limits.event);
    // What is wrong with the bytes themselves, the decoder says.
    if input.feed(bytes, &mut looked).is_ok() {
        let _ = input.close(&mut looked);
    }
    looked.seen.verdict()?;
    Ok(once::each_id(message(dialect, limits, bytes)))
}

/// What stands in a body beside, or in place of, what one answer of a model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// A message of somebody else, by its role.
    Role(String),
    /// The result of a call.
    Result,
    /// What is sent to a model.
    Request,
    /// A second message.
    Several,
}

impl Foreign {
    /// What to do about it.
    pub const ADVICE: &str =
        "post the last message of the model alone, or its whole response, as the provider sent it";
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Role(role) => write!(
                f,
                "a message of the role `{}` stands in it, and only the model's own messages hold calls",
                role.escape_debug()
            ),
            Self::Result => f.write_str(
                "the result of a call stands in it, and what has been answered is not run again",
            ),
            Self::Request => {
                f.write_str("it is what a model is sent, and only what it answered holds calls")
            }
            Self::Several => f.write_str(
                "several messages stand in it, and which of their calls have been run is not known",
            ),
        }
    }
}

impl std::error::Error for Foreign {}

/// Looks at one object of a body.
type Look = fn(&Fields, &mut Seen);

fn look_of(dialect: Dialect) -> Look {
    match dialect {
        Dialect::OpenAiChat => openai_chat::look,
        Dialect::OpenAiResponses | Dialect::OpenAiRealtime => openai_responses::look,
        Dialect::Anthropic => anthropic::look,
        Dialect::Gemini => gemini::look,
        Dialect::GeminiLive => gemini::look_live,
        Dialect::Mcp => request::look_mcp,
        Dialect::Adm => request::look_adm,
    }
}

struct Looked {
    look: Look,
    seen: Seen,
}

impl Events for Looked {
    fn event(&mut self, _: &[u8], data: &[u8]) {
        let Ok(text) = std::str::from_utf8(data) else { return };
        match Fields::read(text) {
            Some(said) => (self.look)(&said, &mut self.seen),
            None if text.trim_ascii() == "[DONE]" => self.seen.end(),
            None => {}
        }
    }
}

/// What has been seen of a body.
#[derive(Default)]
struct Seen {
    foreign: Option<Foreign>,
    wholes: usize,
    parts: usize,
    /// A stream has said that it is over.
    ended: bool,
    /// Something came after that, which decoders do not read any more.
    late: bool,
    called: HashSet<String>,
    answered: HashSet<String>,
}

impl Seen {
    /// A message or a response that is complete by itself.
    fn whole(&mut self) {
        self.wholes += 1;
        self.late |= self.ended;
    }

    /// A piece of a stream, or one of several items or requests that are one answer together.
    fn part(&mut self) {
        self.parts += 1;
        self.late |= self.ended;
    }

    /// The end of a stream.
    fn end(&mut self) {
        self.ended = true;
    }

    /// Whose message it is. Many leave that out where it can only be the model's.
    fn role(&mut self, message: &Fields) {
        let Some(role) = message.given("role") else { return };
        let role = serde_json::from_str(role).unwrap_or_else(|_| role.to_owned());
        if !matches!(role.as_str(), "" | "assistant" | "model") {
            self.foreign(Foreign::Role(role.chars().take(32).collect()));
        }
    }

    /// What came of a call.
    fn result(&mut self) {
        self.foreign(Foreign::Result);
    }

    /// What a model is asked.
    fn request(&mut self) {
        self.foreign(Foreign::Request);
    }

    fn foreign(&mut self, found: Foreign) {
        self.foreign.get_or_insert(found);
    }

    fn verdict(self) -> Result<(), Foreign> {
        match self.foreign {
            Some(foreign) => Err(foreign),
            None if !self.called.is_disjoint(&self.answered) => Err(Foreign::Result),
            None if self.late || self.wholes + self.parts.min(1) > 1 => Err(Foreign::Several),
            None => Ok(()),
        }
    }
}
