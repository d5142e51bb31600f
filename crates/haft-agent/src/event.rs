//! What is told while the loop runs, and how it ends.

use haft_core::port::Boxed;
use haft_core::{Digest, ErrorKind};
use haft_wire::Usage;
use serde::Serialize;
use serde_json::Value;

use crate::approve::{Decision, Question};
use crate::model::Retry;
use crate::theirs::Handed;

/// Something that happened. After [`Event::Done`] nothing follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A request goes to the model.
    ModelRequest {
        /// Which of this message's rounds, from 1.
        round: u32,
        /// Which attempt at it, from 1.
        attempt: u32,
        /// Over the system prompt.
        prompt: Digest,
        /// Over the whole request as it is sent.
        request: Digest,
        /// How many tools are shown.
        tools: usize,
    },
    /// A piece of the answer.
    Text {
        /// The piece.
        delta: String,
    },
    /// A piece of the model's reasoning, where the provider shows it. After an [`Event::Retry`] it
    /// begins anew.
    Reasoning {
        /// The piece.
        delta: String,
    },
    /// A piece of the model's refusal.
    Refusal {
        /// The piece.
        delta: String,
    },
    /// The model did not answer and is asked again. No word of its answer was shown, though some of
    /// its reasoning may have been.
    Retry {
        /// Which round.
        round: u32,
        /// How long from now, in milliseconds.
        after_ms: u64,
        /// Why, for people.
        why: String,
    },
    /// The model's answer is whole.
    ModelAnswer {
        /// Which round.
        round: u32,
        /// What it cost, where the provider says.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Why the model stopped.
        finish: String,
        /// How many calls it made.
        calls: usize,
    },
    /// A call begins.
    ToolCallStart {
        /// The call: the provider's id, or one made here where it gave none or gave it twice.
        id: String,
        /// The tool's canonical id, or the name that the model used.
        tool: String,
        /// The arguments that its contract lets others see.
        arguments: Value,
    },
    /// A person is asked.
    ConfirmationRequested {
        /// The call.
        id: String,
        /// What is asked.
        question: Question,
    },
    /// A person has answered.
    ConfirmationDecided {
        /// The call.
        id: String,
        /// What they said.
        decision: Decision,
    },
    /// A call has ended; as many of these as of [`Event::ToolCallStart`], with the same ids.
    ToolCallResult {
        /// The call.
        id: String,
        /// The tool.
        tool: String,
        /// Whether it went well.
        ok: bool,
        /// How it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorKind>,
        /// That in words.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The part of the answer that its contract lets others see.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        /// Answered from the record.
        cached: bool,
        /// How long it took.
        duration_ms: f64,
        /// What it asked of the session, and what became of it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        intents: Vec<Value>,
    },
    /// A newer message of the user is taken up.
    Message {
        /// The message.
        text: String,
    },
    /// The one end.
    Done(Done),
}

/// How the loop ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Done {
    /// Why.
    #[serde(flatten)]
    pub reason: Reason,
    /// The text of the model's last answer.
    pub text: String,
    /// What it took.
    pub spent: Spent,
}

/// Why the loop ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Reason {
    /// The model has answered.
    Finished,
    /// The model ran out of room in mid-answer.
    Length,
    /// The model would not answer.
    Refused,
    /// The provider withheld the answer.
    Filtered,
    /// A limit was reached.
    Limit {
        /// Which.
        limit: Limit,
        /// How much it allows.
        most: u64,
    },
    /// The model calls tools of the client's own, which the client is to call.
    HandedBack {
        /// The calls.
        #[serde(skip)]
        calls: Vec<Handed>,
    },
    /// Somebody called it off.
    Cancelled,
    /// The model did not answer, or broke off after it had begun to.
    ModelFailed {
        /// Why, for people who may know where the model is: it names the host and repeats the provider.
        message: String,
        /// What came of it.
        #[serde(skip)]
        failing: Failing,
    },
    /// The session does not go on: it has ended, or its user is blocked.
    SessionRefused {
        /// What the session said.
        kind: ErrorKind,
        /// In words.
        message: String,
    },
}

/// What it means that a model did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// No request could be made of the conversation. The words are our own.
    Unasked,
    /// The same conversation, sent again, may be answered.
    Passing,
    /// It would fail again.
    Lasting,
}

impl From<Retry> for Failing {
    fn from(retry: Retry) -> Self {
        match retry {
            Retry::Never => Self::Lasting,
            Retry::Soon | Retry::After(_) => Self::Passing,
        }
    }
}

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Requests to the model.
    Rounds,
    /// Calls.
    Calls,
    /// Tokens, in and out.
    Tokens,
    /// Seconds.
    Time,
}

/// What one message took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Answers of the model.
    pub rounds: u32,
    /// Calls that were made.
    pub calls: u32,
    /// Tokens that were read.
    pub input_tokens: u64,
    /// Tokens that were written.
    pub output_tokens: u64,
}

impl Spent {
    pub(crate) fn add(&mut self, usage: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(usage.input);
        self.output_tokens = self.output_tokens.saturating_add(usage.output);
    }

    /// All tokens.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Whoever is told. The loop waits until an event was taken: who cannot keep up slows the model, and
/// nothing piles up.
pub trait Listen: Send {
    /// Takes one event.
    fn hear<'a>(&'a mut self, event: Event) -> Boxed<'a, ()>;
}

impl<F: FnMut(Event) + Send> Listen for F {
    fn hear<'a>(&'a mut self, event: Event) -> Boxed<'a, ()> {
        self(event);
        Box::pin(std::future::ready(()))
    }
}
