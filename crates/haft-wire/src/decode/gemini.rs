//! Gemini `generateContent`: events, the JSON array, whole responses, and a model's content alone.
//!
//! There is no event that ends a stream: the bytes end after the reason was given.

pub(super) mod call;
mod parts;
mod path;
pub(super) mod wire;

use serde_json::Value;
use serde_json::value::RawValue;

use self::parts::Parts;
use self::wire::{Candidate, Content, Response};
use super::notes::{Notes, Pen, Verdict, standing};
use super::{Ended, Provider, fault, json};
use crate::raw::RawJson;
use crate::said::{Fault, Finish, Usage};

/// What is known of one stream.
#[derive(Default)]
pub(super) struct Gemini {
    candidates: Vec<Alternative>,
    /// Why the question itself was not let through.
    blocked: Option<String>,
}

#[derive(Default)]
struct Alternative {
    index: u32,
    parts: Parts,
    finish: Option<String>,
    message: Option<String>,
    /// Content that was handed over whole, without a reason.
    handed: bool,
}

impl Provider for Gemini {
    fn event(&mut self, _: &[u8], data: &str, pen: &mut Pen<'_>) -> Result<Option<Ended>, Fault> {
        if data.trim_ascii() == "[DONE]" {
            // Not Google's, but said by proxies.
            return Ok(None);
        }
        let response: Response<'_> = json(data)?;
        if let Some(error) = response.error {
            return Err(super::fault::from_object(&json(error.get())?));
        }
        usage(response.usage, pen.notes);
        if let Some(reason) = response.feedback.and_then(|feedback| feedback.reason) {
            pen.notes.hold(reason.len())?;
            self.blocked = Some(reason.into_owned());
        }
        if let Some(parts) = response.parts {
            let whole = Content { parts: Some(parts) };
            let alternative = self.alternative(0, pen.notes)?;
            alternative.parts.read(0, whole, pen)?;
            alternative.handed = true;
        }
        // One without an index is the one that stands in its place.
        for (place, candidate) in (0..).zip(response.candidates.unwrap_or_default()) {
            self.alternative(candidate.index.unwrap_or(place), pen.notes)?.read(candidate, pen)?;
        }
        Ok(None)
    }

    fn eof(&mut self) -> Option<Ended> {
        let first = self.candidates.iter().min_by_key(|candidate| candidate.index);
        match (first.and_then(Alternative::ended), &self.blocked) {
            (Some(ended), _) => Some(ended),
            (None, Some(reason)) => {
                let message = "the provider blocked the request".to_owned();
                let mut ended = Ended::new(Finish::Filtered, Some(reason));
                ended.fault = Some(Fault { code: Some(reason.clone()), message });
                Some(ended)
            }
            (None, None) => None,
        }
    }

    fn settle(&mut self, verdict: Verdict, pen: &mut Pen<'_>) -> Vec<RawJson> {
        self.candidates.sort_by_key(|candidate| candidate.index);
        let mut replay = Vec::new();
        for (place, candidate) in std::mem::take(&mut self.candidates).into_iter().enumerate() {
            let verdict = candidate.verdict(verdict);
            let parts = candidate.parts.settle(candidate.index, verdict, pen);
            if place == 0 && !parts.is_empty() {
                replay.extend(content(&parts));
            }
        }
        replay
    }
}

impl Gemini {
    fn alternative(&mut self, index: u32, notes: &mut Notes) -> Result<&mut Alternative, Fault> {
        let at = match self.candidates.iter().position(|candidate| candidate.index == index) {
            Some(at) => at,
            None => {
                notes.part()?;
                self.candidates.push(Alternative { index, ..Alternative::default() });
                self.candidates.len() - 1
            }
        };
        self.candidates.get_mut(at).ok_or_else(|| fault("bug", "an alternative was lost"))
    }
}

impl Alternative {
    fn read(&mut self, candidate: Candidate<'_>, pen: &mut Pen<'_>) -> Result<(), Fault> {
        if let Some(content) = candidate.content {
            self.parts.read(self.index, content, pen)?;
        }
        if let Some(word) = candidate.finish_reason
            && word != "FINISH_REASON_UNSPECIFIED"
        {
            pen.notes.hold(word.len())?;
            self.finish = Some(standing(self.finish.take(), word.into_owned(), finish_of));
        }
        if let Some(message) = candidate.finish_message {
            pen.notes.hold(message.len())?;
            self.message = Some(message.into_owned());
        }
        Ok(())
    }

    fn ended(&self) -> Option<Ended> {
        let Some(word) = self.finish.as_deref() else {
            return self.handed.then(|| Ended::new(Finish::Stop, None));
        };
        let mut ended = Ended::new(finish_of(word), Some(word));
        if ended.finish == Finish::Failed {
            let message = self.message.clone();
            ended.fault = Some(Fault {
                code: Some(word.to_owned()),
                message: message.unwrap_or_else(|| "the model's output could not be used".into()),
            });
        }
        Some(ended)
    }

    fn verdict(&self, all: Verdict) -> Verdict {
        match (all, self.finish.as_deref()) {
            (Verdict::No(_), _) => all,
            (Verdict::Whole, Some(word)) => {
                let finish = finish_of(word);
                Verdict::of(&finish, None).if_known(&finish)
            }
            (Verdict::Whole, None) if self.handed => all,
            (Verdict::Whole, None) => Verdict::of(&Finish::Cut, None),
        }
    }
}

fn finish_of(word: &str) -> Finish {
    match word {
        "STOP" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => Finish::Filtered,
        // The model wrote something that was to be a call and is none.
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MALFORMED_RESPONSE"
        | "MISSING_THOUGHT_SIGNATURE"
        | "NO_IMAGE"
        | "IMAGE_OTHER"
        | "OTHER" => Finish::Failed,
        other => Finish::Other(other.to_owned()),
    }
}

fn content(parts: &[RawJson]) -> Option<RawJson> {
    #[derive(serde::Serialize)]
    struct Model<'a> {
        role: &'static str,
        parts: &'a [RawJson],
    }
    RawJson::of(&Model { role: "model", parts })
}

/// What thinking cost was written too.
pub(super) fn usage(usage: Option<&RawValue>, notes: &mut Notes) {
    let Some(usage) = usage.and_then(|usage| serde_json::from_str::<Value>(usage.get()).ok())
    else {
        return;
    };
    let count = |names: [&str; 2]| {
        names.into_iter().find_map(|name| usage.get(name).and_then(Value::as_u64))
    };
    let input = count(["promptTokenCount", "prompt_token_count"]);
    let written = count(["candidatesTokenCount", "candidates_token_count"])
        .or_else(|| count(["responseTokenCount", "response_token_count"]));
    let thoughts = count(["thoughtsTokenCount", "thoughts_token_count"]).unwrap_or(0);
    let before = notes.usage.unwrap_or_default();
    notes.usage = Some(Usage {
        input: input.unwrap_or(before.input),
        output: written.map_or(before.output, |written| written.saturating_add(thoughts)),
    });
}
