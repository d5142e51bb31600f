//! A model's output, in whatever dialect and however split → text as it comes, calls when they are
//! whole, one end.
//!
//! ```
//! use haft_wire::decode::{Close, Decoder, Limits};
//! use haft_wire::{Dialect, Said};
//!
//! let mut decoder = Decoder::new(Dialect::OpenAiChat, Limits::default());
//! let mut said = Vec::new();
//! decoder.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\nda", &mut said);
//! assert!(matches!(&said[..], [Said::Text { delta, .. }] if delta == "Hello"));
//! decoder.feed(b"ta: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", &mut said);
//! decoder.close(Close::Eof, &mut said);
//! assert!(matches!(said.last(), Some(Said::End(_))));
//! assert_eq!(decoder.into_turn().text, "Hello");
//! ```
//!
//! **When a call is one.** Text flows at once; a call is yielded only when the provider has said
//! that the message is complete, and then all of them in order, right before [`Said::End`]. A
//! message that fails, is cut, filtered or out of room has no calls, however whole they look: what
//! a model was about to add to them is not known. (Gemini Live is the exception, because it waits
//! for the answer: there a `toolCall` frame is a complete statement of its own.) A complete
//! message's calls are each checked: arguments that are not one JSON object make it
//! [`Said::Broken`]. Duplicate keys, large numbers and depth are left to the strict reader of the
//! path, which gets the text as it came.
//!
//! **Framing** is found by the first byte: events, or JSON objects (one whole response, an array of
//! responses, one frame per line, an error's body). So a whole response, and also an assistant's
//! message alone, is decoded by the same code ([`message`], and [`posted`] where it is not known what
//! else stands there).
//!
//! `docs/streams.md` has every decision where providers or their SDKs disagree.

mod anthropic;
mod brackets;
mod fault;
mod fields;
mod gemini;
mod gemini_live;
mod input;
mod limits;
mod notes;
mod openai_chat;
mod openai_realtime;
mod openai_responses;
mod posted;
mod request;
mod sse;
mod text;
mod values;
mod whole;

use std::fmt;

use serde_json::error::Category;

pub use limits::Limits;
pub use posted::{Foreign, posted};

use self::input::{Events, Input};
use self::notes::{Notes, Pen, Verdict};
use self::openai_responses::{Door, Responses};
use crate::dialect::Dialect;
use crate::raw::RawJson;
use crate::said::{End, Fault, Finish, Said, Turn};

/// The code of a fault that says that a limit was exceeded.
pub const TOO_LARGE: &str = "too_large";
/// The code of a fault that says that there are more calls than allowed.
pub const TOO_MANY: &str = "too_many_calls";

/// How the bytes of a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// The transport says that all of them were delivered.
    Eof,
    /// The connection broke, or nobody waited for the rest.
    Reset,
}

/// Assembles one stream, and is then used up: nothing of one stream can reach the next.
pub struct Decoder {
    input: Input,
    read: Reading,
}

impl Decoder {
    /// For one answer of a provider that speaks this dialect.
    #[must_use]
    pub fn new(dialect: Dialect, limits: Limits) -> Self {
        let provider: Box<dyn Provider> = match dialect {
            Dialect::OpenAiChat => Box::<openai_chat::Chat>::default(),
            Dialect::Anthropic => Box::<anthropic::Anthropic>::default(),
            Dialect::Gemini => Box::<gemini::Gemini>::default(),
            Dialect::GeminiLive => Box::<gemini_live::Live>::default(),
            Dialect::OpenAiResponses => Box::new(Responses::new(Door::Responses)),
            Dialect::OpenAiRealtime => Box::new(openai_realtime::realtime()),
            Dialect::Mcp => Box::new(request::Request::new(request::mcp)),
            Dialect::Adm => Box::new(request::Request::new(request::adm)),
        };
        let input = Input::of(dialect, limits.event);
        Self { input, read: Reading { provider, notes: Notes::new(limits) } }
    }

    /// Reads a piece, as long or short as it came, and appends what it says. After the end nothing
    /// is read any more.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Said>) {
        if self.has_ended() {
            return;
        }
        let mut to = Reader { read: &mut self.read, out };
        if let Err(fault) = self.input.feed(bytes, &mut to) {
            to.fail(fault);
        }
    }

    /// Whether [`Said::End`] was said.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.read.notes.end.is_some()
    }

    /// Says the end, unless it was said.
    pub fn close(&mut self, how: Close, out: &mut Vec<Said>) {
        if self.has_ended() {
            return;
        }
        let mut to = Reader { read: &mut self.read, out };
        let seen = match how {
            Close::Eof => self.input.close(&mut to),
            Close::Reset => Err(fault("reset", "the connection broke before the answer was whole")),
        };
        to.finish(how, seen);
    }

    /// All of it at once. A stream that was not closed counts as broken.
    #[must_use]
    pub fn into_turn(mut self) -> Turn {
        self.close(Close::Reset, &mut Vec::new());
        let mut notes = self.read.notes;
        let end = notes.end.take().unwrap_or_else(|| End::of(Finish::Cut));
        notes.into_turn(end)
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("notes", &self.read.notes).finish_non_exhaustive()
    }
}

/// A whole response, or an assistant's message alone, of this dialect. Whoever is handed it and runs
/// its calls reads it with [`posted`].
#[must_use]
pub fn message(dialect: Dialect, limits: Limits, bytes: &[u8]) -> Turn {
    let mut decoder = Decoder::new(dialect, limits);
    let mut said = Vec::new();
    decoder.feed(bytes, &mut said);
    decoder.close(Close::Eof, &mut said);
    decoder.into_turn()
}

/// One provider's way of saying things.
trait Provider: Send {
    /// Reads one event.
    fn event(&mut self, name: &[u8], data: &str, pen: &mut Pen<'_>)
    -> Result<Option<Ended>, Fault>;

    /// What the provider has said about its end by the time that the bytes are over; `None` when
    /// they should not be over.
    fn eof(&mut self) -> Option<Ended>;

    /// Judges the calls that were not judged yet, and returns what the next request repeats.
    fn settle(&mut self, verdict: Verdict, pen: &mut Pen<'_>) -> Vec<RawJson>;

    /// An error that did not end the stream when it was reported.
    fn fault(&mut self) -> Option<Fault> {
        None
    }
}

/// What a provider says when it is done.
#[derive(Debug)]
struct Ended {
    finish: Finish,
    word: Option<String>,
    fault: Option<Fault>,
}

impl Ended {
    fn new(finish: Finish, word: Option<&str>) -> Self {
        Self { finish, word: word.map(ToOwned::to_owned), fault: None }
    }
}

struct Reading {
    provider: Box<dyn Provider>,
    notes: Notes,
}

struct Reader<'a> {
    read: &'a mut Reading,
    out: &'a mut Vec<Said>,
}

impl Events for Reader<'_> {
    fn event(&mut self, name: &[u8], data: &[u8]) {
        if self.read.notes.end.is_some() {
            return;
        }
        let data = match std::str::from_utf8(data) {
            Ok(data) => data,
            // It ends within a character.
            Err(error) if error.error_len().is_none() => return self.fail(cut()),
            Err(_) => return self.fail(fault("bad_utf8", "an event is not UTF-8")),
        };
        // Some keep a connection alive with events in which there is nothing.
        if data.trim_ascii().is_empty() {
            return;
        }
        let mut pen = Pen { notes: &mut self.read.notes, out: self.out };
        match self.read.provider.event(name, data, &mut pen) {
            Ok(None) => {}
            Ok(Some(ended)) => self.end(ended),
            Err(fault) => self.fail(fault),
        }
    }
}

impl Reader<'_> {
    fn fail(&mut self, fault: Fault) {
        self.end(Ended { finish: finish_of(&fault), word: None, fault: Some(fault) });
    }

    fn finish(&mut self, how: Close, seen: Result<(), Fault>) {
        if self.read.notes.end.is_some() {
            return;
        }
        let ended = match (how, &seen) {
            (Close::Eof, Ok(())) => self.read.provider.eof(),
            (Close::Eof | Close::Reset, _) => None,
        };
        let earlier = self.read.provider.fault();
        self.end(ended.unwrap_or_else(|| match (seen, earlier) {
            (_, Some(fault)) => Ended { finish: Finish::Failed, word: None, fault: Some(fault) },
            (Err(fault), None) => {
                Ended { finish: finish_of(&fault), word: None, fault: Some(fault) }
            }
            (Ok(()), None) => Ended::new(Finish::Cut, None),
        }));
    }

    fn end(&mut self, ended: Ended) {
        if self.read.notes.end.is_some() {
            return;
        }
        let Ended { finish, word, fault: reported } = ended;
        let verdict = Verdict::of(&finish, reported.as_ref());
        let mut pen = Pen { notes: &mut self.read.notes, out: self.out };
        let replay = self.read.provider.settle(verdict, &mut pen);
        let notes = &mut self.read.notes;
        notes.replay = replay;
        let unsaid = "the stream ended before the provider said that it was done";
        let cut = (finish == Finish::Cut).then(|| fault("cut", unsaid));
        let fault = reported.or(cut);
        let end = End { finish: settled(finish, notes), word, usage: notes.usage, fault };
        notes.end = Some(end.clone());
        self.out.push(Said::End(end));
    }
}

/// What the transport noticed is a cut, what the provider sent instead of a stream a failure.
fn finish_of(fault: &Fault) -> Finish {
    match fault.code.as_deref() {
        Some("reset" | "cut" | "empty") => Finish::Cut,
        _ => Finish::Failed,
    }
}

/// Providers say `stop` where they wait for calls, and wait for calls that are none.
fn settled(finish: Finish, notes: &Notes) -> Finish {
    match finish {
        Finish::Stop | Finish::Calls if notes.has_calls() => Finish::Calls,
        Finish::Stop | Finish::Calls if !notes.all_refusal().is_empty() => Finish::Refused,
        Finish::Calls => Finish::Stop,
        Finish::Stop
        | Finish::Length
        | Finish::Filtered
        | Finish::Refused
        | Finish::Paused
        | Finish::Failed
        | Finish::Cut
        | Finish::Other(_) => finish,
    }
}

fn fault(code: &str, message: &str) -> Fault {
    Fault { code: Some(code.to_owned()), message: message.to_owned() }
}

/// The connection ended within an event.
fn cut() -> Fault {
    fault("cut", "the stream ended in the middle of an event")
}

/// Reads an event's data. The message says where, and repeats nothing of it.
fn json<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Result<T, Fault> {
    serde_json::from_str(data).map_err(|error| {
        let what = match error.classify() {
            Category::Eof => return cut(),
            Category::Data => "has another shape than this dialect's",
            Category::Io | Category::Syntax => "is not JSON",
        };
        let (line, column) = (error.line(), error.column());
        fault("bad_json", &format!("an event {what} (line {line}, column {column})"))
    })
}
