//! OpenAI Responses: events, whole responses, and output items alone. Realtime speaks the same
//! language in frames.

mod item;
mod items;
mod wire;

use serde_json::Value;
use serde_json::value::RawValue;

use self::item::{Id, Kind};
use self::items::Items;
use self::wire::{Event, Response};
use super::notes::{Pen, Verdict};
use super::{Ended, Provider, fault, json};
use crate::raw::RawJson;
use crate::said::{Fault, Finish, Usage};

/// What is known of one response.
pub(super) struct Responses {
    door: Door,
    items: Items,
    /// Items that were handed over without a response around them.
    handed: bool,
    /// Something of a response came: no item stands alone any more.
    begun: bool,
    /// The response that this decoder reads; a connection may carry several.
    id: Option<String>,
    /// An error that was reported and did not end anything.
    fault: Option<Fault>,
}

/// Where the events come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Door {
    /// HTTP: an error is the end, and the next request repeats the items.
    Responses,
    /// A WebSocket: an error is about one event, and the provider keeps the conversation.
    Realtime,
}

impl Provider for Responses {
    fn event(&mut self, _: &[u8], data: &str, pen: &mut Pen<'_>) -> Result<Option<Ended>, Fault> {
        if data.trim_ascii() == "[DONE]" {
            return Ok(None);
        }
        let event: Event<'_> = json(data)?;
        if self.is_anothers(event.response_id.as_deref()) {
            return Ok(None);
        }
        let Some(kind) = event.kind.as_deref() else { return self.untyped(&event, data, pen) };
        self.begun |= kind.starts_with("response.");
        match kind {
            "response.created" => {
                let id = response(&event)?.and_then(|response| response.id);
                self.id = self.id.take().or(id.map(Into::into));
                Ok(None)
            }
            _ if is_end(kind) => match response(&event)? {
                Some(response) => self.finished(response, pen),
                None => Err(fault("contradiction", "the response ended without a response")),
            },
            "error" => self.reported(data),
            _ if kind.starts_with("response.") => self.progress(kind, &event, pen),
            // Items of the conversation repeat those of the response; sessions, rate limits and
            // input are none of ours.
            _ if event.item.is_some() || kind.contains('.') => Ok(None),
            // Some send a sign of life among the events: `keepalive`, `ping`.
            _ if self.begun || !is_item(kind) => Ok(None),
            _ => self.handed(data, pen),
        }
    }

    fn eof(&mut self) -> Option<Ended> {
        self.handed.then(|| Ended::new(Finish::Stop, None))
    }

    fn settle(&mut self, verdict: Verdict, pen: &mut Pen<'_>) -> Vec<RawJson> {
        let (mut replay, mut sendable) = (Vec::new(), 0);
        for item in self.items.take() {
            let is_message = item.is_message();
            replay.extend(item.settle(verdict, pen));
            if is_message || verdict == Verdict::Whole {
                sendable = replay.len();
            }
        }
        // Reasoning is taken back only with what came of it.
        replay.truncate(sendable);
        match self.door {
            Door::Responses => replay,
            Door::Realtime => Vec::new(),
        }
    }

    fn fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }
}

/// Whether an event ends its response.
pub(super) fn is_end(kind: &str) -> bool {
    matches!(
        kind,
        "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.done"
            | "response.cancelled"
    )
}

/// Whether a type is that of an output item, and not that of an event.
pub(super) fn is_item(kind: &str) -> bool {
    matches!(kind, "message" | "reasoning" | "compaction")
        || kind.contains("_call")
        || kind.starts_with("mcp_")
}

impl Responses {
    pub(super) fn new(door: Door) -> Self {
        Self { door, items: Items::default(), handed: false, begun: false, id: None, fault: None }
    }

    fn is_anothers(&self, id: Option<&str>) -> bool {
        matches!((id, self.id.as_deref()), (Some(id), Some(ours)) if id != ours)
    }

    fn reported(&mut self, data: &str) -> Result<Option<Ended>, Fault> {
        let body: Value = json(data)?;
        let fault = super::fault::from_body(&body)
            .unwrap_or_else(|| super::fault::from_object(&without_type(body)));
        match self.door {
            Door::Responses => Err(fault),
            Door::Realtime => {
                self.fault = Some(fault);
                Ok(None)
            }
        }
    }

    /// Without a type: a whole response, or an error's body.
    fn untyped(
        &mut self,
        event: &Event<'_>,
        data: &str,
        pen: &mut Pen<'_>,
    ) -> Result<Option<Ended>, Fault> {
        if event.output.is_some() {
            return self.finished(json(data)?, pen);
        }
        match super::fault::read(data.as_bytes()) {
            Some(fault) => Err(fault),
            None => Ok(None),
        }
    }

    /// An output item alone.
    fn handed(&mut self, data: &str, pen: &mut Pen<'_>) -> Result<Option<Ended>, Fault> {
        let item: &RawValue = json(data)?;
        let kind = Id::of(item)?.kind;
        self.items.add(None, "", kind, pen.notes)?.state(item, pen)?;
        self.items.fit(pen.notes)?;
        self.handed = true;
        Ok(None)
    }

    fn progress(
        &mut self,
        kind: &str,
        event: &Event<'_>,
        pen: &mut Pen<'_>,
    ) -> Result<Option<Ended>, Fault> {
        let delta = event.delta.as_ref().map_or(&b""[..], |delta| &delta.0);
        let (index, id) = (event.output_index, event.item_id.as_deref().unwrap_or_default());
        match (kind, event.item) {
            ("response.output_item.added", Some(item)) => {
                self.items.begun(index, item, pen.notes)?.begin(item, pen)?;
                self.items.fit(pen.notes)?;
            }
            ("response.output_item.done", Some(item)) => {
                let over = self.items.over(index, item, pen.notes)?;
                over.state(item, pen)?;
                over.over = true;
                self.items.fit(pen.notes)?;
            }
            (
                "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta",
                _,
            ) => self.items.call(index, id)?.add(delta, pen)?,
            (
                "response.function_call_arguments.done" | "response.custom_tool_call_input.done",
                _,
            ) => {
                let text = event.arguments.as_ref().or(event.input.as_ref());
                self.items.call(index, id)?.stated(text.map_or(&b""[..], |text| &text.0), pen)?;
            }
            (
                "response.output_text.delta"
                | "response.text.delta"
                | "response.output_audio_transcript.delta"
                | "response.audio_transcript.delta",
                _,
            ) => {
                self.items.mark(index, id, Kind::Message, pen.notes)?;
                pen.text(0, delta)?;
            }
            ("response.refusal.delta", _) => {
                self.items.mark(index, id, Kind::Message, pen.notes)?;
                pen.refusal(delta)?;
            }
            ("response.reasoning_text.delta" | "response.reasoning_summary_text.delta", _) => {
                self.items.mark(index, id, Kind::Reasoning, pen.notes)?;
                pen.reasoning(delta)?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// What the response says of itself when it ends.
    fn finished(
        &mut self,
        response: Response<'_>,
        pen: &mut Pen<'_>,
    ) -> Result<Option<Ended>, Fault> {
        if self.is_anothers(response.id.as_deref()) {
            return Ok(None);
        }
        pen.notes.usage = usage(response.usage).or(pen.notes.usage);
        let ended = ended(&response);
        if let Some(output) = response.output.filter(|output| !output.is_empty()) {
            self.items.agree(&output, pen)?;
        }
        Ok(Some(ended))
    }
}

fn response<'a>(event: &Event<'a>) -> Result<Option<Response<'a>>, Fault> {
    event.response.map(|response| json(response.get())).transpose()
}

fn ended(response: &Response<'_>) -> Ended {
    let status = response.status.as_deref().unwrap_or_default();
    let details = response.incomplete_details.or(response.status_details);
    let details: Option<Value> = details.and_then(|text| serde_json::from_str(text.get()).ok());
    let reason = details.as_ref().and_then(|details| details.get("reason")).and_then(Value::as_str);
    let finish = match (status, reason) {
        ("completed", _) => Finish::Stop,
        ("incomplete", Some("content_filter")) => Finish::Filtered,
        ("incomplete", _) => Finish::Length,
        ("cancelled" | "in_progress" | "queued" | "", _) => Finish::Cut,
        ("failed", _) => Finish::Failed,
        (other, _) => Finish::Other(other.to_owned()),
    };
    let mut ended = Ended::new(finish, Some(status).filter(|status| !status.is_empty()));
    let error = response.error.and_then(|text| serde_json::from_str::<Value>(text.get()).ok());
    let error = error.or_else(|| details.as_ref().and_then(|it| it.get("error")).cloned());
    ended.fault = match error.filter(|error| !error.is_null()) {
        Some(error) => Some(super::fault::from_object(&error)),
        None => reason.map(|reason| fault(reason, "the response is not complete")),
    };
    ended
}

fn usage(usage: Option<&RawValue>) -> Option<Usage> {
    let usage: Value = serde_json::from_str(usage?.get()).ok()?;
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    Some(Usage { input: count("input_tokens")?, output: count("output_tokens").unwrap_or(0) })
}

/// The event's own type is no code.
fn without_type(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.shift_remove("type");
    }
    body
}
