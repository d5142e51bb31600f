use std::fmt;

use crate::SchemaType;

/// Rules on the arguments of a call, and on any value that is checked against a schema.
///
/// ```
/// use haft_adm::{ErrorKind, Schema, rule::Argument};
///
/// let errors = Schema::integer().check(&serde_json::json!(0.5)).unwrap_err();
/// let broken = Argument::NotWhole { number: "0.5".to_owned() };
/// assert_eq!(errors.as_slice()[0].kind, ErrorKind::Argument(broken));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// The tool has no such function.
    FunctionUnknown {
        /// The function as written.
        name: String,
        /// What the tool has, ready to be shown.
        declared: String,
    },
    /// A required argument or property is absent.
    Missing {
        /// Its name.
        name: String,
    },
    /// An argument or property that is not declared.
    Undeclared {
        /// Its name as written.
        name: String,
        /// What is declared, ready to be shown; empty if nothing is.
        declared: String,
    },
    /// A value of another type than declared.
    WrongType {
        /// The declared type.
        expected: SchemaType,
        /// What was given.
        found: &'static str,
    },
    /// A string that the enum does not list.
    NotInEnum {
        /// The string as written.
        value: String,
        /// What the enum lists, ready to be shown.
        allowed: String,
    },
    /// A number with a fraction where an INTEGER is declared.
    NotWhole {
        /// The number as written.
        number: String,
    },
    /// A whole number that 64 bits with a sign do not hold.
    OutOfRange {
        /// The number as written.
        number: String,
    },
    /// A whole number in floating-point notation, too large to be sure of its last digit.
    Inexact {
        /// The number as written.
        number: String,
    },
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::FunctionUnknown { name, declared } => {
                write!(f, "there is no function `{name}`; call {declared}")
            }
            Argument::Missing { name } => write!(f, "`{name}` is required; add it"),
            Argument::Undeclared { name, declared } if declared.is_empty() => {
                write!(f, "`{name}` is not declared, nor is anything else; remove it")
            }
            Argument::Undeclared { name, declared } => {
                write!(f, "`{name}` is not declared; remove it or use {declared}")
            }
            Argument::WrongType { expected, found: found @ "null" } => {
                write!(f, "expected {expected}, found {found}; leave out what has no value")
            }
            Argument::WrongType { expected, found } => {
                write!(f, "expected {expected}, found {found}")
            }
            Argument::NotInEnum { value, allowed } => {
                write!(f, "`{value}` is not allowed; use {allowed}")
            }
            Argument::NotWhole { number } => {
                write!(f, "`{number}` is not a whole number, but INTEGER takes only those")
            }
            Argument::OutOfRange { number } => {
                write!(f, "`{number}` does not fit INTEGER, which ends at -2^63 and 2^63-1")
            }
            Argument::Inexact { number } => write!(
                f,
                "`{number}` is too large for floating-point notation to be exact; \
                 write it without point and exponent"
            ),
        }
    }
}
