//! `type`.

use serde_json::Value;

use super::pair::Pair;
use super::values::allowed;
use super::{Shift, Side, Walk};
use crate::diff::number;

/// A set of types. `number` is whole numbers and fractions, so that `integer` is a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    const NONE: Self = Self(0);
    const ALL: Self = Self(0b111_1111);
    const WHOLE: Self = Self(1);

    /// The types that `type` names; all of them where there is none.
    fn declared(schema: &Value) -> Self {
        match schema.get("type") {
            None => Self::ALL,
            Some(Value::Array(names)) => names.iter().map(Self::named).fold(Self::NONE, Self::or),
            Some(name) => Self::named(name),
        }
    }

    /// The types that a value can really have: those of its listed values, where it has such.
    fn possible(schema: &Value) -> Self {
        let declared = Self::declared(schema);
        match allowed(schema) {
            Some(values) => {
                let listed = values.iter().map(|value| Self::of(value)).fold(Self::NONE, Self::or);
                Self(declared.0 & listed.0)
            }
            None => declared,
        }
    }

    fn named(name: &Value) -> Self {
        match name.as_str() {
            Some("integer") => Self::WHOLE,
            Some("number") => Self(0b11),
            Some("string") => Self(1 << 2),
            Some("boolean") => Self(1 << 3),
            Some("null") => Self(1 << 4),
            Some("array") => Self(1 << 5),
            Some("object") => Self(1 << 6),
            Some(_) | None => Self::NONE,
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Number(n) if number::whole(n).is_some() => Self::WHOLE,
            Value::Number(_) => Self(1 << 1),
            Value::String(_) => Self(1 << 2),
            Value::Bool(_) => Self(1 << 3),
            Value::Null => Self(1 << 4),
            Value::Array(_) => Self(1 << 5),
            Value::Object(_) => Self(1 << 6),
        }
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }
}

/// Whether only whole numbers are accepted.
pub(super) fn is_whole(schema: &Value) -> bool {
    Types::declared(schema) == Types::WHOLE
}

impl<'a> Walk<'a> {
    pub(super) fn types(&mut self, pair: &Pair<'a>) {
        let (old, new) = (pair.old.schema, pair.new.schema);
        let loses = !Types::possible(old).within(Types::declared(new));
        let gains = !Types::possible(new).within(Types::declared(old));
        let (shift, how) = match (loses, gains) {
            (false, false) => return,
            (false, true) => (Shift::Wider, "widened"),
            (true, false) => (Shift::Narrower, "narrowed"),
            (true, true) => (Shift::Other, "changed"),
        };
        let why = match (self.side, gains) {
            (Side::Results, true) => ": readers may not expect it",
            (Side::Results, false) | (Side::Arguments { .. }, _) => "",
        };
        let what = format!("type {how} from {} to {}{why}", said(old), said(new));
        self.tell(pair, "type", shift, &what);
    }
}

fn said(schema: &Value) -> String {
    match schema.get("type") {
        None => "any".to_owned(),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        Some(name) => name.as_str().unwrap_or_default().to_owned(),
    }
}
