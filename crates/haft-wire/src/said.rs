//! What a model said, in our words: text as it comes, calls when they are whole, one end.

use std::borrow::Cow;

use serde::Serialize;

pub use crate::raw::RawJson;

/// One thing that a stream said. After [`Said::End`] nothing follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "said", rename_all = "snake_case")]
pub enum Said {
    /// A piece of the answer.
    Text {
        /// Which of several alternatives.
        choice: u32,
        /// The piece.
        delta: String,
    },
    /// A piece of the model's reasoning, where the provider shows it.
    Reasoning {
        /// The piece.
        delta: String,
    },
    /// A piece of the model's refusal.
    Refusal {
        /// The piece.
        delta: String,
    },
    /// A whole call.
    Call(WireCall),
    /// Something that was to become a call and must not be run.
    Broken(BrokenCall),
    /// The provider takes back calls that it has made.
    Cancelled {
        /// Their ids.
        ids: Vec<String>,
    },
    /// The one end.
    End(End),
}

/// A call as the provider made it: its name for the tool, its own id, the arguments' exact text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WireCall {
    /// The provider's id; absent where it gives none, and never made up here.
    pub id: Option<String>,
    /// The tool's name on the wire.
    pub name: String,
    /// The group that the name belongs to, where the provider has groups: the same name in another
    /// group is another tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// One JSON text, whole. Where a provider sends a value, its text; empty where it sent nothing.
    pub arguments: String,
    /// Which of several alternatives made it.
    pub choice: u32,
    /// The place among the calls of its alternative, from 0.
    pub position: u32,
}

impl WireCall {
    /// The id under which a call is answered in dialects that cannot do without: the provider's, or
    /// one made of the call's place where the provider gave none. [`Turn::replay`] has the same.
    #[must_use]
    pub fn answer_id(&self) -> Cow<'_, str> {
        match &self.id {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(format!("call_{}", self.position)),
        }
    }
}

/// What was to become a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenCall {
    /// What is known of it; the arguments are what came.
    #[serde(flatten)]
    pub call: WireCall,
    /// Why it must not be run.
    pub why: Broken,
    /// Whether [`Turn::replay`] repeats it: then the provider waits for an answer to it, which says
    /// what was wrong. Where the message as a whole failed or was cut, nobody waits.
    pub replayed: bool,
}

/// Why something is not a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// The stream ended, or the model ran out of room, before it was whole.
    Cut,
    /// Its arguments ended and are not JSON.
    NotJson,
    /// Its arguments are JSON and not an object.
    NotObject,
    /// The provider filtered or refused the message that it belongs to.
    Withheld,
    /// Nothing says which tool it is for.
    Unnamed,
    /// It is larger than the decoder may hold.
    TooLarge,
    /// The pieces contradict one another.
    Contradiction,
}

/// How a model's output ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct End {
    /// Why it stopped.
    pub finish: Finish,
    /// The provider's own word for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<String>,
    /// What it cost, where the provider says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What went wrong, where [`Finish::Failed`] or [`Finish::Cut`] says that something did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

impl End {
    /// An end of which nothing else is known.
    #[must_use]
    pub fn of(finish: Finish) -> Self {
        Self { finish, word: None, usage: None, fault: None }
    }
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Stop,
    /// It waits for the results of its calls. So it is whenever there are calls and nothing went
    /// wrong, also where the provider says `stop`.
    Calls,
    /// It ran out of room.
    Length,
    /// The provider withheld the rest.
    Filtered,
    /// It would not answer.
    Refused,
    /// It paused and wants to be asked again with what it has said.
    Paused,
    /// The provider reported an error.
    Failed,
    /// The connection ended before the provider said that it was done.
    Cut,
    /// A word that we don't know.
    Other(String),
}

/// What a provider reports as its error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The provider's word or number for it.
    pub code: Option<String>,
    /// In its words.
    pub message: String,
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// What was read.
    pub input: u64,
    /// What was written, reasoning included.
    pub output: u64,
}

/// A model's whole output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// The text of the first alternative.
    pub text: String,
    /// The model's reasoning, as far as the provider shows it.
    pub reasoning: String,
    /// What the model said in place of an answer.
    pub refusal: String,
    /// Every call that is whole, in order.
    pub calls: Vec<WireCall>,
    /// What must not be run, and why.
    pub broken: Vec<BrokenCall>,
    /// The ids of calls that the provider took back.
    pub cancelled: Vec<String>,
    /// How it ended.
    pub end: End,
    /// What the next request repeats, in the provider's own shape and untouched: signatures,
    /// encrypted reasoning, ids and the digits of numbers included. One message, or several items
    /// where the dialect has items. It can always be sent: what was cut is not in it, and what is
    /// no call though the message is whole stands there in a form that providers take
    /// ([`BrokenCall::replayed`]).
    pub replay: Vec<RawJson>,
}
