//! One output item, which is stated up to four times: in pieces, at the end of the arguments, at
//! the end of the item, and at the end of the response.

use std::borrow::Cow;

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
    pub(super) kind: Kind,
    /// It was stated as a whole.
    pub(super) over: bool,
    /// It has begun; words may come before that.
    has_begun: bool,
    /// What a call is answered by.
    pub(super) call: String,
    fields: Fields,
    /// The arguments that it began with.
    begun: Vec<u8>,
    pieces: Pieces,
    /// The arguments as a whole, once they were stated.
    whole: Option<Vec<u8>>,
    flaw: Option<Broken>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Call,
    /// A call of a tool that takes free text.
    Custom,
    Message,
    Reasoning,
    Other,
}

/// What an item says of itself.
pub(super) struct Id<'a> {
    pub(super) kind: Kind,
    pub(super) id: Cow<'a, str>,
    pub(super) call: Cow<'a, str>,
}

impl<'a> Id<'a> {
    pub(super) fn of(raw: &'a RawValue) -> Result<Self, Fault> {
        let wire: OutputItem<'a> = json(raw.get())?;
        let kind = kind_of(&wire);
        Ok(Self { kind, id: wire.id.unwrap_or_default(), call: wire.call_id.unwrap_or_default() })
    }
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

/// Whether two ids are given and equal.
fn same(one: &str, other: &str) -> bool {
    !one.is_empty() && one == other
}

/// Whether two ids are given and not equal.
fn differ(one: &str, other: &str) -> bool {
    !one.is_empty() && !other.is_empty() && one != other
}

impl Item {
    pub(super) fn new(index: u64, id: &str, kind: Kind) -> Self {
        Self {
            index,
            id: id.to_owned(),
            told: false,
            kind,
            over: false,
            has_begun: false,
            call: String::new(),
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

    /// A message that can be repeated.
    pub(super) fn is_message(&self) -> bool {
        self.kind == Kind::Message && self.has_begun
    }

    /// Whether this is the one by its ids.
    pub(super) fn is_named(&self, id: &Id<'_>) -> bool {
        self.kind == id.kind && (same(&self.id, &id.id) || same(&self.call, &id.call))
    }

    /// Whether an item that begins may be this one: one that has begun already begins again only
    /// under its own ids.
    pub(super) fn may_begin_as(&self, id: &Id<'_>) -> bool {
        let another = differ(&self.id, &id.id) || differ(&self.call, &id.call);
        self.kind == id.kind && !self.over && !(self.has_begun && another)
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
                // Some leave out what they have said in pieces.
                match wire.arguments.or(wire.input) {
                    Some(text) => self.stated(&text.0, pen),
                    None => self.stands(pen),
                }
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
        pen.notes.hold(raw.get().len())?;
        let before = std::mem::replace(&mut self.fields, json(raw.get())?);
        self.kind = kind_of(wire);
        self.has_begun = true;
        if let Some(id) = &wire.id {
            id.as_ref().clone_into(&mut self.id);
        }
        if self.is_call() {
            self.call = self.keep("call_id", &before);
            let (was, is) = (before.text("name").unwrap_or_default(), self.keep("name", &before));
            if differ(&was, &is) {
                self.flaw.get_or_insert(Broken::Contradiction);
            }
        }
        Ok(())
    }

    /// A field's text, which stands where a later statement leaves it out.
    fn keep(&mut self, name: &str, before: &Fields) -> String {
        let is = self.fields.text(name).unwrap_or_default();
        match before.text(name) {
            Some(was) if is.is_empty() && !was.is_empty() => {
                self.fields.set(name, RawJson::of(&was));
                was
            }
            Some(_) | None => is,
        }
    }

    pub(super) fn add(&mut self, piece: &[u8], pen: &mut Pen<'_>) -> Result<(), Fault> {
        if self.whole.is_some() && !piece.is_empty() {
            self.flaw.get_or_insert(Broken::Contradiction);
        }
        pen.notes.hold(piece.len())?;
        self.pieces.push(piece);
        Ok(())
    }

    /// The arguments as a whole. They may say more than the pieces did, and nothing else.
    pub(super) fn stated(&mut self, text: &[u8], pen: &mut Pen<'_>) -> Result<(), Fault> {
        let agrees = match &self.whole {
            Some(whole) => whole == text,
            None => {
                let all = self.in_pieces();
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

    /// The end of an item that does not state its arguments: what came of them is all.
    fn stands(&mut self, pen: &mut Pen<'_>) -> Result<(), Fault> {
        if self.whole.is_none() {
            let all = self.in_pieces();
            pen.notes.hold(all.as_bytes().len())?;
            self.whole = Some(all.as_bytes().to_vec());
        }
        Ok(())
    }

    fn in_pieces(&self) -> Pieces {
        let mut all = Pieces::default();
        all.push(&self.begun);
        all.push(self.pieces.as_bytes());
        all
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
        let pieces = self.in_pieces();
        let Self { kind, mut fields, whole, flaw, .. } = self;
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
        let text = match whole {
            Some(whole) => {
                let mut text = Pieces::default();
                text.push(&whole);
                text
            }
            None => pieces,
        };
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
