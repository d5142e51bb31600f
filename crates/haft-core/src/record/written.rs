//! JSON that is kept as the text that it will be shown as.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// JSON as text. A view is made once and from then on only stored and shown, so it is written where
/// it is made: one allocation instead of a tree, and nobody writes it again.
///
/// ```
/// use haft_core::record::Written;
/// use serde_json::json;
///
/// let view = Written::of(&json!({"top_k": 3})).unwrap();
/// assert_eq!(view.text(), r#"{"top_k":3}"#);
/// assert_eq!(view.value(), json!({"top_k": 3}));
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Written(Box<RawValue>);

impl Written {
    /// Writes a value.
    ///
    /// # Errors
    ///
    /// It cannot be written as JSON.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        to_raw_value(value).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Reads it back.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or_default()
    }
}

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl From<Value> for Written {
    fn from(value: Value) -> Self {
        // A value always can be written.
        Self(to_raw_value(&value).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }
}
