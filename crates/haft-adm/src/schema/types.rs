use std::fmt;

use serde::{Serialize, Serializer};

/// The six types of the data model.
///
/// ```
/// use haft_adm::SchemaType;
///
/// assert_eq!(SchemaType::from_word("ARRAY"), Some(SchemaType::Array));
/// assert_eq!(SchemaType::from_word("array"), None);
/// assert_eq!(SchemaType::Array.to_string(), "ARRAY");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaType {
    /// Text.
    String,
    /// A double, or an integer that is written without a point.
    Number,
    /// A whole number from -2^63 to 2^63-1.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// A list of values that share a schema.
    Array,
    /// Values under names.
    Object,
}

impl SchemaType {
    /// All six.
    pub const ALL: [SchemaType; 6] = [
        SchemaType::String,
        SchemaType::Number,
        SchemaType::Integer,
        SchemaType::Boolean,
        SchemaType::Array,
        SchemaType::Object,
    ];

    /// The type as a document spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            SchemaType::String => "STRING",
            SchemaType::Number => "NUMBER",
            SchemaType::Integer => "INTEGER",
            SchemaType::Boolean => "BOOLEAN",
            SchemaType::Array => "ARRAY",
            SchemaType::Object => "OBJECT",
        }
    }

    /// The type that is spelt exactly so.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

impl fmt::Display for SchemaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl Serialize for SchemaType {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}
