use std::fmt;

/// Rules on results and their errors.
///
/// ```
/// use haft_adm::{ErrorKind, ErrorObject, rule::Outcome};
///
/// let errors = ErrorObject::new("").unwrap_err();
/// assert_eq!(errors.as_slice()[0].kind, ErrorKind::Outcome(Outcome::MessageBlank));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// `status` is neither of the two.
    StatusUnknown {
        /// The status as written.
        found: String,
    },
    /// A success without content.
    ContentMissing,
    /// A success that carries an error.
    ErrorOnSuccess,
    /// An error that does not say what failed.
    ErrorMissing,
    /// An error that carries content.
    ContentOnError,
    /// An error whose message is empty or only white space.
    MessageBlank,
    /// A result that answers another function than the one that was called.
    OtherFunction {
        /// The function that was called.
        called: String,
        /// The function that the result names.
        answered: String,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::StatusUnknown { found } => {
                write!(f, "`{found}` is not a status; use SUCCESS or ERROR")
            }
            Outcome::ContentMissing => {
                write!(f, "SUCCESS needs `content`; add it, if only as null")
            }
            Outcome::ErrorOnSuccess => {
                write!(f, "SUCCESS cannot carry `error`; remove it or use ERROR")
            }
            Outcome::ErrorMissing => write!(f, "ERROR needs `error`; say what failed"),
            Outcome::ContentOnError => {
                write!(f, "ERROR cannot carry `content`; remove it or use SUCCESS")
            }
            Outcome::MessageBlank => write!(f, "the message is blank; say what failed"),
            Outcome::OtherFunction { called, answered } => {
                write!(f, "the call was to `{called}`, but the result names `{answered}`")
            }
        }
    }
}
