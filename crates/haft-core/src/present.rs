//! Values that may be absent, where `null` is a value.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a member that is there, `null` too. Serde takes `null` for absent, and a registry that is read back
/// would say something else than the one that was written.
pub(crate) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}
