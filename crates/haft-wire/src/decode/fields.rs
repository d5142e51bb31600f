//! A provider's object of which we know some fields and pass on all of them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::raw::RawJson;

/// The fields in their order, each as it came.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, Box<RawValue>)>);

impl Fields {
    /// The object that a text holds.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn get(&self, name: &str) -> Option<&RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// The field's text, where it is a string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The field's own text, where it is there and not null.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        self.get(name).map(RawValue::get).filter(|text| *text != "null")
    }

    /// The object that the field is.
    pub(super) fn object(&self, name: &str) -> Option<Self> {
        Self::read(self.get(name)?.get())
    }

    /// The objects of the list that the field is.
    pub(super) fn objects(&self, name: &str) -> Vec<Self> {
        let list = self.get(name).map(|list| serde_json::from_str::<Vec<&RawValue>>(list.get()));
        let list = list.and_then(Result::ok).unwrap_or_default();
        list.into_iter().filter_map(|one| Self::read(one.get())).collect()
    }

    /// Puts a value in the field's place, or behind all others.
    pub(super) fn set(&mut self, name: &str, value: Option<RawJson>) {
        let Some(value) = value.and_then(|value| RawValue::from_string(value.into_text()).ok())
        else {
            return;
        };
        match self.0.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    pub(super) fn raw(&self) -> Option<RawJson> {
        RawJson::of(self)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Read)
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
