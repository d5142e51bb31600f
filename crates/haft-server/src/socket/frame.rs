//! What is said over a socket, in both directions.

use haft_core::digest::{canonical, raw_of};
use haft_core::outcome::Applied;
use haft_core::record::Event;
use haft_core::session::Session;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::calls::One;
use crate::api::sessions::SignalName;
use crate::problem::Problem;

use super::line::Cursor;

/// What a client asks. Each has an `id` of the client's own beside it, which the answer repeats.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Asked {
    /// Make a call.
    Call {
        call: Box<One>,
        /// Its arguments as they were written: see `RawArguments::from_text`.
        #[serde(skip)]
        arguments: Option<String>,
    },
    /// Make the calls of a provider's message, and answer in its words.
    Said {
        format: String,
        message: Value,
        #[serde(default)]
        strict: bool,
        #[serde(default)]
        connection: Option<String>,
        #[serde(default)]
        dry_run: bool,
    },
    /// The user has said something.
    Message { message: Value },
    /// The client has done something.
    Signal { signal: SignalName },
    /// A person has decided.
    Confirm { confirmation: String, approve: bool },
    /// End the session.
    Close,
}

/// What a frame says beside its id, to know it again.
pub(super) type Content = [u8; 32];

impl Asked {
    /// Whether it makes calls, which take their time.
    pub(super) fn calls(&self) -> bool {
        match self {
            Self::Call { .. } | Self::Said { .. } => true,
            Self::Message { .. } | Self::Signal { .. } | Self::Confirm { .. } | Self::Close => {
                false
            }
        }
    }

    /// Reads a frame: the client's id, and what it asks.
    pub(super) fn read(
        text: &str,
        most: usize,
    ) -> (Option<String>, Result<(Self, Content), Problem>) {
        let limits = haft_adm::strict::Limits::default().with_bytes(most);
        let (value, written) =
            match haft_adm::strict::parse_with(text, &["call", "arguments"], limits) {
                Ok(read) => read,
                Err(why) => return (None, Err(Problem::malformed(why.to_string()))),
            };
        let Value::Object(mut fields) = value else {
            return (None, Err(Problem::malformed("a frame is an object")));
        };
        let id = match fields.shift_remove("id") {
            Some(Value::String(id)) if !id.is_empty() && id.len() <= 128 => id,
            Some(_) | None => {
                let why = "a frame has an `id` of its own: a text of up to 128 bytes";
                return (None, Err(Problem::malformed(why)));
            }
        };
        let content = raw_of(canonical(&fields).as_bytes());
        let mut read = serde_json::from_value(Value::Object(fields)).map(|asked| (asked, content));
        if let Ok((Self::Call { arguments, .. }, _)) = &mut read {
            *arguments = written.map(str::to_owned);
        }
        (Some(id), read.map_err(|why| Problem::malformed(why.to_string())))
    }
}

/// What a client is told.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Told<'a> {
    /// The connection stands.
    Ready { session: &'a Session, resumed: bool },
    /// The answer to a frame.
    Answer { to: &'a str, result: Value },
    /// A frame that was not carried out.
    Error {
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<&'a str>,
        problem: &'a Problem,
    },
    /// Something happened in the session.
    Event { event: &'a Event },
    /// How far a call is that was asked for in the frame `of`.
    Progress {
        of: &'a str,
        #[serde(flatten)]
        note: &'a Value,
    },
    /// A line of such a call's log.
    Log {
        of: &'a str,
        #[serde(flatten)]
        note: &'a Value,
    },
    /// What the client is to do, and the session as it is now.
    Intents { intents: &'a [Applied], session: &'a Session },
    /// So many events were lost, because the client could not keep up.
    Lost { events: u64 },
    /// So many frames are no longer there to be sent again.
    Missed { frames: u64 },
}

/// A frame's text.
pub(super) fn text(told: &Told<'_>) -> String {
    serde_json::to_string(told).unwrap_or_else(|_| "{}".to_owned())
}

/// A frame's text with the place at which it stands on the line.
pub(super) fn placed(text: &str, cursor: &Cursor) -> String {
    match text.strip_suffix('}') {
        Some(open) => format!("{open},\"cursor\":\"{cursor}\"}}"),
        None => text.to_owned(),
    }
}
