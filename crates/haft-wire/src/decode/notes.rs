//! What every decoder writes down, whatever its dialect.

use super::limits::Limits;
use super::text::Deltas;
use super::{TOO_LARGE, TOO_MANY, whole};
use crate::raw::RawJson;
use crate::said::{Broken, BrokenCall, End, Fault, Finish, Said, Turn, Usage, WireCall};

/// What is known of a stream so far, in our words.
#[derive(Debug)]
pub(super) struct Notes {
    limits: Limits,
    held: usize,
    parts: usize,
    text: String,
    reasoning: String,
    refusal: String,
    /// By alternative; reasoning and refusals come from one at a time.
    text_deltas: Vec<(u32, Deltas)>,
    reasoning_deltas: Deltas,
    refusal_deltas: Deltas,
    calls: Vec<WireCall>,
    broken: Vec<BrokenCall>,
    cancelled: Vec<String>,
    pub(super) usage: Option<Usage>,
    pub(super) end: Option<End>,
    pub(super) replay: Vec<RawJson>,
}

/// What may become of calls, now that their message is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The provider said that the message is complete.
    Whole,
    /// It is not, and no call of it may be run.
    No(Broken),
}

impl Verdict {
    pub(super) fn of(finish: &Finish, fault: Option<&Fault>) -> Self {
        match finish {
            Finish::Stop | Finish::Calls | Finish::Paused | Finish::Other(_) => Self::Whole,
            Finish::Filtered | Finish::Refused => Self::No(Broken::Withheld),
            Finish::Length | Finish::Failed | Finish::Cut => {
                Self::No(match fault.and_then(|fault| fault.code.as_deref()) {
                    Some(TOO_LARGE) => Broken::TooLarge,
                    Some(TOO_MANY) => Broken::TooMany,
                    Some(_) | None => Broken::Cut,
                })
            }
        }
    }

    /// The same where a provider writes its words itself: one that we don't know may be the word
    /// of a filter that is new. Those who imitate OpenAI end whole messages with words of their own.
    pub(super) fn if_known(self, finish: &Finish) -> Self {
        match (self, finish) {
            (Self::Whole, Finish::Other(_)) => Self::No(Broken::Withheld),
            (
                Self::Whole | Self::No(_),
                Finish::Stop
                | Finish::Calls
                | Finish::Length
                | Finish::Filtered
                | Finish::Refused
                | Finish::Paused
                | Finish::Failed
                | Finish::Cut
                | Finish::Other(_),
            ) => self,
        }
    }
}

/// The word that stands when a provider gives one reason after another: one that forbids the calls
/// is not taken back by a kinder one.
pub(super) fn standing(
    before: Option<String>,
    now: String,
    finish_of: impl Fn(&str) -> Finish,
) -> String {
    before.filter(|word| Verdict::of(&finish_of(word), None) != Verdict::Whole).unwrap_or(now)
}

/// What the next request says of a call.
#[derive(Debug)]
pub(super) struct Repeat {
    /// The call's id, or the one that it is answered under.
    pub(super) id: String,
    /// The arguments as providers take them.
    pub(super) arguments: String,
}

/// A call before it is judged; its position is given then.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) arguments: String,
    pub(super) choice: u32,
    /// What is known to be wrong with it beside its text.
    pub(super) flaw: Option<Broken>,
}

impl Notes {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            held: 0,
            parts: 0,
            text: String::new(),
            reasoning: String::new(),
            refusal: String::new(),
            text_deltas: Vec::new(),
            reasoning_deltas: Deltas::default(),
            refusal_deltas: Deltas::default(),
            calls: Vec::new(),
            broken: Vec::new(),
            cancelled: Vec::new(),
            usage: None,
            end: None,
            replay: Vec::new(),
        }
    }

    /// Counts bytes that the decoder is about to keep.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Fault> {
        self.held = self.held.saturating_add(bytes);
        if self.held <= self.limits.stream { Ok(()) } else { Err(too_large("bytes of text")) }
    }

    /// Counts a block, item, part or alternative that the decoder is about to keep.
    pub(super) fn part(&mut self) -> Result<(), Fault> {
        self.parts += 1;
        if self.parts <= self.limits.parts { Ok(()) } else { Err(too_large("parts")) }
    }

    /// Refuses one more call than allowed.
    pub(super) fn calls_fit(&self, calls: usize) -> Result<(), Fault> {
        if calls <= self.limits.calls { Ok(()) } else { Err(too_many()) }
    }

    pub(super) fn first_text(&self) -> &str {
        &self.text
    }

    pub(super) fn all_refusal(&self) -> &str {
        &self.refusal
    }

    pub(super) fn all_reasoning(&self) -> &str {
        &self.reasoning
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty() || self.broken.iter().any(|broken| broken.replayed)
    }

    pub(super) fn into_turn(self, end: End) -> Turn {
        Turn {
            text: self.text,
            reasoning: self.reasoning,
            refusal: self.refusal,
            calls: self.calls,
            broken: self.broken,
            cancelled: self.cancelled,
            end,
            replay: self.replay,
        }
    }
}

/// Writes into the notes and says the same to whoever listens.
pub(super) struct Pen<'a> {
    pub(super) notes: &'a mut Notes,
    pub(super) out: &'a mut Vec<Said>,
}

impl Pen<'_> {
    pub(super) fn text(&mut self, choice: u32, piece: &[u8]) -> Result<(), Fault> {
        let deltas = &mut self.notes.text_deltas;
        let found = deltas.iter().position(|(of, _)| *of == choice).unwrap_or_else(|| {
            deltas.push((choice, Deltas::default()));
            deltas.len() - 1
        });
        let Some((_, state)) = deltas.get_mut(found) else { return Ok(()) };
        let delta = state.next(piece);
        if choice == 0 {
            self.notes.hold(delta.len())?;
            self.notes.text.push_str(&delta);
        }
        if !delta.is_empty() {
            self.out.push(Said::Text { choice, delta });
        }
        Ok(())
    }

    pub(super) fn reasoning(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let delta = self.notes.reasoning_deltas.next(piece);
        self.notes.hold(delta.len())?;
        self.notes.reasoning.push_str(&delta);
        if !delta.is_empty() {
            self.out.push(Said::Reasoning { delta });
        }
        Ok(())
    }

    pub(super) fn refusal(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let delta = self.notes.refusal_deltas.next(piece);
        self.notes.hold(delta.len())?;
        self.notes.refusal.push_str(&delta);
        if !delta.is_empty() {
            self.out.push(Said::Refusal { delta });
        }
        Ok(())
    }

    /// Says whether a draft is a call, and returns what the next request repeats of it, if it does.
    pub(super) fn judge(&mut self, draft: Draft, verdict: Verdict) -> Option<Repeat> {
        let why = match verdict {
            Verdict::No(why) => Some(why),
            Verdict::Whole => draft.flaw.or_else(|| whole::flaw(&draft.name, &draft.arguments)),
        };
        // Nothing can be answered to what has no name, and no provider takes it back.
        let replayed = verdict == Verdict::Whole && !draft.name.trim().is_empty();
        let call = WireCall {
            id: draft.id.filter(|id| !id.is_empty()),
            name: draft.name,
            namespace: draft.namespace,
            arguments: draft.arguments,
            choice: draft.choice,
            position: self.position(draft.choice),
        };
        let repeat = replayed.then(|| Repeat {
            id: call.answer_id().into_owned(),
            arguments: whole::sendable(&call.arguments),
        });
        if let Some(why) = why {
            let broken = BrokenCall { call, why, replayed };
            self.notes.broken.push(broken.clone());
            self.out.push(Said::Broken(broken));
        } else {
            self.notes.calls.push(call.clone());
            self.out.push(Said::Call(call));
        }
        repeat
    }

    pub(super) fn cancelled(&mut self, ids: Vec<String>) -> Result<(), Fault> {
        self.notes.hold(ids.iter().map(String::len).sum())?;
        self.notes.cancelled.extend_from_slice(&ids);
        self.out.push(Said::Cancelled { ids });
        Ok(())
    }

    fn position(&self, choice: u32) -> u32 {
        let calls = self.notes.calls.iter().filter(|call| call.choice == choice).count();
        let broken = self.notes.broken.iter().filter(|it| it.call.choice == choice).count();
        u32::try_from(calls + broken).unwrap_or(u32::MAX)
    }
}

fn too_large(what: &str) -> Fault {
    Fault {
        code: Some(TOO_LARGE.to_owned()),
        message: format!("the stream holds more {what} than the decoder may keep"),
    }
}

fn too_many() -> Fault {
    Fault {
        code: Some(TOO_MANY.to_owned()),
        message: "the message holds more calls than the decoder may keep".to_owned(),
    }
}
