//! How a schema allows null.

use serde_json::{Map, Value};

use super::{Node, Plan, Walk, object_of, of_kind, word};
use crate::loss::Fate;
use crate::tools::profile::Nulls;

impl Walk<'_> {
    /// Nothing but null.
    pub(super) fn only_null(&mut self, at: &str) -> Node {
        match self.profile.nulls {
            Nulls::TypeList | Nulls::AnyOf => {
                Node { null: true, ..Node::of(of_kind("null"), Plan::Keep) }
            }
            Nulls::Nullable | Nulls::Unsaid => {
                let note = "only null is allowed, which is said as a word";
                self.lose(at.to_owned(), "type", Fate::Changed, note);
                let words = vec![("null".to_owned(), Value::Null)];
                Node::of(one_word("null"), Plan::Words(words))
            }
        }
    }
}

/// Null among the types and values, or beside them where there are none.
pub(super) fn listing_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    if let Some(value) = schema.shift_remove("const") {
        schema.insert("enum".to_owned(), Value::Array(vec![value, Value::Null]));
    }
    match schema.get_mut("type") {
        Some(kind) => {
            if kind.as_str().is_some_and(|name| name != "null") {
                *kind = Value::Array(vec![kind.take(), word("null")]);
            }
            schema
        }
        None => beside_null(schema),
    }
}

/// Null as an alternative.
pub(super) fn beside_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    let null = Value::Object(of_kind("null"));
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        if !branches.contains(&null) {
            branches.push(null);
        }
        return schema;
    }
    if schema.get("type").is_some_and(|name| name == "null") {
        return schema;
    }
    let mut outer = Map::new();
    for keyword in ["title", "description"] {
        if let Some(value) = schema.shift_remove(keyword) {
            outer.insert(keyword.to_owned(), value);
        }
    }
    outer.insert("anyOf".to_owned(), Value::Array(vec![Value::Object(schema), null]));
    outer
}

/// A text that is always this one.
pub(super) fn one_word(text: &str) -> Map<String, Value> {
    object_of([("type", word("string")), ("enum", Value::Array(vec![word(text)]))])
}
