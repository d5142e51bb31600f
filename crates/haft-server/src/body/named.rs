//! JSON whose objects are objects. Serde also takes a list for a struct, field by field: then a
//! value means whatever stands at its place, and an order of fields that nobody promised decides.

use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use serde_json::{Error, Value};

/// What is wanted wherever something has fields.
pub(super) const AN_OBJECT: &str = "a JSON object: `{…}`";

/// A value that is read by the names of its fields, at every depth.
pub(super) struct Named(pub(super) Value);

impl Named {
    fn fields<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let found = match &self.0 {
            Value::Object(_) => return self.deserialize_any(visitor),
            Value::Array(_) => "a list",
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
        };
        Err(Error::custom(format!("{found} stands where there must be {AN_OBJECT}")))
    }
}

impl IntoDeserializer<'_, Error> for Named {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The members of an object. What is wrong with the value of one is said with its name.
struct Members {
    fields: serde_json::map::IntoIter,
    at: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Members {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        self.at = self.fields.next();
        let name = self.at.as_ref().map(|(name, _)| name.as_str().into_deserializer());
        name.map(|name: StrDeserializer<'_, Error>| seed.deserialize(name)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, value) =
            self.at.take().ok_or_else(|| Error::custom("a value without a name"))?;
        seed.deserialize(Named(value)).map_err(|error| within(&name, &error))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

/// What is wrong, with the name of the member that it is wrong with.
fn within(name: &str, error: &Error) -> Error {
    let said = error.to_string();
    let inner = said.strip_prefix('`').and_then(|rest| rest.split_once("`: "));
    match inner.filter(|(path, _)| !path.contains('`')) {
        Some((path, why)) => Error::custom(format!("`{name}.{path}`: {why}")),
        // Some messages of ours begin with the name.
        None if said.starts_with(&format!("`{name}`")) => Error::custom(said),
        None => Error::custom(format!("`{name}`: {said}")),
    }
}

impl<'de> Deserializer<'de> for Named {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Named));
                let read = visitor.visit_seq(&mut items)?;
                items.end()?;
                Ok(read)
            }
            Value::Object(fields) => {
                let fields = fields.into_iter();
                visitor.visit_map(Members { fields, at: None })
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                plain.deserialize_any(visitor)
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.is_null() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.fields(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.fields(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Outer {
        list: Vec<Inner>,
        one: Option<Inner>,
        pair: Option<(u8, f64)>,
        words: BTreeMap<String, i64>,
        any: Value,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    struct Inner {
        kind: Kind,
        id: Option<u64>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        #[default]
        Plain,
        Held(bool),
    }

    /// What is read is what serde reads, unless a list would do for an object.
    #[track_caller]
    fn check(value: Value, expected: Result<(), &str>) {
        let read = Outer::deserialize(Named(value.clone())).map_err(|error| error.to_string());
        match expected {
            Ok(()) => assert_eq!(read.unwrap(), serde_json::from_value(value).unwrap()),
            Err(why) => {
                let found = read.unwrap_err();
                assert!(found.contains(why), "{value}: {found}");
            }
        }
    }

    #[test]
    fn objects_are_read_by_name_and_lists_are_no_objects() {
        check(json!({}), Ok(()));
        check(
            json!({ "list": [{ "kind": "plain", "id": 18_446_744_073_709_551_615u64 },
                             { "kind": { "held": true } }],
                    "one": null, "pair": [1, 2], "words": { "a": -1 }, "any": [{ "b": [] }] }),
            Ok(()),
        );
        check(json!({ "one": { "kind": "plain", "id": null } }), Ok(()));
        check(json!([]), Err("a list stands where there must be a JSON object"));
        check(json!({ "one": ["plain", 1] }), Err("a list stands where"));
        check(json!({ "list": [["plain", 1]] }), Err("a list stands where"));
        check(json!({ "list": ["plain"] }), Err("a text stands where"));
        check(json!({ "words": [] }), Err("a list stands where"));
        check(json!({ "one": { "kind": "odd" } }), Err("unknown variant `odd`"));
        check(json!({ "two": 1 }), Err("unknown field `two`"));
        check(json!({ "words": { "a": "b" } }), Err("`words.a`: invalid type: string \"b\""));
        check(json!({ "list": [{ "id": -1 }] }), Err("`list.id`: invalid value"));
        check(json!({ "one": { "kind": "odd" } }), Err("`one.kind`: unknown variant `odd`"));
        check(json!({ "pair": [1, 2, 3] }), Err("invalid length 3"));
    }
}
