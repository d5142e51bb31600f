//! One output item, which is stated up to four times: in pieces, at the end of the arguments, at
//! the end of the item, and at the end of the response.

use serde_json::value::RawValue;

use super::wire::{OutputItem, Said};
use crate::decode::fields::Fields;
use crate::decode::json;
use crate::decode::notes::{Draft, Pen, Verdict};
use crate::decode::text::Pieces;
use crate::raw::RawJson;
use crate::said::{Broken, Fault};

pub(super) struct Item {
    pub(super) index: u64,
    pub(super) id: String,
    /// Its words have been said.
    pub(super) told: bool,
    kind: Kind,
    fields: Fields,
    /// The arguments that it began with.
    begun: Vec<u8>,
    pieces: Pieces,
    /// The arguments as a whole, once they were stated.
    whole: Option<Vec<u8>>,
    flaw: Option<Broken>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    /// A call of a tool that takes free text.
    Custom,
    Message,
    Reasoning,
    Other,
}

/// Which of the streamed items an item of the final list is.
pub(super) fn find(streamed: &[Item], raw: &RawValue, place: u64) -> Option<usize> {
    let wire: OutputItem<'_> = json(raw.get()).ok()?;
    let same = |ours: Option<String>, theirs: Option<&str>| match (ours.as_deref(), theirs) {
        (Some(ours), Some(theirs)) => !ours.is_empty() && ours == theirs,
        (Some(_) | None, _) => false,
    };
    let by_id = |item: &Item| same(Some(item.id.clone()), wire.id.as_deref());
    let by_call = |item: &Item| same(item.fields.text("call_id"), wire.call_id.as_deref());
    let by_place = |item: &Item| item.index == place && item.kind == kind_of(&wire);
    let found = streamed.iter().position(by_id);
    found.or_else(|| streamed.iter().position(by_call)).or_else(|| {
        // Where either has no id, its place says which it is.
        let loose = |item: &Item| item.id.is_empty() || wire.id.is_none();
        streamed.iter().position(|item| loose(item) && by_place(item))
    })
}

fn kind_of(wire: &OutputItem<'_>) -> Kind {
    match wire.kind.as_deref() {
        Some("function_call") => Kind::Call,
        Some("custom_tool_call") => Kind::Custom,
        Some("message") => Kind::Message,
        Some("reasoning") => Kind::Reasoning,
        Some(_) | None => Kind::Other,
    }
}

impl Item {
    pub(super) fn new(index: u64, id: &str) -> Self {
        Self {
            index,
            id: id.to_owned(),
            told: false,
            kind: Kind::Other,
            fields: Fields::default(),
            begun: Vec::new(),
            pieces: Pieces::default(),
            whole: None,
            flaw: None,
        }
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Call | Kind::Custom)
    }

    pub(super) fn is_message(&self) -> bool {
        self.kind == Kind::Message
    }

    pub(super) fn begin(&mut self, raw: &RawValue, pen: &mut Pen<'_>) -> Result<(), Fault> {
        let wire: OutputItem<'_> = json(raw.get())?;
        if let Some(text) = wire.arguments.as_ref().or(wire.input.as_ref()) {
            self.begun = text.0.to_vec();
        }
        self.take(&wire, raw, pen)
    }

    /// The item as a whole.
    pub(super) fn state(&mut self, raw: &RawValue, pen: &mut Pen<'_>) -> Result<(), Fault> {
        let wire: OutputItem<'_> = json(raw.get())?;
        self.take(&wire, raw, pen)?;
        if wire.status.as_deref() == Some("incomplete") {
            self.flaw.get_or_insert(Broken::Cut);
        }
        match self.kind {
            Kind::Call | Kind::Custom => {
                let text = wire.arguments.or(wire.input).unwrap_or_default();
                self.stated(&text.0, pen)
            }
            Kind::Message => self.tell(wire.content, pen),
            Kind::Reasoning => {
                let full = wire.content.filter(|content| content.get() != "[]");
                self.tell(full.or(wire.summary), pen)
            }
            Kind::Other => Ok(()),
        }
    }

    fn take(
        &mut self,
        wire: &OutputItem<'_>,
        raw: &RawValue,
        pen: &mut Pen<'_>,
    ) -> Result<(), Fault> {
        let before = self.fields.text("name");
        pen.notes.hold(raw.get().len())?;
        self.fields = json(raw.get())?;
        self.kind = kind_of(wire);
        if let Some(id) = &wire.id {
            id.as_ref().clone_into(&mut self.id);
        }
        if before.is_some_and(|before| self.fields.text("name") != Some(before)) {
            self.flaw.get_or_insert(Broken::Contradiction);
        }
        Ok(())
    }

    pub(super) fn add(&mut self, piece: &[u8], pen: &mut Pen<'_>) -> Result<(), Fault> {
        pen.notes.hold(piece.len())?;
        self.pieces.push(piece);
        Ok(())
    }

    /// The arguments as a whole. They may say more than the pieces did, and nothing else.
    pub(super) fn stated(&mut self, text: &[u8], pen: &mut Pen<'_>) -> Result<(), Fault> {
        let agrees = match &self.whole {
            Some(whole) => whole == text,
            None => {
                let mut all = Pieces::default();
                all.push(&self.begun);
                all.push(self.pieces.as_bytes());
                // Some begin the item with its arguments and repeat them in pieces.
                text.starts_with(all.as_bytes()) || text.starts_with(self.pieces.as_bytes())
            }
        };
        if !agrees {
            self.flaw.get_or_insert(Broken::Contradiction);
        }
        pen.notes.hold(text.len())?;
        self.whole = Some(text.to_vec());
        Ok(())
    }

    /// Not in the list of all items.
    pub(super) fn forgotten(&mut self, place: u64) {
        self.index = place;
        self.flaw.get_or_insert(Broken::Contradiction);
    }

    /// Says the words of an item that came at once.
    fn tell(&mut self, parts: Option<&RawValue>, pen: &mut Pen<'_>) -> Result<(), Fault> {
        let (Some(parts), false) = (parts, std::mem::replace(&mut self.told, true)) else {
            return Ok(());
        };
        if parts.get().starts_with('"') {
            return pen.text(0, &json::<crate::decode::text::Piece<'_>>(parts.get())?.0);
        }
        for part in json::<Vec<Said<'_>>>(parts.get())? {
            let text = part.text.or(part.transcript).unwrap_or_default();
            if self.kind == Kind::Reasoning {
                pen.reasoning(&text.0)?;
            } else {
                pen.text(0, &text.0)?;
                pen.refusal(&part.refusal.unwrap_or_default().0)?;
            }
        }
        Ok(())
    }

    /// Says the call, if it is one, and returns the item as the next request repeats it.
    pub(super) fn settle(self, verdict: Verdict, pen: &mut Pen<'_>) -> Option<RawJson> {
        let Self { kind, mut fields, begun, pieces, whole, flaw, .. } = self;
        if !matches!(kind, Kind::Call | Kind::Custom) {
            return fields.raw().filter(|raw| raw.as_str() != "{}");
        }
        // Arguments whose end nobody stated are not whole, whatever they look like.
        let flaw = match kind {
            Kind::Custom => Some(Broken::FreeText),
            Kind::Call | Kind::Message | Kind::Reasoning | Kind::Other => {
                flaw.or(whole.is_none().then_some(Broken::Cut))
            }
        };
        let mut text = Pieces::default();
        match whole {
            Some(whole) => text.push(&whole),
            None => {
                text.push(&begun);
                text.push(pieces.as_bytes());
            }
        }
        let draft = Draft {
            id: fields.text("call_id"),
            name: fields.text("name").unwrap_or_default(),
            namespace: fields.text("namespace").filter(|name| !name.is_empty()),
            arguments: text.into_text(),
            flaw,
            ..Draft::default()
        };
        let repeat = pen.judge(draft, verdict)?;
        fields.set("call_id", RawJson::of(&repeat.id));
        if kind == Kind::Call {
            fields.set("arguments", RawJson::of(&repeat.arguments));
        }
        fields.raw()
    }
}
