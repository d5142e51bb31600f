//! Gemini Live: JSON in frames, text or binary.
//!
//! A `toolCall` is a complete statement: the service waits for the answer, often before it ends the
//! turn. So its calls are said at once, and [`Said::Cancelled`](crate::Said::Cancelled) may follow.
//! One decoder reads one turn, up to `turnComplete`; the service keeps the conversation, so the
//! next request repeats nothing.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::gemini::call::{Heard, Partial, hear};
use super::gemini::usage;
use super::gemini::wire::{Content, FunctionCall, Part};
use super::notes::{Draft, Pen, Verdict};
use super::text::Piece;
use super::{Ended, Provider, json};
use crate::raw::RawJson;
use crate::said::{Fault, Finish};

/// What is known of one turn.
#[derive(Default)]
pub(super) struct Live {
    open: Option<Partial>,
    calls: usize,
    interrupted: bool,
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow, rename = "serverContent", alias = "server_content")]
    content: Option<ServerContent<'a>>,
    #[serde(borrow, rename = "toolCall", alias = "tool_call")]
    call: Option<ToolCall<'a>>,
    #[serde(rename = "toolCallCancellation", alias = "tool_call_cancellation")]
    cancellation: Option<Cancellation>,
    #[serde(borrow, rename = "usageMetadata", alias = "usage_metadata")]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ServerContent<'a> {
    #[serde(borrow, rename = "modelTurn", alias = "model_turn")]
    turn: Option<Content<'a>>,
    #[serde(borrow, rename = "outputTranscription", alias = "output_transcription")]
    spoken: Option<Transcription<'a>>,
    #[serde(rename = "turnComplete", alias = "turn_complete")]
    complete: Option<bool>,
    interrupted: Option<bool>,
}

#[derive(Deserialize)]
struct Transcription<'a> {
    #[serde(borrow)]
    text: Option<Piece<'a>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, rename = "functionCalls", alias = "function_calls")]
    calls: Option<Vec<FunctionCall<'a>>>,
}

#[derive(Deserialize)]
struct Cancellation {
    ids: Option<Vec<String>>,
}

impl Provider for Live {
    fn event(&mut self, _: &[u8], data: &str, pen: &mut Pen<'_>) -> Result<Option<Ended>, Fault> {
        let frame: Frame<'_> = json(data)?;
        if let Some(error) = frame.error {
            return Err(super::fault::from_object(&json(error.get())?));
        }
        usage(frame.usage, pen.notes);
        for call in frame.call.and_then(|call| call.calls).unwrap_or_default() {
            self.call(&call, pen)?;
        }
        if let Some(ids) = frame.cancellation.and_then(|cancellation| cancellation.ids) {
            pen.cancelled(ids)?;
        }
        match frame.content {
            Some(content) => self.content(content, pen),
            None => Ok(None),
        }
    }

    /// A connection that ends before the turn does has broken.
    fn eof(&mut self) -> Option<Ended> {
        None
    }

    fn settle(&mut self, _: Verdict, pen: &mut Pen<'_>) -> Vec<RawJson> {
        // What is still open is cut, and so is no call, whether or not there was room for it.
        let _ = self.close(true, pen);
        Vec::new()
    }
}

impl Live {
    fn content(
        &mut self,
        content: ServerContent<'_>,
        pen: &mut Pen<'_>,
    ) -> Result<Option<Ended>, Fault> {
        for raw in content.turn.and_then(|turn| turn.parts).unwrap_or_default() {
            let part: Part<'_> = json(raw.get())?;
            match (part.text, part.thought) {
                (Some(text), Some(true)) => pen.reasoning(&text.0)?,
                (Some(text), Some(false) | None) => pen.text(0, &text.0)?,
                // Audio, and code that the service runs itself.
                (None, _) => {}
            }
            if let Some(call) = part.call {
                self.call(&call, pen)?;
            }
        }
        if let Some(text) = content.spoken.and_then(|spoken| spoken.text) {
            pen.text(0, &text.0)?;
        }
        self.interrupted |= content.interrupted == Some(true);
        if content.complete != Some(true) {
            return Ok(None);
        }
        let word = "interrupted";
        Ok(Some(if self.interrupted {
            Ended::new(Finish::Other(word.to_owned()), Some(word))
        } else {
            Ended::new(Finish::Stop, None)
        }))
    }

    fn call(&mut self, call: &FunctionCall<'_>, pen: &mut Pen<'_>) -> Result<(), Fault> {
        let heard = hear(call, self.open.as_ref(), pen.notes)?;
        match heard {
            Heard::Nothing => {}
            Heard::More | Heard::Last => {
                if let Some(open) = &mut self.open {
                    open.add(call, pen.notes)?;
                }
                if matches!(heard, Heard::Last) {
                    self.close(false, pen)?;
                }
            }
            Heard::Begun(partial) => {
                self.close(true, pen)?;
                self.open = Some(partial);
            }
            Heard::Whole(draft) => {
                self.close(true, pen)?;
                self.say(draft, pen)?;
            }
        }
        Ok(())
    }

    fn close(&mut self, cut: bool, pen: &mut Pen<'_>) -> Result<(), Fault> {
        match self.open.take() {
            Some(open) => self.say(open.finish(cut), pen),
            None => Ok(()),
        }
    }

    fn say(&mut self, draft: Draft, pen: &mut Pen<'_>) -> Result<(), Fault> {
        self.calls += 1;
        pen.notes.calls_fit(self.calls)?;
        pen.judge(draft, Verdict::Whole);
        Ok(())
    }
}
