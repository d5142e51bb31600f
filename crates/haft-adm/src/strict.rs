//! Reading JSON text without letting anything slip.
//!
//! [`parse`] takes exactly what RFC 8259 calls a JSON text and refuses what readers usually
//! repair in silence:
//!
//! | text | usual reading | here |
//! |---|---|---|
//! | `{"to": 1, "\u0074o": 2}` | the last one wins | refused: the key appears twice |
//! | `18446744073709551616` | rounded to a float | refused: 64 bits do not hold it |
//! | `1e400` | infinity, or an error | refused |
//! | `1.00000000000000000001`, `1e-400` | `1.0`, `0.0` | refused: not what is written |
//! | `1234567890123456.7`, `9007199254740993.0` | `…6.8`, `…2.0` | refused: not what is written |
//! | `1.0`, `1e3` | kept | kept, as floats that are whole |
//! | `0.1`, `1e23`, `0.10000000000000001` | nearest double | nearest double |
//! | byte order mark, `[1] x`, `"\ud800"` | varies | refused |
//!
//! **The rule for numbers.** Without point and exponent a number is an integer and must fit
//! `i64` or `u64`. With either it is a double and is read as the nearest one. Up to 15 significant digits
//! that changes nothing that is written; of more, all have to be what that double has there, or how it is
//! written for short. A number that would come out whole and below 2^53 must have been written as exactly
//! that whole number: nobody downstream could tell the difference any more. `-0` is the double `-0.0`.
//!
//! Mistakes after which reading can go on (double keys, numbers) are all reported; a mistake in
//! the grammar ends the reading.
//!
//! ```
//! use haft_adm::strict::{Limits, parse};
//!
//! let errors = parse("{\"a\": 1,\n \"a\": 1e400}", Limits::default()).unwrap_err();
//! let said: Vec<_> = errors.iter().map(ToString::to_string).collect();
//! assert_eq!(
//!     said,
//!     [
//!         "at `/a`, line 2, column 2: the key `a` appears twice in this object; keep one",
//!         "at `/a`, line 2, column 7: `1e400` is larger than any double; write a smaller number",
//!     ]
//! );
//! ```

mod cursor;
mod document;
mod number;
mod problem;
mod string;

use serde_json::{Number, Value};

pub use problem::{Position, Problem};

use crate::path::Path;
use crate::report::{Errors, Report};

/// The deepest nesting of arrays and objects that is ever read or accepted.
///
/// It is what `serde_json` reads, so whatever this crate writes can be read elsewhere.
pub const MAX_DEPTH: usize = 127;

/// How large a document may be.
///
/// ```
/// use haft_adm::strict::{Limits, parse};
///
/// let tight = Limits::default().with_bytes(16).with_depth(2).with_values(4);
/// assert!(parse("[[1, 2]]", tight).is_ok());
/// assert!(parse("[[[1]]]", tight).is_err());
/// assert!(parse("[1, 2, 3, 4]", tight).is_err());
/// assert!(parse("\"seventeen bytes\"", tight).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub(crate) bytes: usize,
    pub(crate) depth: usize,
    pub(crate) values: usize,
}

impl Default for Limits {
    /// 16 MiB of text, [`MAX_DEPTH`] levels, a million values.
    ///
    /// The values are counted too because in memory a `0,` grows to some forty times its text.
    fn default() -> Self {
        Limits { bytes: 16 << 20, depth: MAX_DEPTH, values: 1_000_000 }
    }
}

impl Limits {
    /// At most this many bytes of text.
    pub fn with_bytes(self, bytes: usize) -> Self {
        Limits { bytes, ..self }
    }

    /// At most this many arrays and objects inside one another; never more than [`MAX_DEPTH`].
    pub fn with_depth(self, depth: usize) -> Self {
        Limits { depth: depth.min(MAX_DEPTH), ..self }
    }

    /// At most this many values, counting each array and object and everything in it.
    pub fn with_values(self, values: usize) -> Self {
        Limits { values, ..self }
    }
}

/// What there is among the numbers of a text that some readers take for others.
///
/// ```
/// use haft_adm::strict::{Limits, Numbers, parse_noting};
///
/// for (text, whole_floats, large_integers) in [
///     ("[1, 0.5, -9007199254740991]", false, false),
///     ("[{\"a\": 1.0}]", true, false),
///     ("[\"1.0\", 9007199254740992]", false, true),
///     ("[-9007199254740992, -0]", true, true),
/// ] {
///     let (_, numbers) = parse_noting(text, Limits::default()).unwrap();
///     assert_eq!(numbers, Numbers { whole_floats, large_integers }, "{text}");
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Doubles that are whole, such as `42.0`.
    pub whole_floats: bool,
    /// Integers from 2^53 on, which doubles do not hold one by one.
    pub large_integers: bool,
}

impl Numbers {
    /// Notes one more.
    #[inline]
    pub fn note(&mut self, number: &Number) {
        match number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs)) {
            Some(magnitude) => self.large_integers |= magnitude >= 1 << 53,
            None => self.whole_floats |= number.as_f64().is_some_and(|float| float.fract() == 0.0),
        }
    }
}

/// Reads one JSON text, and notes what numbers there are: whoever wants to know need not look at every
/// value again.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_noting(text: &str, limits: Limits) -> Result<(Value, Numbers), Errors> {
    let mut report = Report::default();
    let read = document::read_with(text, limits, &[], &mut report);
    report.finish(read.map(|read| (read.value, read.numbers)))
}

/// Reads one JSON text.
///
/// # Errors
///
/// Everything that is wrong with the text, up to the first mistake in the grammar.
pub fn parse(text: &str, limits: Limits) -> Result<Value, Errors> {
    let mut report = Report::default();
    let read = document::read(text, limits, &mut report);
    report.finish(read)
}

/// Reads one JSON text, and finds the text of the member that these names lead to, from outside to
/// inside, where there is one: what is kept of it later need not be written again.
///
/// ```
/// use haft_adm::strict::{Limits, parse_with};
///
/// let said = "{\"tool\": {\"with\": [1, 2]}, \"with\": [3]}";
/// let (call, text) = parse_with(said, &["tool", "with"], Limits::default()).unwrap();
/// assert_eq!(call["tool"]["with"], serde_json::json!([1, 2]));
/// assert_eq!(text, Some("[1, 2]"));
/// ```
///
/// # Errors
///
/// As [`parse`].
pub fn parse_with<'t>(
    text: &'t str,
    member: &[&str],
    limits: Limits,
) -> Result<(Value, Option<&'t str>), Errors> {
    let mut report = Report::default();
    let read = document::read_with(text, limits, member, &mut report);
    report.finish(read.map(|read| (read.value, read.found)))
}

/// Reads one JSON text that has yet to prove that it is UTF-8.
///
/// ```
/// use haft_adm::strict::{Limits, parse_bytes};
///
/// assert_eq!(parse_bytes(b"[true]", Limits::default()).unwrap(), serde_json::json!([true]));
/// let errors = parse_bytes(b"[\"\xff\"]", Limits::default()).unwrap_err();
/// assert_eq!(errors.to_string(), "line 1, column 3: not UTF-8; encode the text as UTF-8");
/// ```
///
/// # Errors
///
/// As [`parse`], and for bytes that are not UTF-8.
pub fn parse_bytes(bytes: &[u8], limits: Limits) -> Result<Value, Errors> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text, limits),
        Err(error) => {
            let (valid, _) = bytes.split_at(error.valid_up_to());
            let position = Position::after(&String::from_utf8_lossy(valid));
            let mut report = Report::default();
            let reported = report.add_at(&Path::Root, Problem::NotUtf8, || Some(position));
            report.finish(Err(reported))
        }
    }
}

/// Reads one JSON text as far as its grammar lets it, and tells what is wrong with its keys and numbers beside it.
/// Of a key that comes twice the value holds the first, for a number that is refused a zero: whoever uses it
/// must not need what is told of.
///
/// ```
/// use haft_adm::strict::{Limits, parse_with_faults};
///
/// let (value, faults) = parse_with_faults("{\"a\": 1, \"b\": 1e400}", Limits::default());
/// assert_eq!(value.unwrap()["a"], 1);
/// assert_eq!(faults.unwrap().iter().next().unwrap().pointer, "/b");
/// ```
pub fn parse_with_faults(text: &str, limits: Limits) -> (Option<Value>, Option<Errors>) {
    let mut report = Report::default();
    let read = document::read(text, limits, &mut report);
    let faults = report.finish(read.as_ref().map(drop).map_err(|reported| *reported)).err();
    (read.ok(), faults)
}

pub(crate) use document::read;
pub(crate) use number::EXACT_BELOW;
