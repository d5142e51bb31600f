//! What somebody fills in for a parameter, by what its schema says.

use haft_core::parameters::{Cardinality, Kind, Parameter};
use serde_json::Value;

/// Groups in groups in groups are written as JSON.
const DEEPEST: usize = 3;
/// So many references and alternatives are followed.
const FOLLOWED: usize = 8;

/// What somebody fills in for a parameter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Fields of its own.
    Group,
    /// One of a list.
    Choice,
    /// Yes, no, or nothing.
    YesNo,
    /// A number.
    Number,
    /// Text.
    Text,
    /// One value a line.
    Lines,
    /// JSON.
    Json,
}

/// A schema with the references in it.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a>(pub(super) &'a Value);

impl<'a> Typed<'a> {
    /// The schema of a member.
    pub(super) fn member(self, schema: &'a Value, name: &str) -> &'a Value {
        let member = self.follow(schema).get("properties").and_then(|all| all.get(name));
        member.map_or(&Value::Null, |member| self.follow(member))
    }

    fn follow(self, schema: &'a Value) -> &'a Value {
        let target = |schema: &'a Value| {
            let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
            self.0.pointer(pointer)
        };
        (0..FOLLOWED).fold(schema, |schema, _| target(schema).unwrap_or(schema))
    }

    pub(super) fn field(self, parameter: &Parameter, schema: &'a Value, depth: usize) -> Field {
        let is_single =
            matches!(parameter.cardinality, Cardinality::Single | Cardinality::Optional);
        match (parameter.cardinality, parameter.kind) {
            (Cardinality::Map, _) | (_, Kind::JsonArray) => Field::Json,
            (Cardinality::List, Kind::JsonObject) => Field::Json,
            _ if self.is_open(parameter, schema) => Field::Json,
            (Cardinality::List, _) => Field::Lines,
            (_, Kind::JsonObject)
                if is_single && !parameter.fields.is_empty() && depth < DEEPEST =>
            {
                Field::Group
            }
            (_, Kind::JsonObject) => Field::Json,
            _ if !parameter.allowed.is_empty() => Field::Choice,
            (_, Kind::Boolean) => Field::YesNo,
            (_, Kind::Integer | Kind::Number) => Field::Number,
            (_, Kind::String | Kind::Timestamp | Kind::Uri | Kind::EnumToken)
            | (_, Kind::AttachmentReference) => Field::Text,
        }
    }

    /// Whether a value need not be text, though the typed view calls it so: that has no word for several
    /// types, or none.
    fn is_open(self, parameter: &Parameter, schema: &'a Value) -> bool {
        let items = || schema.get("items").unwrap_or(&Value::Null);
        let each = if parameter.cardinality == Cardinality::List { items() } else { schema };
        parameter.kind == Kind::String
            && parameter.allowed.is_empty()
            && !self.is_text(each, FOLLOWED)
    }

    /// Whether whatever fits is text, or nothing.
    fn is_text(self, schema: &'a Value, left: usize) -> bool {
        let schema = self.follow(schema);
        let is_text = |name: &Value| name == "string" || name == "null";
        let part = |name: &str| schema.get(name).and_then(Value::as_array);
        let below = |one: &'a Value| left > 0 && self.is_text(one, left - 1);
        let either = |name: &str| part(name).is_some_and(|all| all.iter().all(below));
        match schema.get("type") {
            Some(Value::Array(names)) => names.iter().all(is_text),
            Some(name) => is_text(name),
            None => {
                either("anyOf")
                    || either("oneOf")
                    || part("allOf").is_some_and(|all| all.iter().any(below))
            }
        }
    }
}
