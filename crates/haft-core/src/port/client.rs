//! Whoever made a call, while it runs: told how far it is, and asked.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Boxed;
use crate::error::ToolError;

/// The other end of a call. A door that can speak to it gives one with the call.
pub trait Client: Send + Sync {
    /// What it can be asked.
    fn can(&self) -> Can;

    /// Says something that needs no answer. What cannot be delivered is dropped.
    fn tell<'a>(&'a self, note: Note) -> Boxed<'a, ()>;

    /// Asks, all at once. Answers come under the questions' names, which must be the same whenever
    /// the handler is run again: a door that cannot wait lets the call end here, and makes it again
    /// with the answers. So a handler asks before it does anything.
    fn ask<'a>(&'a self, questions: Vec<Asked>)
    -> Boxed<'a, Result<Map<String, Value>, ToolError>>;
}

impl fmt::Debug for dyn Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

/// What a client can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Can {
    /// Its user.
    pub elicit: bool,
    /// Its model.
    pub sample: bool,
    /// Which folders it works in.
    pub roots: bool,
}

/// A question and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Under which name the answer comes.
    pub name: String,
    /// What is asked.
    pub question: Question,
}

/// What a client is asked.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// Its user. The answer has `action` (`accept`, `decline`, `cancel`) and `content`.
    Elicit {
        /// What the user reads.
        message: String,
        /// JSON Schema of what they fill in: an object of plain fields.
        schema: Value,
    },
    /// Its model: a request as `sampling/createMessage` of MCP has it.
    Sample(Map<String, Value>),
    /// The folders that it works in. The answer has `roots`.
    Roots {},
}

impl Question {
    /// Whether a client can be asked this.
    #[must_use]
    pub fn fits(&self, can: Can) -> bool {
        match self {
            Self::Elicit { .. } => can.elicit,
            Self::Sample(_) => can.sample,
            Self::Roots {} => can.roots,
        }
    }
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// How far the call is.
    Progress(Progress),
    /// Something worth writing down.
    Log(Log),
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// So far; each time more.
    pub progress: f64,
    /// In all.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// How grave.
    #[serde(default)]
    pub level: Level,
    /// What.
    pub data: Value,
    /// Which part says it.
    pub logger: Option<String>,
}

/// How grave a line is, as syslog has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words are those of RFC 5424")]
pub enum Level {
    Debug,
    #[default]
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}
