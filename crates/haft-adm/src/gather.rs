//! From serde to a JSON value, as strictly as from text.
//!
//! `serde_json::Value` would deserialize itself, but it keeps the last of two equal keys and
//! relies on the format to stop at some depth.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::path::Path;
use crate::report::Report;
use crate::strict::{MAX_DEPTH, Problem};
use crate::words::excerpt;

pub(crate) fn value<'de, D: Deserializer<'de>>(
    from: D,
    report: &mut Report,
) -> Result<Value, D::Error> {
    Gather { path: &Path::Root, depth: MAX_DEPTH, report }.deserialize(from)
}

struct Gather<'a> {
    path: &'a Path<'a>,
    depth: usize,
    report: &'a mut Report,
}

impl Gather<'_> {
    fn deeper<E: Error>(&self) -> Result<usize, E> {
        let limit = MAX_DEPTH;
        self.depth.checked_sub(1).ok_or_else(|| {
            E::custom(format_args!("at `{}`: {}", self.path.pointer(), Problem::TooDeep { limit }))
        })
    }
}

impl<'de> DeserializeSeed<'de> for Gather<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Gather<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(Number::from_f64(value).unwrap_or_else(|| {
            self.report.add(self.path, Problem::NotFinite);
            Number::from(0)
        })))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut list = Vec::new();
        loop {
            let path = self.path.index(list.len());
            let item = Gather { path: &path, depth, report: self.report };
            match items.next_element_seed(item)? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = self.path.key(&key);
            let taken = map.contains_key(&key);
            if taken {
                self.report.add(&path, Problem::DuplicateKey { key: excerpt(&key) });
            }
            let value =
                entries.next_value_seed(Gather { path: &path, depth, report: self.report })?;
            if !taken {
                map.insert(key, value);
            }
        }
        Ok(Value::Object(map))
    }
}
