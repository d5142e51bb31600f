//! Bytes → events, whichever of the two framings they come in.

use super::sse::{Sink, Sse};
use super::values::{Bad, Values};
use crate::dialect::Dialect;
use crate::said::Fault;

pub(super) const BOM: &[u8; 3] = b"\xef\xbb\xbf";

/// The framing, once it is known.
#[derive(Debug)]
pub(super) enum Input {
    /// Nothing but a byte order mark and white space so far.
    Start { limit: usize, bom: usize, indented: bool },
    /// Server-sent events.
    Events(Sse),
    /// JSON objects.
    Objects(Values),
}

/// Takes what the framing holds.
pub(super) trait Events {
    /// One event: its name, where it has one, and its data.
    fn event(&mut self, name: &[u8], data: &[u8]);
}

struct To<'a, E>(&'a mut E);

impl<E: Events> Sink for To<'_, E> {
    fn event(&mut self, name: &[u8], data: &[u8]) {
        self.0.event(name, data);
    }
}

impl Input {
    /// What this dialect comes in.
    pub(super) fn of(dialect: Dialect, limit: usize) -> Self {
        match dialect {
            Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::Anthropic
            | Dialect::Gemini => Self::body(limit),
            Dialect::OpenAiRealtime | Dialect::GeminiLive | Dialect::Mcp | Dialect::Adm => {
                Self::frames(limit)
            }
        }
    }

    /// A body: an answer to a request for a stream may be events, an array, one object or an error.
    fn body(limit: usize) -> Self {
        Self::Start { limit, bom: 0, indented: false }
    }

    /// Frames: objects and nothing else.
    fn frames(limit: usize) -> Self {
        Self::Objects(Values::new(limit))
    }

    /// Reads a piece.
    pub(super) fn feed(&mut self, mut bytes: &[u8], to: &mut impl Events) -> Result<(), Fault> {
        if let Self::Start { limit, bom, indented } = self {
            let Some(begun) = begin(&mut bytes, *limit, bom, indented, to)? else { return Ok(()) };
            *self = begun;
        }
        match self {
            Self::Start { .. } => Ok(()),
            Self::Events(sse) => sse.feed(bytes, &mut To(to)).map_err(|_| too_large()),
            Self::Objects(values) => {
                values.feed(bytes, |object| to.event(b"", object)).map_err(bad)
            }
        }
    }

    /// Hands on what the end of the bytes completes, and says what was wrong with them as a whole.
    pub(super) fn close(&mut self, to: &mut impl Events) -> Result<(), Fault> {
        match self {
            Self::Start { .. } => Err(fault("empty", "the provider sent nothing")),
            Self::Events(sse) => {
                sse.close(&mut To(to)).map_err(|_| too_large())?;
                stray(sse)
            }
            Self::Objects(values) if values.is_open() => {
                Err(fault("cut", "the JSON ends in the middle"))
            }
            Self::Objects(_) => Ok(()),
        }
    }
}

/// Decides by the first byte that is neither a mark nor white space: no field of an event stream
/// begins with a bracket, and every JSON body does.
fn begin(
    bytes: &mut &[u8],
    limit: usize,
    bom: &mut usize,
    indented: &mut bool,
    to: &mut impl Events,
) -> Result<Option<Input>, Fault> {
    while let [first, rest @ ..] = *bytes {
        match first {
            byte if *bom < BOM.len() && BOM.get(*bom) == Some(byte) => *bom += 1,
            b'\r' | b'\n' => *indented = false,
            b' ' | b'\t' => *indented = true,
            b'{' | b'[' => return Ok(Some(Input::Objects(Values::new(limit)))),
            _ => {
                let mut sse = Sse::new(limit);
                if *indented {
                    // White space before a field's name makes it another field.
                    sse.feed(b" ", &mut To(to)).map_err(|_| too_large())?;
                }
                return Ok(Some(Input::Events(sse)));
            }
        }
        *bytes = rest;
    }
    Ok(None)
}

fn stray(sse: &Sse) -> Result<(), Fault> {
    if sse.stray.is_empty() {
        return Ok(());
    }
    if let Some(fault) = super::fault::read(&sse.stray) {
        return Err(fault);
    }
    if sse.seen_field {
        // Fields that nobody knows are to be passed over.
        return Ok(());
    }
    let text = String::from_utf8_lossy(&sse.stray);
    let shown: String = text.chars().take(200).collect();
    Err(fault("not_a_stream", &format!("the answer is neither events nor JSON: {}", shown.trim())))
}

fn bad(bad: Bad) -> Fault {
    match bad {
        Bad::TooLarge => too_large(),
        Bad::NotJson => {
            fault("bad_json", "something stands between the JSON objects of the answer")
        }
    }
}

fn too_large() -> Fault {
    fault(super::TOO_LARGE, "an event is larger than the decoder may hold")
}

fn fault(code: &str, message: &str) -> Fault {
    Fault { code: Some(code.to_owned()), message: message.to_owned() }
}
