//! What passes between the pool and a child: frames of a length and a message.
//!
//! A message is a tag and fields; texts are JSON or plain, never parsed on the way. Neither side
//! trusts the other's lengths.

use serde::Serialize;
use serde_json::Value;

/// The largest message in either direction.
pub(super) const MAX_FRAME: usize = 16 << 20;

const HEADER: usize = 4;

/// Room for most messages, so that they are not moved while they are written.
const USUAL: usize = 1 << 10;

/// Collects what was read until a whole message is there.
#[derive(Default)]
pub(super) struct Inbox {
    bytes: Vec<u8>,
    taken: usize,
}

/// A message that nobody of ours writes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Inbox {
    /// Takes in what was read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether everything was taken.
    pub(super) fn is_empty(&self) -> bool {
        self.taken == self.bytes.len()
    }

    /// The next whole message, if it is there.
    pub(super) fn next<M: Message>(&mut self) -> Result<Option<M>, Malformed> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let Some(header) = rest.first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_le_bytes(*header) as usize;
        if length > MAX_FRAME {
            return Err(Malformed);
        }
        let Some(body) = rest.get(HEADER..HEADER + length) else { return Ok(None) };
        let message = M::read(&mut Fields(body)).ok_or(Malformed)?;
        self.taken += HEADER + length;
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        Ok(Some(message))
    }
}

/// Something that can be sent.
pub(super) trait Message: Sized {
    /// Reads a message; absent where it is none.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Writes the tag and the fields.
    fn write(&self, frame: &mut Frame);

    /// The message as a frame.
    fn frame(&self) -> Vec<u8> {
        let mut frame = Frame::open();
        self.write(&mut frame);
        frame.close()
    }
}

/// A frame that is being written.
pub(super) struct Frame(Vec<u8>);

impl Frame {
    fn open() -> Self {
        let mut bytes = Vec::with_capacity(USUAL);
        bytes.resize(HEADER, 0);
        Self(bytes)
    }

    /// How long it is by now.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The frame, written to the end.
    pub(super) fn close(self) -> Vec<u8> {
        let Self(mut bytes) = self;
        let length = u32::try_from(bytes.len() - HEADER).unwrap_or(u32::MAX);
        if let Some(header) = bytes.first_chunk_mut::<HEADER>() {
            *header = length.to_le_bytes();
        }
        bytes
    }

    fn tag(&mut self, tag: u8) -> &mut Self {
        self.0.push(tag);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// A text that is JSON, written where it is sent from. Its length is known when it is there.
    fn json(&mut self, value: &impl Serialize) -> serde_json::Result<&mut Self> {
        let before = self.number(0).0.len();
        serde_json::to_writer(&mut self.0, value)?;
        let length = (self.0.len() - before) as u64;
        let number = self.0.get_mut(..before).and_then(<[u8]>::last_chunk_mut);
        if let Some(number) = number {
            *number = length.to_le_bytes();
        }
        Ok(self)
    }
}

/// The rest of a message that is being read.
pub(super) struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn tag(&mut self) -> Option<u8> {
        let (tag, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*tag)
    }

    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(std::str::from_utf8(text).ok()?.to_owned())
    }
}

/// What a child is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToChild {
    /// Run a handler.
    Call(Call),
    /// What came of something that the handler asked for.
    Answer {
        /// Which.
        id: u64,
        /// Whether it went well.
        ok: bool,
        /// The answer or the error, as JSON.
        json: String,
    },
}

/// One run of one handler.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    /// The source's digest in hexadecimal: what the child remembers it by.
    pub(super) digest: String,
    /// The arguments, as JSON.
    pub(super) arguments: String,
    /// What the handler may know, as JSON.
    pub(super) context: String,
    /// The capabilities by their names in `context`, as JSON.
    pub(super) capabilities: String,
    /// What is random follows from it.
    pub(super) seed: u64,
    /// How long it may run, in milliseconds.
    pub(super) budget_ms: u64,
    /// The longest answer.
    pub(super) answer_bytes: u64,
    /// How often it may ask for something.
    pub(super) asks: u64,
    /// How much all of that may carry.
    pub(super) ask_bytes: u64,
    /// The source; empty where the child has it.
    pub(super) source: String,
}

/// The same, as it is sent.
pub(super) struct Sent<'a, C> {
    pub(super) digest: &'a str,
    pub(super) arguments: &'a Value,
    pub(super) context: &'a C,
    pub(super) capabilities: &'a [&'a str],
    pub(super) seed: u64,
    pub(super) budget_ms: u64,
    pub(super) answer_bytes: u64,
    pub(super) asks: u64,
    pub(super) ask_bytes: u64,
}

impl<C: Serialize> Sent<'_, C> {
    /// All but the source, which comes last.
    pub(super) fn frame(&self) -> serde_json::Result<Frame> {
        let mut frame = Frame::open();
        frame
            .tag(0)
            .text(self.digest)
            .json(self.arguments)?
            .json(self.context)?
            .json(&self.capabilities)?
            .number(self.seed)
            .number(self.budget_ms)
            .number(self.answer_bytes)
            .number(self.asks)
            .number(self.ask_bytes);
        Ok(frame)
    }
}

/// What a child says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FromChild {
    /// It can take a call. The text of the first says how it is confined, as JSON.
    Ready(String),
    /// The handler asks for something.
    Ask {
        /// Which.
        id: u64,
        /// The capability by its name in `context`.
        capability: String,
        /// The method, or the tool for `callTool`.
        method: String,
        /// Its arguments, as JSON.
        json: String,
    },
    /// The handler has ended.
    Done {
        /// How.
        end: End,
        /// The answer or the error, as JSON.
        json: String,
        /// Whether the child can take the next call at once; otherwise it says when.
        ready: bool,
    },
}

macro_rules! ends {
    ($($(#[$doc:meta])* $end:ident = $number:literal),* $(,)?) => {
        /// How a handler ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum End {
            $($(#[$doc])* $end,)*
        }

        impl End {
            fn number(self) -> u64 {
                match self {
                    $(Self::$end => $number,)*
                }
            }

            fn of(number: u64) -> Option<Self> {
                match number {
                    $($number => Some(Self::$end),)*
                    _ => None,
                }
            }
        }
    };
}

ends! {
    /// It returned something; the text is empty for nothing.
    Returned = 0,
    /// It threw a `ToolError`.
    Failed = 1,
    /// It threw something else.
    Thrown = 2,
    /// It returned something that is not JSON.
    Unwritable = 3,
    /// Its answer is longer than allowed; the text is the length.
    TooLong = 4,
    /// It was stopped at its deadline.
    TimedOut = 5,
    /// It ran out of memory.
    OutOfMemory = 6,
    /// It waits for something that never comes.
    Stuck = 7,
    /// It was not begun: the module has no `execute`, does not compile or threw while loading.
    NotBegun = 8,
}

impl Message for ToChild {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        match fields.tag()? {
            0 => Some(Self::Call(Call {
                digest: fields.text()?,
                arguments: fields.text()?,
                context: fields.text()?,
                capabilities: fields.text()?,
                seed: fields.number()?,
                budget_ms: fields.number()?,
                answer_bytes: fields.number()?,
                asks: fields.number()?,
                ask_bytes: fields.number()?,
                source: fields.text()?,
            })),
            1 => Some(Self::Answer {
                id: fields.number()?,
                ok: fields.number()? == 1,
                json: fields.text()?,
            }),
            _ => None,
        }
    }

    fn write(&self, frame: &mut Frame) {
        match self {
            Self::Call(call) => frame
                .tag(0)
                .text(&call.digest)
                .text(&call.arguments)
                .text(&call.context)
                .text(&call.capabilities)
                .number(call.seed)
                .number(call.budget_ms)
                .number(call.answer_bytes)
                .number(call.asks)
                .number(call.ask_bytes)
                .text(&call.source),
            Self::Answer { id, ok, json } => {
                frame.tag(1).number(*id).number(u64::from(*ok)).text(json)
            }
        };
    }
}

impl Message for FromChild {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        match fields.tag()? {
            0 => Some(Self::Ready(fields.text()?)),
            1 => Some(Self::Ask {
                id: fields.number()?,
                capability: fields.text()?,
                method: fields.text()?,
                json: fields.text()?,
            }),
            2 => Some(Self::Done {
                end: End::of(fields.number()?)?,
                json: fields.text()?,
                ready: fields.number()? == 1,
            }),
            _ => None,
        }
    }

    fn write(&self, frame: &mut Frame) {
        match self {
            Self::Ready(isolation) => frame.tag(0).text(isolation),
            Self::Ask { id, capability, method, json } => {
                frame.tag(1).number(*id).text(capability).text(method).text(json)
            }
            Self::Done { end, json, ready } => {
                frame.tag(2).number(end.number()).text(json).number(u64::from(*ready))
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<FromChild> {
        vec![
            FromChild::Ready("{}".into()),
            FromChild::Ask {
                id: 7,
                capability: "kb".into(),
                method: "search".into(),
                json: "{\"é\":1}".into(),
            },
            FromChild::Done { end: End::Stuck, json: String::new(), ready: true },
        ]
    }

    #[test]
    fn messages_arrive_whole_however_they_are_cut() {
        let bytes: Vec<u8> = messages().iter().flat_map(Message::frame).collect();
        for size in 1..bytes.len() {
            let mut inbox = Inbox::default();
            let mut read = Vec::new();
            for part in bytes.chunks(size) {
                inbox.push(part);
                while let Some(message) = inbox.next::<FromChild>().unwrap() {
                    read.push(message);
                }
            }
            assert_eq!(read, messages(), "in parts of {size}");
        }
    }

    #[test]
    fn a_call_comes_back_as_it_was() {
        let call = ToChild::Call(Call {
            digest: "d".into(),
            source: "s".into(),
            arguments: "{}".into(),
            seed: u64::MAX,
            budget_ms: 5,
            ..Call::default()
        });
        let mut inbox = Inbox::default();
        inbox.push(&call.frame());
        assert_eq!(inbox.next::<ToChild>(), Ok(Some(call)));
    }

    #[test]
    fn a_call_arrives_as_it_was_sent() {
        let sent = Sent {
            digest: "d",
            arguments: &serde_json::json!({ "é": [1, null] }),
            context: &serde_json::json!({}),
            capabilities: &["kb", "callTool"],
            seed: 1,
            budget_ms: 2,
            answer_bytes: 3,
            asks: 4,
            ask_bytes: 5,
        };
        let mut frame = sent.frame().unwrap();
        frame.text("s");
        let mut inbox = Inbox::default();
        inbox.push(&frame.close());
        let call = Call {
            digest: "d".into(),
            arguments: "{\"é\":[1,null]}".into(),
            context: "{}".into(),
            capabilities: "[\"kb\",\"callTool\"]".into(),
            seed: 1,
            budget_ms: 2,
            answer_bytes: 3,
            asks: 4,
            ask_bytes: 5,
            source: "s".into(),
        };
        assert_eq!(inbox.next(), Ok(Some(ToChild::Call(call))));
    }

    #[test]
    fn what_nobody_of_ours_writes_is_refused() {
        for bytes in [
            &[255, 255, 255, 255][..],                  // a length beyond every limit
            &[1, 0, 0, 0, 9],                           // an unknown tag
            &[0, 0, 0, 0],                              // no tag
            &[2, 0, 0, 0, 0, 5],                        // a text without its length
            &[9, 0, 0, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0], // a text longer than the frame
        ] {
            let mut inbox = Inbox::default();
            inbox.push(bytes);
            assert_eq!(inbox.next::<FromChild>(), Err(Malformed), "{bytes:?}");
        }
    }
}
