//! The parts of one alternative: said as they come, kept for the next request.

use serde_json::value::RawValue;

use super::call::{Heard, Partial, hear};
use super::wire::{Content, Part};
use crate::decode::fields::Fields;
use crate::decode::json;
use crate::decode::notes::{Draft, Notes, Pen, Verdict};
use crate::decode::text::Pieces;
use crate::raw::RawJson;
use crate::said::Fault;

/// In their order.
#[derive(Default)]
pub(super) struct Parts {
    kept: Vec<Kept>,
    open: Option<Partial>,
    calls: usize,
}

enum Kept {
    /// Text without a signature: its pieces are put together.
    Text { thought: bool, text: Pieces },
    /// A call, and the part that it came in.
    Call(Draft, Fields),
    /// The part in which a call began that is not complete yet.
    Begun(Fields),
    /// Anything else, signed text included: that must not be merged.
    As(RawJson),
}

impl Parts {
    pub(super) fn read(
        &mut self,
        candidate: u32,
        content: Content<'_>,
        pen: &mut Pen<'_>,
    ) -> Result<(), Fault> {
        for raw in content.parts.unwrap_or_default() {
            let part: Part<'_> = json(raw.get())?;
            let thought = part.thought == Some(true);
            if let Some(text) = &part.text {
                if thought {
                    pen.reasoning(&text.0)?;
                } else {
                    pen.text(candidate, &text.0)?;
                }
            }
            self.keep(raw, part, thought, pen.notes)?;
        }
        Ok(())
    }

    fn keep(
        &mut self,
        raw: &RawValue,
        part: Part<'_>,
        thought: bool,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        if let Some(call) = part.call {
            let heard = hear(&call, self.open.as_ref(), notes)?;
            if matches!(heard, Heard::More | Heard::Last)
                && let Some(open) = &mut self.open
            {
                open.add(&call, notes)?;
            }
            return self.heard(heard, raw, notes);
        }
        match (part.text, part.signature) {
            (Some(text), None) => {
                notes.hold(text.0.len())?;
                self.text(&text.0, thought, notes)
            }
            (Some(_) | None, _) => {
                notes.part()?;
                notes.hold(raw.get().len())?;
                self.kept.extend(RawJson::new(raw.get().to_owned()).ok().map(Kept::As));
                Ok(())
            }
        }
    }

    fn text(&mut self, piece: &[u8], thought: bool, notes: &mut Notes) -> Result<(), Fault> {
        match self.kept.last_mut() {
            Some(Kept::Text { thought: of, text }) if *of == thought => text.push(piece),
            Some(Kept::Text { .. } | Kept::Call(..) | Kept::Begun(_) | Kept::As(_)) | None => {
                notes.part()?;
                let mut text = Pieces::default();
                text.push(piece);
                self.kept.push(Kept::Text { thought, text });
            }
        }
        Ok(())
    }

    fn heard(&mut self, heard: Heard, raw: &RawValue, notes: &mut Notes) -> Result<(), Fault> {
        match heard {
            Heard::Nothing | Heard::More => return Ok(()),
            Heard::Last => {
                self.close(false);
                return Ok(());
            }
            Heard::Whole(_) | Heard::Begun(_) => {}
        }
        // Another call begins: whatever was open will not be completed.
        self.close(true);
        self.calls += 1;
        notes.calls_fit(self.calls)?;
        notes.part()?;
        notes.hold(raw.get().len())?;
        let fields: Fields = json(raw.get())?;
        match heard {
            Heard::Whole(draft) => self.kept.push(Kept::Call(draft, fields)),
            Heard::Begun(partial) => {
                self.open = Some(partial);
                self.kept.push(Kept::Begun(fields));
            }
            Heard::Nothing | Heard::More | Heard::Last => {}
        }
        Ok(())
    }

    fn close(&mut self, cut: bool) {
        let Some(open) = self.open.take() else { return };
        let begun = self.kept.iter_mut().rfind(|kept| matches!(kept, Kept::Begun(_)));
        if let Some(kept) = begun
            && let Kept::Begun(fields) = kept
        {
            *kept = Kept::Call(open.finish(cut), std::mem::take(fields));
        }
    }

    /// Says the calls and returns what the next request repeats.
    pub(super) fn settle(
        mut self,
        candidate: u32,
        verdict: Verdict,
        pen: &mut Pen<'_>,
    ) -> Vec<RawJson> {
        self.close(true);
        self.kept.into_iter().filter_map(|kept| kept.settle(candidate, verdict, pen)).collect()
    }
}

impl Kept {
    fn settle(self, candidate: u32, verdict: Verdict, pen: &mut Pen<'_>) -> Option<RawJson> {
        match self {
            Self::As(raw) => Some(raw),
            Self::Begun(_) => None,
            Self::Text { text, .. } if text.is_empty() => None,
            Self::Text { thought, text } => {
                #[derive(serde::Serialize)]
                struct Text {
                    text: String,
                    #[serde(skip_serializing_if = "std::ops::Not::not")]
                    thought: bool,
                }
                RawJson::of(&Text { text: text.into_text(), thought })
            }
            Self::Call(draft, part) => call(draft, part, candidate, verdict, pen),
        }
    }
}

/// The part with its signature; the call itself as it was put together.
fn call(
    draft: Draft,
    mut part: Fields,
    candidate: u32,
    verdict: Verdict,
    pen: &mut Pen<'_>,
) -> Option<RawJson> {
    let key = if part.get("functionCall").is_some() { "functionCall" } else { "function_call" };
    let mut function: Fields = Fields::read(part.get(key)?.get())?;
    let whole = function.get("args").is_some() && function.get("partialArgs").is_none();
    let repeat = pen.judge(Draft { choice: candidate, ..draft }, verdict)?;
    if !whole || !function.get("args")?.get().starts_with('{') {
        for piece in ["partialArgs", "partial_args", "willContinue", "will_continue"] {
            function.remove(piece);
        }
        function.set("args", RawJson::new(repeat.arguments).ok());
    }
    part.set(key, function.raw());
    part.raw()
}
