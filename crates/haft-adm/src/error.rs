//! What went wrong, where, and in which function.

use std::fmt;

use crate::rule;
use crate::strict::{Position, Problem};

/// One broken rule, with the place that breaks it.
///
/// ```
/// let errors = haft_adm::FunctionCall::parse(r#"{"name": "send", "args": []}"#).unwrap_err();
/// let error = errors.iter().next().unwrap();
/// assert_eq!(error.function.as_deref(), Some("send"));
/// assert_eq!(error.pointer, "/args");
/// assert_eq!(
///     error.to_string(),
///     "function `send`, at `/args`: expected an object, found an array"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The function concerned, as far as its name could be read.
    pub function: Option<String>,
    /// JSON pointer (RFC 6901) into the document; empty for the document itself.
    ///
    /// What is missing is reported at the object that lacks it.
    pub pointer: String,
    /// Where in the text, for errors that were found while reading text.
    pub position: Option<Position>,
    /// Which rule was broken.
    pub kind: ErrorKind,
}

/// The rule that was broken, by the family it belongs to.
///
/// Closed on purpose: an edge that translates errors should break when a family is added.
///
/// ```
/// use haft_adm::{ErrorKind, Schema, rule};
///
/// let errors = Schema::parse(r#"{"type": "ARRAY"}"#).unwrap_err();
/// assert_eq!(errors.as_slice()[0].kind, ErrorKind::Schema(rule::Schema::ItemsMissing));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not JSON, or not JSON that can be kept as it was written.
    Text(Problem),
    /// A structure has the wrong fields, or a field the wrong kind of value.
    Shape(rule::Shape),
    /// A tool or a function declaration breaks a rule of its own.
    Declaration(rule::Declaration),
    /// A schema contradicts itself.
    Schema(rule::Schema),
    /// A call does not fit the function that it names.
    Argument(rule::Argument),
    /// A result is neither a success nor an error, or is both.
    Outcome(rule::Outcome),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut place = Vec::new();
        if let Some(function) = &self.function {
            place.push(format!("function `{function}`"));
        }
        if !self.pointer.is_empty() {
            place.push(format!("at `{}`", self.pointer));
        }
        if let Some(position) = self.position {
            place.push(position.to_string());
        }
        match place.is_empty() {
            true => write!(f, "{}", self.kind),
            false => write!(f, "{}: {}", place.join(", "), self.kind),
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Text(problem) => problem.fmt(f),
            ErrorKind::Shape(rule) => rule.fmt(f),
            ErrorKind::Declaration(rule) => rule.fmt(f),
            ErrorKind::Schema(rule) => rule.fmt(f),
            ErrorKind::Argument(rule) => rule.fmt(f),
            ErrorKind::Outcome(rule) => rule.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

macro_rules! family {
    ($($family:ident($rule:ty)),* $(,)?) => {$(
        impl From<$rule> for ErrorKind {
            fn from(rule: $rule) -> Self {
                ErrorKind::$family(rule)
            }
        }
    )*};
}

family! {
    Text(Problem),
    Shape(rule::Shape),
    Declaration(rule::Declaration),
    Schema(rule::Schema),
    Argument(rule::Argument),
    Outcome(rule::Outcome),
}
