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

    /// The name to look among the offered tools for. None where the call is for a group: tools are
    /// offered in none, so the same name there is another tool.
    #[must_use]
    pub fn offered_name(&self) -> Option<&str> {
        self.namespace.is_none().then_some(self.name.as_str())
    }

    /// The name with its group, for people and errors.
    #[must_use]
    pub fn full_name(&self) -> Cow<'_, str> {
        match &self.namespace {
            Some(group) => Cow::Owned(format!("{group}.{}", self.name)),
            None => Cow::Borrowed(&self.name),
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
    /// It is for a tool that takes free text, and none such was offered.
    FreeText,
    /// Nothing says which tool it is for.
    Unnamed,
    /// It is larger than the decoder may hold.
    TooLarge,
    /// The pieces contradict one another.
    Contradiction,
    /// The message that it belongs to holds more calls than the decoder may keep.
    TooMany,
    /// An earlier call of the same message has its id and asks for something else.
    SameId,
}

impl Broken {
    /// Whether it was to be a call of a function that has a name, as others are.
    #[must_use]
    pub fn names_a_function(self) -> bool {
        match self {
            Self::Cut
            | Self::NotJson
            | Self::NotObject
            | Self::Withheld
            | Self::TooLarge
            | Self::Contradiction
            | Self::SameId => true,
            Self::FreeText | Self::Unnamed | Self::TooMany => false,
        }
    }
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

impl Turn {
    /// An answer of which nothing came but its end.
    #[must_use]
    pub fn of(end: End) -> Self {
        Self {
            text: String::new(),
            reasoning: String::new(),
            refusal: String::new(),
            calls: Vec::new(),
            broken: Vec::new(),
            cancelled: Vec::new(),
            end,
            replay: Vec::new(),
        }
    }

    /// The calls to be run, in order: of the first alternative, which is the one that is answered,
    /// and not taken back.
    pub fn calls_to_run(&self) -> impl Iterator<Item = &WireCall> {
        let taken_back =
            |call: &WireCall| call.id.as_ref().is_some_and(|id| self.cancelled.contains(id));
        self.calls.iter().filter(move |call| call.choice == 0 && !taken_back(call))
    }

    /// What is no call and yet waits for an answer, which says what was wrong with it.
    pub fn broken_to_answer(&self) -> impl Iterator<Item = &BrokenCall> {
        self.broken.iter().filter(|one| one.replayed && one.call.choice == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, choice: u32, namespace: Option<&str>) -> WireCall {
        WireCall {
            id: (!id.is_empty()).then(|| id.to_owned()),
            name: "find".into(),
            namespace: namespace.map(str::to_owned),
            arguments: "{}".into(),
            choice,
            position: 0,
        }
    }

    #[test]
    fn other_alternatives_and_what_was_taken_back_are_not_run() {
        let broken = |id, choice, replayed| BrokenCall {
            call: call(id, choice, None),
            why: Broken::NotJson,
            replayed,
        };
        let turn = Turn {
            text: String::new(),
            reasoning: String::new(),
            refusal: String::new(),
            calls: vec![
                call("a", 0, None),
                call("b", 1, None),
                call("c", 0, None),
                call("", 0, None),
            ],
            broken: vec![broken("d", 0, true), broken("e", 0, false), broken("f", 1, true)],
            cancelled: vec!["c".into()],
            end: End::of(Finish::Calls),
            replay: Vec::new(),
        };
        let run: Vec<_> = turn.calls_to_run().map(|call| call.id.as_deref()).collect();
        assert_eq!(run, [Some("a"), None]);
        let answered: Vec<_> = turn.broken_to_answer().map(|one| one.call.id.as_deref()).collect();
        assert_eq!(answered, [Some("d")]);
    }

    #[test]
    fn a_name_in_a_group_is_not_one_that_was_offered() {
        let (ours, foreign) = (call("a", 0, None), call("a", 0, Some("crm")));
        assert_eq!((ours.offered_name(), &*ours.full_name()), (Some("find"), "find"));
        assert_eq!((foreign.offered_name(), &*foreign.full_name()), (None, "crm.find"));
    }
}
