//! What remains of an argument that may not be seen: its shape, and a mark to recognise it by.

use std::io::{self, Write};

use haft_core::digest::{canonical, push_hex};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use sha2::Sha256;
use zeroize::Zeroizing;

const PREFIX: &str = "hmac-sha256:";

/// Marks values so that equal ones can be recognised and none can be guessed.
///
/// A plain digest of a short value is the value: all phone numbers or four-digit codes are hashed
/// in seconds. So the mark is an HMAC under a key that never leaves the store, and it covers the
/// argument's name, so that equal values of different arguments do not give each other away.
pub struct Marker {
    /// What every mark starts from: the key is worked in once. None if HMAC refused it.
    keyed: Option<Hmac<Sha256>>,
}

impl Marker {
    /// With the store's key.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        let key = Zeroizing::new(key);
        Self { keyed: Hmac::new_from_slice(&*key).ok() }
    }

    /// `{"redacted": "string(12)", "digest": "hmac-sha256:…"}`
    pub(super) fn mark<'v>(&self, path: &str, value: &'v Value) -> Mark<'v> {
        Mark { value, digest: self.digest(path, value) }
    }

    /// Over the canonical JSON of path and value, as a list.
    fn digest(&self, path: &str, value: &Value) -> String {
        // HMAC takes keys of any length; were it to refuse one, nothing may be shown instead.
        let Some(mut covered) = self.keyed.clone().map(Covered) else { return String::new() };
        let written = (|| {
            covered.write_all(b"[")?;
            serde_json::to_writer(&mut covered, path)?;
            covered.write_all(b",")?;
            canonically(&mut covered, value)?;
            covered.write_all(b"]")
        })();
        if written.is_err() {
            return String::new();
        }
        let mut digest = String::with_capacity(PREFIX.len() + 64);
        digest.push_str(PREFIX);
        push_hex(&mut digest, &covered.0.finalize().into_bytes());
        digest
    }
}

/// What stands in the place of a value that may not be seen.
pub(super) struct Mark<'v> {
    value: &'v Value,
    digest: String,
}

impl Serialize for Mark<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut mark = to.serialize_map(Some(2))?;
        mark.serialize_entry("redacted", &Shape(self.value))?;
        mark.serialize_entry("digest", &self.digest)?;
        mark.end()
    }
}

/// What a mark covers is written straight into it.
struct Covered(Hmac<Sha256>);

impl Write for Covered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Canonical JSON composes, and texts have one spelling: only numbers, and objects for the order
/// of their members, need more work.
fn canonically(to: &mut Covered, value: &Value) -> io::Result<()> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(serde_json::to_writer(to, value)?),
        Value::Array(list) => {
            for (at, value) in list.iter().enumerate() {
                to.write_all(if at == 0 { b"[" } else { b"," })?;
                canonically(to, value)?;
            }
            to.write_all(if list.is_empty() { b"[]" } else { b"]" })
        }
        Value::Number(_) | Value::Object(_) => to.write_all(canonical(value).as_bytes()),
    }
}

/// What a value is, without what it says.
struct Shape<'v>(&'v Value);

impl Serialize for Shape<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => to.serialize_str("null"),
            Value::Bool(_) => to.serialize_str("boolean"),
            Value::Number(_) => to.serialize_str("number"),
            Value::String(text) => {
                to.collect_str(&format_args!("string({})", text.chars().count()))
            }
            Value::Array(list) => to.collect_str(&format_args!("array({})", list.len())),
            Value::Object(map) => to.collect_str(&format_args!("object({})", map.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_core::digest::hex;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mark_is_over_the_canonical_json_of_path_and_value() {
        let values = [
            json!(null),
            json!(true),
            json!(1.0),
            json!("tab\t quote\" bell\u{7} delete\u{7f} é \u{1f512} \u{2028}"),
            json!([]),
            json!({"b": [1.50, "x"], "a": {"é": null, "e": false}}),
            json!(["one", ["two", 2.0], {"z": 1, "y": []}]),
        ];
        for value in values {
            let mut mac = Hmac::<Sha256>::new_from_slice(&[7; 32]).unwrap();
            mac.update(canonical(&json!(["/a\"b", value])).as_bytes());
            let expected = format!("hmac-sha256:{}", hex(&mac.finalize().into_bytes()));
            assert_eq!(Marker::new([7; 32]).digest("/a\"b", &value), expected, "{value}");
        }
    }
}
