use std::fmt;

/// Rules on the fields that a structure has and the values that they take.
///
/// ```
/// use haft_adm::{ErrorKind, Tool, rule::Shape};
///
/// let errors = Tool::parse("[]").unwrap_err();
/// let found = Shape::WrongKind { expected: "an object", found: "an array" };
/// assert_eq!(errors.as_slice()[0].kind, ErrorKind::Shape(found));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// A value is of another JSON kind than its place calls for.
    WrongKind {
        /// What belongs there.
        expected: &'static str,
        /// What stands there.
        found: &'static str,
    },
    /// A field that must be present is not.
    FieldMissing {
        /// The field.
        field: &'static str,
        /// The structure that needs it.
        structure: &'static str,
    },
    /// A field that the structure does not have.
    FieldUnknown {
        /// The field as written.
        field: String,
        /// The structure that does not have it.
        structure: &'static str,
    },
    /// An optional field is `null` instead of absent.
    FieldNull {
        /// The field.
        field: &'static str,
    },
    /// Arrays and objects are nested too deeply.
    TooDeep {
        /// The deepest nesting that is taken.
        limit: usize,
    },
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::WrongKind { expected, found } => write!(f, "expected {expected}, found {found}"),
            Shape::FieldMissing { field, structure } => {
                write!(f, "{structure} needs the field `{field}`; add it")
            }
            Shape::FieldUnknown { field, structure } => {
                write!(f, "{structure} has no field `{field}`; remove it")
            }
            Shape::FieldNull { field } => {
                write!(f, "`{field}` is null; an optional field without a value is left out")
            }
            Shape::TooDeep { limit } => {
                write!(f, "nested more than {limit} levels deep; flatten the document")
            }
        }
    }
}
