//! JSON that is passed on as it came.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// One JSON text, known to be well-formed and otherwise untouched: numbers keep their digits, and
/// keys their order and their repetitions.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// The text, if it is JSON.
    ///
    /// # Errors
    /// Where and how it is not.
    pub fn new(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    /// What serde writes of it; `None` where it cannot be written.
    pub(crate) fn of(value: &impl Serialize) -> Option<Self> {
        serde_json::value::to_raw_value(value).ok().map(Self)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub(crate) fn into_text(self) -> String {
        Box::<str>::from(self.0).into_string()
    }

    /// What it says, read leniently: the last of repeated keys, the nearest of large numbers. `None`
    /// where it says what no [`Value`] can: half of a character, or more depth than is sane.
    #[must_use]
    pub fn value(&self) -> Option<Value> {
        serde_json::from_str(self.as_str()).ok()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}
