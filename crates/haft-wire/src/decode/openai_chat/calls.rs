//! Which call a delta belongs to.
//!
//! By the book each delta names the call's index. In practice the index is missing, the same for
//! all calls, or out of order; ids come late, again with each delta, or as null; names come in two
//! pieces or twice. Where nothing else tells two calls apart, a name does that comes after arguments
//! which are whole.

use std::borrow::Cow;

use super::Pieces as Form;
use super::wire::{Custom, Function, ToolCall};
use crate::decode::brackets::Brackets;
use crate::decode::notes::Notes;
use crate::decode::text::{Piece, Pieces};
use crate::raw::RawJson;
use crate::said::Fault;

/// The calls of one alternative, as far as they have come.
#[derive(Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// The slot that was written to last: most deltas go there again.
    last: usize,
    /// How many chunks have come.
    chunks: u64,
}

/// One call.
pub(super) struct Slot {
    index: i64,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Pieces,
    pub(super) kind: Kind,
    pub(super) extra: Option<RawJson>,
    /// The chunk that named it last.
    named: u64,
    /// It was named again after all of its arguments: another call of the same tool, if more comes.
    again: bool,
    brackets: Brackets,
}

/// An entry of `tool_calls` as far as it says which call it belongs to.
#[derive(Clone, Copy)]
struct Told<'a> {
    index: Option<i64>,
    id: &'a str,
    name: &'a str,
    /// It brings no arguments.
    blank: bool,
}

/// Which of the two ways of calling.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `tool_calls`.
    Tool,
    /// `function_call`, which came before.
    Legacy,
    /// `tool_calls`, for a tool that takes free text.
    Custom,
}

impl Calls {
    /// The entries that follow stand in one chunk.
    pub(super) fn chunk(&mut self) {
        self.chunks += 1;
    }

    /// One entry of `tool_calls`.
    pub(super) fn read(
        &mut self,
        call: &ToolCall<'_>,
        form: Form,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        let custom: Option<Custom<'_>> =
            call.custom.map(|custom| super::json(custom.get())).transpose()?;
        let (name, arguments) = match (&call.function, &custom) {
            (Some(function), _) => (function.name.as_deref(), function.arguments),
            (None, Some(custom)) => (custom.name.as_deref(), custom.input),
            (None, None) => (None, None),
        };
        let blank = arguments.is_none_or(|text| text.get().trim_matches('"').trim().is_empty());
        let (id, name) = (call.id.as_deref().unwrap_or_default(), name.unwrap_or_default());
        let told = Told { index: call.index, id, name, blank };
        let (found, name) = match form {
            Form::Deltas => self.place(told),
            Form::Whole => (None, Cow::Borrowed(name)),
        };
        let chunk = self.chunks;
        let slot = self.slot(found, call.index, Kind::Tool, notes)?;
        if custom.is_some() || call.kind.as_deref() == Some("custom") {
            slot.kind = Kind::Custom;
        }
        slot.name_it(id, &name, chunk, notes)?;
        if let Some(arguments) = arguments {
            slot.add(arguments.get(), notes)?;
        }
        if let Some(extra) = call.extra_content {
            notes.hold(extra.get().len())?;
            slot.extra = RawJson::new(extra.get().to_owned()).ok();
        }
        Ok(())
    }

    /// The one call of the older format.
    pub(super) fn legacy(&mut self, call: &Function<'_>, notes: &mut Notes) -> Result<(), Fault> {
        let found = self.slots.iter().position(|slot| slot.kind == Kind::Legacy);
        let slot = self.slot(found, None, Kind::Legacy, notes)?;
        slot.name_it("", call.name.as_deref().unwrap_or_default(), 0, notes)?;
        match call.arguments {
            Some(arguments) => slot.add(arguments.get(), notes),
            None => Ok(()),
        }
    }

    /// All of them, in the provider's order: by index, then as they came.
    pub(super) fn take(&mut self) -> Vec<Slot> {
        let mut slots = std::mem::take(&mut self.slots);
        slots.sort_by_key(|slot| slot.index);
        slots
    }

    /// The call that an entry belongs to, none where it begins one; and the name that it gives.
    fn place<'a>(&mut self, told: Told<'a>) -> (Option<usize>, Cow<'a, str>) {
        let name = Cow::Borrowed(told.name);
        let chunk = self.chunks;
        let Some(at) = self.find(told) else { return (None, name) };
        let Some(slot) = self.slots.get_mut(at) else { return (None, name) };
        if !slot.is_left_behind(told, chunk) {
            slot.again |= told.blank && slot.is_named_again(told);
            return (Some(at), name);
        }
        let name = if told.name.is_empty() { Cow::Owned(slot.name.clone()) } else { name };
        (None, name)
    }

    /// The call that index and id speak of.
    fn find(&self, told: Told<'_>) -> Option<usize> {
        let Told { index, id, name, .. } = told;
        let Some(index) = index else { return self.without_index(id, name) };
        let at = match self.slots.get(self.last) {
            Some(slot) if slot.index == index => self.last,
            Some(_) | None => self.slots.iter().rposition(|slot| slot.index == index)?,
        };
        // Another id with a name begins another call: some number all of their calls 0. Another id
        // without one does not: some make up a new id for each delta.
        let slot = self.slots.get(at)?;
        let other = !id.is_empty() && !slot.id.is_empty() && slot.id != id && !name.is_empty();
        if other {
            return self.slots.iter().rposition(|slot| slot.index == index && slot.id == id);
        }
        Some(at)
    }

    fn without_index(&self, id: &str, name: &str) -> Option<usize> {
        let last = self.slots.get(self.last)?;
        let known = || self.slots.iter().rposition(|slot| slot.id == id);
        match id {
            "" => Some(self.last),
            _ => known().or_else(|| {
                // An id that comes late comes without a name, or with the same one again.
                let late = name.is_empty() || (last.id.is_empty() && last.name == name);
                late.then_some(self.last)
            }),
        }
    }

    fn slot(
        &mut self,
        found: Option<usize>,
        index: Option<i64>,
        kind: Kind,
        notes: &mut Notes,
    ) -> Result<&mut Slot, Fault> {
        self.last = match found {
            Some(at) => at,
            None => {
                notes.calls_fit(self.slots.len() + 1)?;
                let next = self
                    .slots
                    .iter()
                    .map(|slot| slot.index)
                    .max()
                    .map_or(0, |max| max.saturating_add(1));
                let index = index.unwrap_or(next);
                self.slots.push(Slot {
                    index,
                    id: String::new(),
                    name: String::new(),
                    arguments: Pieces::default(),
                    kind,
                    extra: None,
                    named: 0,
                    again: false,
                    brackets: Brackets::default(),
                });
                self.slots.len() - 1
            }
        };
        self.slots.get_mut(self.last).ok_or_else(|| super::fault("bug", "a call was lost"))
    }
}

impl Slot {
    /// Whether an entry that index and id lead here begins another call.
    fn is_left_behind(&mut self, told: Told<'_>, chunk: u64) -> bool {
        if told.name.is_empty() {
            return self.again && !told.blank;
        }
        if self.name.is_empty() || (self.name == told.name && self.has_id(told.id)) {
            return false;
        }
        if self.named == chunk {
            // No name comes in two pieces of one chunk.
            return true;
        }
        match self.name == told.name {
            // Names come before arguments.
            false => !self.arguments.is_empty(),
            // Without arguments it may be the same call, named once more.
            true => !told.blank && self.is_named_again(told),
        }
    }

    /// Whether an entry names the same tool after all of the arguments.
    fn is_named_again(&mut self, told: Told<'_>) -> bool {
        let same = !told.name.is_empty() && self.name == told.name;
        same && !self.has_id(told.id) && self.is_whole()
    }

    fn has_id(&self, id: &str) -> bool {
        !id.is_empty() && self.id == id
    }

    fn is_whole(&mut self) -> bool {
        self.brackets.are_closed(self.arguments.as_bytes())
    }

    fn name_it(
        &mut self,
        id: &str,
        name: &str,
        chunk: u64,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        if self.id.is_empty() && !id.is_empty() {
            notes.hold(id.len())?;
            self.id.push_str(id);
        }
        if !name.is_empty() {
            self.named = chunk;
        }
        // A name that is repeated as a whole is not a second piece of itself.
        if !name.is_empty() && self.name != name {
            notes.hold(name.len())?;
            self.name.push_str(name);
        }
        Ok(())
    }

    fn add(&mut self, arguments: &str, notes: &mut Notes) -> Result<(), Fault> {
        notes.hold(arguments.len())?;
        let text = arguments.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match text {
            // Most pieces have nothing to unescape.
            Some(text) if memchr::memchr(b'\\', text.as_bytes()).is_none() => {
                self.arguments.push(text.as_bytes());
            }
            Some(_) => self.arguments.push(&super::json::<Piece<'_>>(arguments)?.0),
            None => self.arguments.push(arguments.as_bytes()),
        }
        Ok(())
    }
}
