//! What can be wrong with a text, and where.

use std::fmt;

/// A place in a text.
///
/// ```
/// use haft_adm::strict::{Limits, parse};
///
/// let errors = parse("[1,\n é]", Limits::default()).unwrap_err();
/// let position = errors.as_slice()[0].position.unwrap();
/// assert_eq!((position.offset, position.line, position.column), (5, 2, 2));
/// assert_eq!(position.to_string(), "line 2, column 2");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Bytes before it.
    pub offset: usize,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Position {
    pub(crate) const START: Position = Position { offset: 0, line: 1, column: 1 };

    pub(crate) fn after(text: &str) -> Position {
        Position::START.advance(text)
    }

    pub(crate) fn advance(self, text: &str) -> Position {
        let offset = self.offset + text.len();
        match text.rfind('\n') {
            None => Position { offset, column: self.column + text.chars().count(), ..self },
            Some(end) => Position {
                offset,
                line: self.line + text.bytes().filter(|byte| *byte == b'\n').count(),
                column: text.get(end..).unwrap_or_default().chars().count(),
            },
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Why a text was refused.
///
/// ```
/// use haft_adm::ErrorKind;
/// use haft_adm::strict::{Limits, Problem, parse};
///
/// let errors = parse("[1] [2]", Limits::default()).unwrap_err();
/// assert_eq!(errors.as_slice()[0].kind, ErrorKind::Text(Problem::Trailing));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// More text than the limit.
    TooLarge {
        /// Bytes of text.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// More values than the limit.
    TooManyValues {
        /// The limit.
        limit: usize,
    },
    /// Arrays and objects nested more deeply than the limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// The text ends too early.
    End {
        /// What was still to come.
        expected: &'static str,
    },
    /// Something else stands where the grammar calls for this.
    Unexpected {
        /// What the grammar calls for.
        expected: &'static str,
        /// What stands there.
        found: char,
    },
    /// There is more text after the value.
    Trailing,
    /// An object has a key twice, however it is spelt.
    DuplicateKey {
        /// The key, without escapes.
        key: String,
    },
    /// A control character stands in a string without an escape.
    ControlCharacter {
        /// Its code.
        code: u32,
    },
    /// A `\u` escape is half of a surrogate pair.
    LoneSurrogate,
    /// An integer that 64 bits do not hold.
    IntegerTooLarge {
        /// The number as written.
        number: String,
    },
    /// A number beyond the largest double.
    NumberTooLarge {
        /// The number as written.
        number: String,
    },
    /// A number that would be read as another one.
    NumberInexact {
        /// The number as written.
        number: String,
        /// What it would be read as.
        nearest: String,
    },
    /// A number that is not finite; only possible in formats other than JSON.
    NotFinite,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::TooLarge { bytes, limit } => {
                write!(f, "the text has {bytes} bytes; at most {limit} are read")
            }
            Problem::TooManyValues { limit } => {
                write!(f, "the text has more than {limit} values; split it")
            }
            Problem::TooDeep { limit } => {
                write!(f, "nested more than {limit} levels deep; flatten the document")
            }
            Problem::NotUtf8 => write!(f, "not UTF-8; encode the text as UTF-8"),
            Problem::ByteOrderMark => {
                write!(f, "the text starts with a byte order mark; remove it")
            }
            Problem::End { expected } => write!(f, "the text ends where {expected} should follow"),
            Problem::Unexpected { expected, found } => {
                write!(f, "expected {expected}, found `{}`", found.escape_debug())
            }
            Problem::Trailing => write!(f, "there is more text after the value; remove it"),
            Problem::DuplicateKey { key } => {
                write!(f, "the key `{key}` appears twice in this object; keep one")
            }
            Problem::ControlCharacter { code } => write!(
                f,
                "control characters in a string are escaped; write `\\u{code:04x}` instead"
            ),
            Problem::LoneSurrogate => {
                write!(f, "half of a surrogate pair is no character; write both halves")
            }
            Problem::IntegerTooLarge { number } => {
                write!(f, "`{number}` does not fit 64 bits; write a smaller number or a string")
            }
            Problem::NumberTooLarge { number } => {
                write!(f, "`{number}` is larger than any double; write a smaller number")
            }
            Problem::NumberInexact { number, nearest } => {
                write!(f, "`{number}` would be read as `{nearest}`; write the number that is meant")
            }
            Problem::NotFinite => write!(f, "not a finite number; leave it out"),
        }
    }
}
