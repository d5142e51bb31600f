//! What remains of an argument that may not be seen: its shape, and a mark to recognise it by.

use haft_core::digest::{canonical, hex};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Marks values so that equal ones can be recognised and none can be guessed.
///
/// A plain digest of a short value is the value: all phone numbers or four-digit codes are hashed
/// in seconds. So the mark is an HMAC under a key that never leaves the store, and it covers the
/// argument's name, so that equal values of different arguments do not give each other away.
pub struct Marker {
    key: Zeroizing<[u8; 32]>,
}

impl Marker {
    /// With the store's key.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self { key: Zeroizing::new(key) }
    }

    /// `{"redacted": "string(12)", "digest": "hmac-sha256:…"}`
    pub(super) fn mark(&self, path: &str, value: &Value) -> Value {
        json!({"redacted": shape(value), "digest": self.digest(path, value)})
    }

    fn digest(&self, path: &str, value: &Value) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&*self.key) else {
            // HMAC takes keys of any length; were it to refuse one, nothing may be shown instead.
            return String::new();
        };
        mac.update(canonical(&json!([path, value])).as_bytes());
        format!("hmac-sha256:{}", hex(&mac.finalize().into_bytes()))
    }
}

/// What a value is, without what it says.
fn shape(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(text) => format!("string({})", text.chars().count()),
        Value::Array(list) => format!("array({})", list.len()),
        Value::Object(map) => format!("object({})", map.len()),
    }
}
