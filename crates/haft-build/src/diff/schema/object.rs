//! `properties`, `required` and `additionalProperties`.

use serde_json::{Map, Value};

use super::pair::{Pair, step};
use super::{ANYTHING, Shift, Side, Walk};
use crate::diff::change::{Change, Impact, shown};

impl<'a> Walk<'a> {
    pub(super) fn object(&mut self, pair: &Pair<'a>) {
        let (old, new) = (properties(pair.old.schema), properties(pair.new.schema));
        let names = |map: Option<&'a Map<String, Value>>| map.into_iter().flatten();
        for (name, schema) in names(old) {
            match new.and_then(|new| new.get(name)) {
                Some(counterpart) => self.compare(member(pair, name, schema, counterpart)),
                None => self.removed(pair, name),
            }
        }
        for (name, schema) in names(new) {
            if !old.is_some_and(|old| old.contains_key(name)) {
                self.added(pair, name, schema);
            }
        }
        self.required(pair);
        self.additional(pair);
    }

    /// Even where unlisted members are accepted, the tool no longer promises to heed this one.
    fn removed(&mut self, pair: &Pair<'a>, name: &str) {
        let why = match (self.side, rest(pair.new.schema)) {
            (Side::Arguments { .. }, Rest::Closed) => ": calls that send it are refused",
            (Side::Arguments { .. }, Rest::Open | Rest::Schema(_)) => {
                ": calls that send it no longer get what it stood for"
            }
            (Side::Results, _) => ": readers miss it",
        };
        let subject = self.side.subject(&pair.member(name));
        let pointer = format!("{}/properties/{}", pair.old.pointer, step(name));
        let before = properties(pair.old.schema).and_then(|map| map.get(name)).cloned();
        let change = Change::new(Impact::Breaking, pointer, format!("{subject} removed{why}"));
        self.changes.push(change.optional_values(before, None::<Value>));
    }

    fn added(&mut self, pair: &Pair<'a>, name: &str, schema: &'a Value) {
        let subject = self.side.subject(&pair.member(name));
        let pointer = format!("{}/properties/{}", pair.new.pointer, step(name));
        let newly_required = requires(pair.new.schema, name) && !requires(pair.old.schema, name);
        let default = schema.get("default");
        let patterned = pair.has_either(&["patternProperties"]);
        let (impact, what) = match (self.side, newly_required, rest(pair.old.schema)) {
            (Side::Results, _, _) => (Impact::Compatible, format!("{subject} added")),
            (Side::Arguments { .. }, true, _) => {
                (Impact::Breaking, format!("required {subject} added"))
            }
            (Side::Arguments { .. }, false, Rest::Open) if !accepts_anything(schema) => (
                Impact::Breaking,
                format!("optional {subject} added: until now any value was accepted there"),
            ),
            (Side::Arguments { .. }, false, _) if patterned => (
                Impact::Breaking,
                format!("optional {subject} added: `patternProperties` may have accepted it"),
            ),
            (Side::Arguments { .. }, false, _) => {
                (Impact::Compatible, format!("optional {subject} added"))
            }
        };
        // A value that nobody asked for, sent with every stored call from now on.
        let fills_in = default.filter(|_| self.side == (Side::Arguments { writes: true }));
        let what = match fills_in {
            Some(value) => format!("{what}; calls that leave it out now send {}", shown(value)),
            None => what,
        };
        let change = Change::new(impact, pointer, what);
        let change = change.optional_values(None::<Value>, Some(schema.clone()));
        self.changes.push(change.look_if(fills_in.is_some()));
        // It was a member like any other before; what those had to be is known.
        if let Rest::Schema(rest) = rest(pair.old.schema) {
            self.compare(member(pair, name, rest, schema));
        }
    }

    fn required(&mut self, pair: &Pair<'a>) {
        let (old, new) = (pair.old.schema, pair.new.schema);
        let told = |here: &Value, there: &Value, name: &str| has(here, name) && !has(there, name);
        for name in required(new).filter(|name| !requires(old, name) && !told(new, old, name)) {
            self.turned(pair, name, Shift::Narrower, "became required");
        }
        for name in required(old).filter(|name| !requires(new, name) && !told(old, new, name)) {
            self.turned(pair, name, Shift::Wider, "became optional");
        }
    }

    fn turned(&mut self, pair: &Pair<'a>, name: &str, shift: Shift, how: &str) {
        let subject = self.side.subject(&pair.member(name));
        let impact = self.side.impact(shift);
        let (before, after) = pair.keyword("required");
        let change = Change::new(impact, pair.pointer("required"), format!("{subject} {how}"));
        self.changes.push(change.optional_values(before.cloned(), after.cloned()));
    }

    /// Members that are not listed. Readers pass over those, unless they had a schema: then the
    /// object is a map, and they are what it is for.
    fn additional(&mut self, pair: &Pair<'a>) {
        let keyword = "additionalProperties";
        match (rest(pair.old.schema), rest(pair.new.schema)) {
            (Rest::Closed, Rest::Closed) | (Rest::Open, Rest::Open) => {}
            (Rest::Closed, Rest::Open | Rest::Schema(_)) => {
                let verb = self.side.verb();
                let what = format!("now {verb} members that are not listed");
                self.push(pair, keyword, Impact::Compatible, &what);
            }
            (Rest::Open, Rest::Closed) => {
                let verb = self.side.verb();
                let what = format!("no longer {verb} members that are not listed");
                self.tell(pair, keyword, Shift::Narrower, &what);
            }
            (Rest::Schema(_), Rest::Closed) => {
                let verb = self.side.verb();
                let what = format!("no longer {verb} members of any name");
                self.push(pair, keyword, Impact::Breaking, &what);
            }
            (Rest::Open | Rest::Schema(_), Rest::Open | Rest::Schema(_)) => {
                self.compare(pair.below(keyword, pair.member("*")));
            }
        }
    }
}

/// What becomes of members that are not listed.
#[derive(Clone, Copy)]
enum Rest<'a> {
    Closed,
    Open,
    Schema(&'a Value),
}

fn rest(schema: &Value) -> Rest<'_> {
    match schema.get("additionalProperties") {
        None => Rest::Open,
        Some(Value::Bool(false)) => Rest::Closed,
        Some(schema) if accepts_anything(schema) => Rest::Open,
        Some(schema) => Rest::Schema(schema),
    }
}

fn accepts_anything(schema: &Value) -> bool {
    *schema == ANYTHING
        || schema
            .as_object()
            .is_some_and(|keywords| keywords.keys().all(|keyword| super::notes::is_note(keyword)))
}

fn member<'a>(pair: &Pair<'a>, name: &str, old: &'a Value, new: &'a Value) -> Pair<'a> {
    let path = format!("/properties/{}", step(name));
    Pair {
        old: pair.old.below(Some(old), &path),
        new: pair.new.below(Some(new), &path),
        name: pair.member(name),
    }
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn has(schema: &Value, name: &str) -> bool {
    properties(schema).is_some_and(|map| map.contains_key(name))
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn requires(schema: &Value, name: &str) -> bool {
    required(schema).any(|required| required == name)
}
