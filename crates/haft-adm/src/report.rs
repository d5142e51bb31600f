//! Gathering every error of a document before giving up on it.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::path::Path;
use crate::strict::Position;
use crate::words::excerpt;

/// Errors beyond these are counted, not kept: a hostile document of a few megabytes can hold
/// millions of mistakes, or a few under a key that is itself megabytes long.
const MOST_ERRORS: usize = 1_000;
const MOST_POINTER_BYTES: usize = 1 << 20;

/// Everything that is wrong with a document; never empty.
///
/// At most 1,000 errors are kept (fewer if their pointers add up to more than a mebibyte);
/// [`omitted`](Errors::omitted) says how many were left out.
///
/// ```
/// let errors = haft_adm::Schema::parse(r#"{"type": "TEXT", "enum": []}"#).unwrap_err();
/// assert_eq!(errors.len(), 2);
/// assert_eq!(errors.omitted(), 0);
/// assert_eq!(
///     errors.to_string(),
///     "at `/type`: `TEXT` is not a schema type; \
///      use STRING, NUMBER, INTEGER, BOOLEAN, ARRAY or OBJECT\n\
///      at `/enum`: the enum is empty, so no value could match; list a value or leave `enum` out"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errors {
    kept: Vec<Error>,
    omitted: usize,
}

impl Errors {
    /// The errors, in the order in which they were found.
    pub fn as_slice(&self) -> &[Error] {
        &self.kept
    }

    /// The errors, in the order in which they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.kept.iter()
    }

    /// How many errors are kept; at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always an error")]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// How many further errors were found but not kept.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// The errors as a plain list.
    pub fn into_vec(self) -> Vec<Error> {
        self.kept
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.kept.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}{error}")?;
        }
        match self.omitted {
            0 => Ok(()),
            omitted => write!(f, "\nand {omitted} more"),
        }
    }
}

impl std::error::Error for Errors {}

impl IntoIterator for Errors {
    type Item = Error;
    type IntoIter = std::vec::IntoIter<Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.kept.into_iter()
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Proof that an error was reported: a reader that fails must have said why.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reported(());

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Report {
    kept: Vec<Error>,
    omitted: usize,
    pointer_bytes: usize,
    function: Option<String>,
}

impl Report {
    /// The function that the errors from here on belong to.
    pub(crate) fn about(&mut self, function: Option<&str>) {
        self.function = function.map(excerpt);
    }

    pub(crate) fn add(&mut self, path: &Path<'_>, kind: impl Into<ErrorKind>) -> Reported {
        self.add_at(path, kind, || None)
    }

    /// `position` is asked only for errors that are kept, since finding it takes a walk.
    pub(crate) fn add_at(
        &mut self,
        path: &Path<'_>,
        kind: impl Into<ErrorKind>,
        position: impl FnOnce() -> Option<Position>,
    ) -> Reported {
        if self.kept.len() >= MOST_ERRORS || self.pointer_bytes >= MOST_POINTER_BYTES {
            self.omitted += 1;
            return Reported(());
        }
        self.push(path.pointer(), kind.into(), position())
    }

    pub(crate) fn push(
        &mut self,
        pointer: String,
        kind: ErrorKind,
        position: Option<Position>,
    ) -> Reported {
        self.pointer_bytes += pointer.len();
        self.kept.push(Error { function: self.function.clone(), pointer, position, kind });
        Reported(())
    }

    /// Names the function of errors that were found before the function's name was.
    pub(crate) fn attribute<'v>(&mut self, function_at: impl Fn(&str) -> Option<&'v str>) {
        for error in self.kept.iter_mut().filter(|error| error.function.is_none()) {
            error.function = function_at(&error.pointer).map(excerpt);
        }
    }

    /// The value, if nothing at all was reported.
    pub(crate) fn finish<T>(self, read: Result<T, Reported>) -> Result<T, Errors> {
        match read {
            Ok(value) if self.kept.is_empty() => Ok(value),
            Ok(_) | Err(Reported(())) => Err(Errors { kept: self.kept, omitted: self.omitted }),
        }
    }

    pub(crate) fn check(self) -> Result<(), Errors> {
        self.finish(Ok(()))
    }
}
