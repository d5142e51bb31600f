use std::fmt;

use crate::SchemaType;

/// Rules on schemas.
///
/// ```
/// use haft_adm::{ErrorKind, Schema, rule};
///
/// let errors = Schema::parse(r#"{"type": "STRING", "enum": []}"#).unwrap_err();
/// assert_eq!(errors.as_slice()[0].kind, ErrorKind::Schema(rule::Schema::EnumEmpty));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schema {
    /// `type` is none of the six.
    TypeUnknown {
        /// The type as written.
        found: String,
    },
    /// A field that belongs to another type.
    FieldMisplaced {
        /// The field.
        field: &'static str,
        /// The only type that has it.
        belongs: SchemaType,
        /// The type that it was written on.
        found: SchemaType,
    },
    /// An ARRAY does not say what it holds.
    ItemsMissing,
    /// A required property is not declared.
    RequiredUndeclared {
        /// The property.
        name: String,
    },
    /// A property is required more than once.
    RequiredTwice {
        /// The property.
        name: String,
    },
    /// A property is declared more than once; only possible when building in Rust.
    PropertyTwice {
        /// The property.
        name: String,
    },
    /// `enum` allows nothing.
    EnumEmpty,
    /// `enum` lists a value more than once.
    EnumTwice {
        /// The value.
        value: String,
    },
    /// Schemas are nested too deeply.
    TooDeep,
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schema::TypeUnknown { found } => write!(
                f,
                "`{found}` is not a schema type; \
                 use STRING, NUMBER, INTEGER, BOOLEAN, ARRAY or OBJECT"
            ),
            Schema::FieldMisplaced { field, belongs, found } => write!(
                f,
                "`{field}` belongs to {belongs}, not to {found}; remove it or change the type"
            ),
            Schema::ItemsMissing => {
                write!(f, "an ARRAY needs `items`; add the schema of its elements")
            }
            Schema::RequiredUndeclared { name } => {
                write!(f, "`{name}` is required but not declared; add it to `properties`")
            }
            Schema::RequiredTwice { name } => {
                write!(f, "`{name}` is required twice; keep one")
            }
            Schema::PropertyTwice { name } => {
                write!(f, "the property `{name}` is declared twice; keep one")
            }
            Schema::EnumEmpty => write!(
                f,
                "the enum is empty, so no value could match; list a value or leave `enum` out"
            ),
            Schema::EnumTwice { value } => {
                write!(f, "the enum lists `{value}` twice; keep one")
            }
            Schema::TooDeep => write!(
                f,
                "schemas are nested more than {} levels deep; flatten them",
                crate::SCHEMA_LEVELS
            ),
        }
    }
}
