//! Anthropic Messages: events, whole messages, and an assistant's message alone.

mod block;
mod wire;

use serde_json::Value;
use serde_json::value::RawValue;

use self::block::Block;
use self::wire::{Delta, Event, Whole};
use super::notes::{Notes, Pen, Verdict, standing};
use super::{Ended, Provider, fault, json};
use crate::raw::RawJson;
use crate::said::{Fault, Finish, Usage};

/// The events that say something. The SDKs go by the event's name and pass over all others, also
/// where the data says otherwise; without a name the data's type counts.
const NAMES: [&[u8]; 8] = [
    b"message_start",
    b"message_delta",
    b"message_stop",
    b"content_block_start",
    b"content_block_delta",
    b"content_block_stop",
    b"error",
    b"message",
];

/// What is known of one stream.
#[derive(Default)]
pub(super) struct Anthropic {
    blocks: Vec<Block>,
    calls: usize,
    stop: Option<String>,
    /// A message that was handed over whole.
    handed: bool,
}

impl Provider for Anthropic {
    fn event(
        &mut self,
        name: &[u8],
        data: &str,
        pen: &mut Pen<'_>,
    ) -> Result<Option<Ended>, Fault> {
        if !name.is_empty() && !NAMES.contains(&name) {
            return Ok(None);
        }
        if name == b"error" {
            return Err(reported(data));
        }
        let event: Event<'_> = json(data)?;
        match event.kind.as_deref() {
            Some("message_start") => self.start(event.message, pen)?,
            Some("content_block_start") => {
                if let Some(block) = event.content_block {
                    self.open(event.index.unwrap_or(0), block, pen)?;
                }
            }
            Some("content_block_delta") => {
                if let Some(delta) = event.delta {
                    self.delta(event.index.unwrap_or(0), delta, pen)?;
                }
            }
            Some("content_block_stop") => {
                self.block(event.index.unwrap_or(0))?.stopped = true;
            }
            Some("message_delta") => {
                usage(event.usage, pen.notes);
                if let Some(word) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.stop = Some(standing(self.stop.take(), word, finish_of));
                }
            }
            Some("message_stop") => return Ok(Some(self.ended(Finish::Cut))),
            Some("error") => return Err(reported(data)),
            // A whole message, or one that is handed over without its envelope.
            Some("message") => self.whole(json(data)?, pen)?,
            None if event.role.is_some() => {
                self.whole(json(data)?, pen)?;
                self.handed = true;
            }
            None if event.error.is_some() => return Err(reported(data)),
            // Pings, and what is still to be invented.
            Some(_) | None => {}
        }
        Ok(None)
    }

    fn eof(&mut self) -> Option<Ended> {
        let whole = self.handed || self.stop.is_some();
        let closed = self.blocks.iter().all(|block| block.stopped);
        (whole && closed).then(|| self.ended(Finish::Stop))
    }

    fn settle(&mut self, verdict: Verdict, pen: &mut Pen<'_>) -> Vec<RawJson> {
        let verdict = match self.stop.as_deref() {
            Some(word) => verdict.if_known(&finish_of(word)),
            None => verdict,
        };
        let last = self.blocks.len().saturating_sub(1);
        let mut content = Vec::new();
        for (place, block) in std::mem::take(&mut self.blocks).into_iter().enumerate() {
            // A tool that the provider runs itself, without its result: it takes that back only
            // where it paused.
            let waiting = place == last && block.is_server_tool() && verdict != Verdict::Whole;
            content.extend(block.settle(verdict, pen).filter(|_| !waiting));
        }
        if content.is_empty() {
            return Vec::new();
        }
        let message = serde_json::json!({ "role": "assistant", "content": [] });
        let mut fields = super::fields::Fields::read(&message.to_string()).unwrap_or_default();
        fields.set("content", RawJson::of(&content));
        fields.raw().into_iter().collect()
    }
}

impl Anthropic {
    /// A message that begins when another has is an answer that was begun anew: what of the first one
    /// still holds is not known, and its calls must not run beside those of the second.
    fn start(&mut self, message: Option<&RawValue>, pen: &mut Pen<'_>) -> Result<(), Fault> {
        if !self.blocks.is_empty() || self.stop.is_some() {
            return Err(contradiction("a message begins inside of another"));
        }
        match message {
            Some(message) => self.whole(json(message.get())?, pen),
            None => Ok(()),
        }
    }

    fn whole(&mut self, message: Whole<'_>, pen: &mut Pen<'_>) -> Result<(), Fault> {
        usage(message.usage, pen.notes);
        let content = message.content.map_or("[]", RawValue::get);
        if content.starts_with('"') {
            let text: super::text::Piece<'_> = json(content)?;
            pen.text(0, &text.0)?;
            pen.notes.part()?;
            self.blocks.push(Block::of_text(&text.0));
        } else {
            for (index, block) in json::<Vec<&RawValue>>(content)?.into_iter().enumerate() {
                let index = index.try_into().unwrap_or(u64::MAX);
                self.open(index, block, pen)?;
                self.block(index)?.stopped = true;
            }
        }
        self.stop = message.stop_reason.map(Into::into).or(self.stop.take());
        Ok(())
    }

    fn open(&mut self, index: u64, block: &RawValue, pen: &mut Pen<'_>) -> Result<(), Fault> {
        if self.blocks.iter().any(|block| block.index == index && !block.stopped) {
            return Err(contradiction("a content block begins inside of itself"));
        }
        pen.notes.part()?;
        let block = Block::new(index, block, pen)?;
        self.calls += usize::from(block.is_call());
        pen.notes.calls_fit(self.calls)?;
        self.blocks.push(block);
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: Delta<'_>, pen: &mut Pen<'_>) -> Result<(), Fault> {
        self.block(index)?.add(delta, pen)
    }

    /// The SDKs fail on a delta for a block that was not begun, and so do we: what it belongs to
    /// is not known.
    fn block(&mut self, index: u64) -> Result<&mut Block, Fault> {
        self.blocks
            .iter_mut()
            .rfind(|block| block.index == index)
            .ok_or_else(|| contradiction("something is added to a content block that never began"))
    }

    fn ended(&self, unsaid: Finish) -> Ended {
        match self.stop.as_deref() {
            Some(word) => Ended::new(finish_of(word), Some(word)),
            None if self.handed => Ended::new(Finish::Stop, None),
            None => Ended::new(unsaid, None),
        }
    }
}

fn finish_of(word: &str) -> Finish {
    match word {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::Calls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "pause_turn" => Finish::Paused,
        "refusal" => Finish::Refused,
        other => Finish::Other(other.to_owned()),
    }
}

fn contradiction(message: &str) -> Fault {
    fault("contradiction", message)
}

fn reported(data: &str) -> Fault {
    let body: Value = serde_json::from_str(data).unwrap_or_default();
    let said = || match body.get("message") {
        Some(_) => super::fault::from_object(&body),
        None => fault("error", "the provider reports an error without saying which"),
    };
    super::fault::from_body(&body).unwrap_or_else(said)
}

/// Later counts replace earlier ones; what was read from and written into a cache was read too.
fn usage(usage: Option<&RawValue>, notes: &mut Notes) {
    let Some(usage) = usage.and_then(|usage| serde_json::from_str::<Value>(usage.get()).ok())
    else {
        return;
    };
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    let mut total = notes.usage.unwrap_or_default();
    if let Some(input) = count("input_tokens") {
        let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        let cached: u64 = cached.into_iter().filter_map(count).fold(0, u64::saturating_add);
        total.input = input.saturating_add(cached);
    }
    total.output = count("output_tokens").unwrap_or(total.output);
    notes.usage = Some(Usage { ..total });
}
