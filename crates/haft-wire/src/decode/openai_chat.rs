//! OpenAI Chat Completions: chunks, whole completions, and an assistant's message alone.

mod calls;
mod head;
mod replay;
mod wire;

use serde_json::value::RawValue;

use self::calls::{Calls, Kind};
use self::head::Head;
use self::replay::Repeated;
use self::wire::{Chunk, Content, Delta};
use super::notes::{Draft, Notes, Pen, Verdict, standing};
use super::{Ended, Provider, fault, json};
use crate::raw::RawJson;
use crate::said::{Broken, Fault, Finish, Usage};

/// What is known of one stream.
#[derive(Default)]
pub(super) struct Chat {
    choices: Vec<Choice>,
    head: Head,
}

#[derive(Default)]
struct Choice {
    index: u32,
    calls: Calls,
    finish: Option<Ending>,
    /// Under which name the reasoning came: that is where it is repeated.
    reasoning: Option<&'static str>,
    details: Vec<RawJson>,
}

enum Ending {
    /// The provider's word.
    Said(String),
    /// A message that was handed over whole needs none.
    Handed,
}

impl Provider for Chat {
    fn event(
        &mut self,
        name: &[u8],
        data: &str,
        pen: &mut Pen<'_>,
    ) -> Result<Option<Ended>, Fault> {
        if data.trim_ascii() == "[DONE]" {
            return Ok(Some(self.ended().unwrap_or_else(|| Ended::new(Finish::Cut, None))));
        }
        let mut head = std::mem::take(&mut self.head);
        // What is wrong is said of the whole.
        let chunk = serde_json::from_str(head.cut(data)).or_else(|_| json(data));
        let read = chunk.and_then(|chunk| self.read(name, data, &chunk, pen));
        self.head = head;
        read.map(|()| None)
    }

    fn eof(&mut self) -> Option<Ended> {
        self.ended()
    }

    fn settle(&mut self, verdict: Verdict, pen: &mut Pen<'_>) -> Vec<RawJson> {
        self.choices.sort_by_key(|choice| choice.index);
        let mut replay = Vec::new();
        for (place, choice) in self.choices.iter_mut().enumerate() {
            let verdict = choice.verdict(verdict);
            let repeated = choice.settle(verdict, pen);
            if place == 0 {
                let (name, details) = (choice.reasoning, &choice.details);
                replay.extend(replay::message(&repeated, name, details, pen.notes));
            }
        }
        replay
    }
}

/// Whether a message's calls come one by one or piece by piece.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pieces {
    Deltas,
    Whole,
}

impl Chat {
    fn read(
        &mut self,
        name: &[u8],
        data: &str,
        chunk: &Chunk<'_>,
        pen: &mut Pen<'_>,
    ) -> Result<(), Fault> {
        if let Some(fault) = reported(name, data, chunk) {
            return Err(fault);
        }
        if let Some(usage) = chunk.usage {
            pen.notes.usage = usage_of(usage.get()).or(pen.notes.usage);
        }
        if chunk.is_message() {
            let message: Delta<'_> = json(data)?;
            let choice = self.choice(0, pen.notes)?;
            choice.read(&message, Pieces::Whole, pen)?;
            choice.finish = Some(Ending::Handed);
        }
        // One without an index is the one that stands in its place.
        for (place, part) in (0..).zip(chunk.choices.iter().flatten()) {
            let choice = self.choice(part.index.unwrap_or(place), pen.notes)?;
            if let Some(delta) = &part.delta {
                choice.read(delta, Pieces::Deltas, pen)?;
            }
            if let Some(message) = part.message {
                choice.read(&json(message.get())?, Pieces::Whole, pen)?;
            }
            if let Some(word) = part.finish_reason.as_deref().filter(|word| !word.is_empty()) {
                pen.notes.hold(word.len())?;
                let before = match choice.finish.take() {
                    Some(Ending::Said(word)) => Some(word),
                    Some(Ending::Handed) | None => None,
                };
                let word = standing(before, word.to_owned(), finish_of);
                choice.finish = Some(Ending::Said(word));
            }
        }
        Ok(())
    }

    fn choice(&mut self, index: u32, notes: &mut Notes) -> Result<&mut Choice, Fault> {
        let found = self.choices.iter().position(|choice| choice.index == index);
        let at = match found {
            Some(at) => at,
            None => {
                notes.part()?;
                self.choices.push(Choice { index, ..Choice::default() });
                self.choices.len() - 1
            }
        };
        self.choices.get_mut(at).ok_or_else(|| fault("bug", "an alternative was lost"))
    }

    /// The first alternative speaks for all of them.
    fn ended(&self) -> Option<Ended> {
        let first = self.choices.iter().min_by_key(|choice| choice.index)?;
        Some(match first.finish.as_ref()? {
            Ending::Said(word) => {
                let mut ended = Ended::new(finish_of(word), Some(word));
                let unread = unread(word);
                ended.fault =
                    unread.map(|code| fault(&code, "the model's output could not be used"));
                ended
            }
            Ending::Handed => Ended::new(Finish::Stop, None),
        })
    }
}

impl Choice {
    fn read(&mut self, delta: &Delta<'_>, pieces: Pieces, pen: &mut Pen<'_>) -> Result<(), Fault> {
        match &delta.content {
            Some(Content::Text(piece)) => pen.text(self.index, &piece.0)?,
            Some(Content::Parts(parts)) => {
                for part in parts {
                    if let Some(text) = &part.text {
                        pen.text(self.index, &text.0)?;
                    }
                    for thought in part.thinking.iter().flatten() {
                        if let Some(text) = &thought.text {
                            pen.reasoning(&text.0)?;
                        }
                    }
                }
            }
            None => {}
        }
        if let Some(piece) = &delta.refusal {
            pen.refusal(&piece.0)?;
        }
        for (name, piece) in
            [("reasoning_content", &delta.reasoning_content), ("reasoning", &delta.reasoning)]
        {
            let Some(piece) = piece else { continue };
            // Some send the same reasoning under both names.
            if *self.reasoning.get_or_insert(name) == name {
                pen.reasoning(&piece.0)?;
            }
        }
        let details = delta.reasoning_details.map(|list| json::<Vec<&RawValue>>(list.get()));
        for detail in details.transpose()?.unwrap_or_default() {
            pen.notes.part()?;
            pen.notes.hold(detail.get().len())?;
            self.details.extend(RawJson::new(detail.get().to_owned()));
        }
        if let Some(function) = delta.function_call {
            self.calls.legacy(&json(function.get())?, pen.notes)?;
        }
        self.calls.chunk();
        for call in delta.tool_calls.iter().flatten() {
            self.calls.read(call, pieces, pen.notes)?;
        }
        Ok(())
    }

    /// An alternative that was not finished is cut, whatever became of the others.
    fn verdict(&self, all: Verdict) -> Verdict {
        match (all, &self.finish) {
            (Verdict::No(_), _) => all,
            (Verdict::Whole, Some(Ending::Said(word))) => Verdict::of(&finish_of(word), None),
            (Verdict::Whole, Some(Ending::Handed)) => Verdict::Whole,
            (Verdict::Whole, None) => Verdict::of(&Finish::Cut, None),
        }
    }

    fn settle(&mut self, verdict: Verdict, pen: &mut Pen<'_>) -> Vec<Repeated> {
        let mut repeated = Vec::new();
        for slot in self.calls.take() {
            let (name, kind) = (slot.name.clone(), slot.kind);
            let arguments = slot.arguments.into_text();
            let is_custom = kind == Kind::Custom;
            let input = if is_custom { arguments.clone() } else { String::new() };
            let draft = Draft {
                id: Some(slot.id),
                name: slot.name,
                arguments,
                choice: self.index,
                // Also where the text looks like arguments: it is for another kind of tool.
                flaw: is_custom.then_some(Broken::FreeText),
                ..Draft::default()
            };
            if let Some(call) = pen.judge(draft, verdict) {
                repeated.push(Repeated { call, name, kind, input, extra: slot.extra });
            }
        }
        repeated
    }
}

fn finish_of(word: &str) -> Finish {
    match word {
        // The second halves of these are what providers that imitate OpenAI say.
        "stop" | "end_turn" | "eos" | "stop_sequence" | "COMPLETE" | "STOP" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" | "tool_call" | "TOOL_CALL" => Finish::Calls,
        "length" | "max_tokens" | "MAX_TOKENS" | "model_length" => Finish::Length,
        "content_filter" | "safety" | "SAFETY" | "sensitive" => Finish::Filtered,
        "refusal" => Finish::Refused,
        "error" | "network_error" | "insufficient_system_resource" | "ERROR" => Finish::Failed,
        "cancelled" | "abort" => Finish::Cut,
        // Google's OpenAI door says more: `content_filter: RECITATION`.
        other if other.starts_with("content_filter:") => Finish::Filtered,
        other if unread(other).is_some() => Finish::Failed,
        other => Finish::Other(other.to_owned()),
    }
}

/// Gemini's word for what was to be a call and is none, as its OpenAI door gives it
/// (`function_call_filter: MALFORMED_FUNCTION_CALL`) and as those do who stand before it.
fn unread(word: &str) -> Option<String> {
    let (_, word) = word.rsplit_once(": ").unwrap_or(("", word));
    let word = word.to_ascii_uppercase();
    let known = matches!(
        word.as_str(),
        "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE"
    );
    known.then_some(word)
}

fn reported(name: &[u8], data: &str, chunk: &Chunk<'_>) -> Option<Fault> {
    let named = name == b"error";
    if chunk.error.is_none() && !named && (chunk.choices.is_some() || chunk.is_message()) {
        return None;
    }
    let body = serde_json::from_str(data).ok()?;
    super::fault::from_body(&body).or_else(|| named.then(|| super::fault::from_object(&body)))
}

fn usage_of(text: &str) -> Option<Usage> {
    let usage: serde_json::Value = serde_json::from_str(text).ok()?;
    let count = |key: &str| usage.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
    Some(Usage { input: count("prompt_tokens"), output: count("completion_tokens") })
}
