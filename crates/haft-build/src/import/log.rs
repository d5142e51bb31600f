//! Writing down each change as it is made, so that none can be made without.

use serde_json::{Map, Value};

use super::pointer::step;
use super::report::{Part, Severity};

/// One change, not yet said of which tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) severity: Severity,
    pub(super) part: Part,
    pub(super) pointer: String,
    pub(super) what: String,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// The changes to one part of a definition, in order.
#[derive(Debug)]
pub(super) struct Log {
    part: Part,
    changes: Vec<Change>,
}

impl Log {
    pub(super) fn new(part: Part) -> Self {
        Self { part, changes: Vec::new() }
    }

    pub(super) fn into_changes(self) -> Vec<Change> {
        self.changes
    }

    /// Something to know; nothing is changed by it.
    pub(super) fn note(&mut self, severity: Severity, pointer: &str, what: impl Into<String>) {
        self.record(severity, pointer, what, (None, None));
    }

    /// A change that the caller has made or is about to make: from the first to the second.
    pub(super) fn record(
        &mut self,
        severity: Severity,
        pointer: &str,
        what: impl Into<String>,
        (before, after): (Option<Value>, Option<Value>),
    ) {
        let (part, pointer, what) = (self.part, pointer.to_owned(), what.into());
        self.changes.push(Change { severity, part, pointer, what, before, after });
    }

    /// Puts a member into the object at `at`.
    pub(super) fn set(
        &mut self,
        members: &mut Map<String, Value>,
        at: &str,
        (name, value): (&str, Value),
        what: impl Into<String>,
    ) {
        let before = members.insert(name.to_owned(), value.clone());
        self.record(Severity::Changed, &step(at, name), what, (before, Some(value)));
    }

    /// Takes a member out of the object at `at`.
    pub(super) fn remove(
        &mut self,
        members: &mut Map<String, Value>,
        at: &str,
        name: &str,
        what: impl Into<String>,
    ) -> Option<Value> {
        let before = members.shift_remove(name)?;
        self.record(Severity::Dropped, &step(at, name), what, (Some(before.clone()), None));
        Some(before)
    }

    /// Takes a member out whose meaning goes on elsewhere.
    pub(super) fn take(
        &mut self,
        members: &mut Map<String, Value>,
        at: &str,
        name: &str,
        what: impl Into<String>,
    ) -> Option<Value> {
        let taken = self.remove(members, at, name, what)?;
        if let Some(change) = self.changes.last_mut() {
            change.severity = Severity::Changed;
        }
        Some(taken)
    }

    /// Replaces the whole value at `at`.
    pub(super) fn replace(&mut self, place: &mut Value, at: &str, value: Value, what: &str) {
        let before = std::mem::replace(place, value.clone());
        self.record(Severity::Changed, at, what, (Some(before), Some(value)));
    }
}
