//! Which call a delta belongs to.
//!
//! By the book each delta names the call's index. In practice the index is missing, the same for
//! all calls, or out of order; ids come late, again with each delta, or as null; names come in two
//! pieces or twice.

use super::Pieces as Form;
use super::wire::{Custom, Function, ToolCall};
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
}

/// One call.
pub(super) struct Slot {
    index: i64,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Pieces,
    pub(super) kind: Kind,
    pub(super) extra: Option<RawJson>,
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
        let id = call.id.as_deref().unwrap_or_default();
        let name = name.unwrap_or_default();
        let found = match form {
            Form::Deltas => self.find(call.index, id, name),
            Form::Whole => None,
        };
        let slot = self.slot(found, call.index, Kind::Tool, notes)?;
        if custom.is_some() || call.kind.as_deref() == Some("custom") {
            slot.kind = Kind::Custom;
        }
        slot.name_it(id, name, notes)?;
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
        slot.name_it("", call.name.as_deref().unwrap_or_default(), notes)?;
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

    fn find(&self, index: Option<i64>, id: &str, name: &str) -> Option<usize> {
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
        if !id.is_empty() {
            let known = self.slots.iter().rposition(|slot| slot.id == id);
            let nameless = name.is_empty().then_some(self.slots.len().wrapping_sub(1));
            return known.or(nameless).filter(|at| *at < self.slots.len());
        }
        let last = self.slots.get(self.last)?;
        let begins = !name.is_empty() && !last.name.is_empty() && !last.arguments.is_empty();
        (!begins).then_some(self.last)
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
                });
                self.slots.len() - 1
            }
        };
        self.slots.get_mut(self.last).ok_or_else(|| super::fault("bug", "a call was lost"))
    }
}

impl Slot {
    fn name_it(&mut self, id: &str, name: &str, notes: &mut Notes) -> Result<(), Fault> {
        if self.id.is_empty() && !id.is_empty() {
            notes.hold(id.len())?;
            self.id.push_str(id);
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
