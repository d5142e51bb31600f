//! From what came to one JSON object: strict reading, and the repairs that concern the whole.

use haft_adm::strict::{self, Limits, Numbers, Problem as TextProblem};
use haft_core::contract::Leniency;
use haft_core::outcome::Warning;
use serde_json::{Map, Value, json};

use super::invalid::{Invalid, Problem, Reason};
use super::repair::shown;
use super::{MAX_BYTES, MAX_DEPTH, MAX_TOLD, MAX_VALUES};

/// What came, as a value.
pub(super) struct Parsed {
    pub(super) value: Value,
    /// The text inside a string that held the arguments.
    held: Option<String>,
    pub(super) warnings: Vec<Warning>,
    /// Whether the text that it was read from shows that only its numbers are left to look at.
    pub(super) plain: bool,
    /// What its reader has noted of its numbers.
    pub(super) numbers: Option<Numbers>,
}

impl Parsed {
    /// Takes the text that was inside a string.
    pub(super) fn take_held(&mut self) -> Option<String> {
        self.held.take()
    }
}

/// Reads text. Only lenient tools take empty text for the object.
pub(super) fn text(text: &str, leniency: Leniency) -> Result<Parsed, Invalid> {
    if !text.trim_ascii().is_empty() {
        let (read, numbers) = read(text)?;
        let mut parsed = value(read, is_plain(text), leniency)?;
        // What was inside of a string has been noted with it.
        parsed.numbers.get_or_insert(numbers);
        return Ok(parsed);
    }
    match leniency {
        Leniency::Lenient => Ok(nothing("empty_to_object", text)),
        Leniency::Strict => Err(empty()),
    }
}

/// Whether no string in a text has a character that is not allowed: those come as escapes, or begin with
/// a byte of their own.
pub(super) fn is_plain(text: &str) -> bool {
    memchr::memchr2(b'\\', 0xEF, text.as_bytes()).is_none()
}

/// Whether a text that was read elsewhere keeps our limits, whatever is in it: no value is shorter than
/// a byte, and nothing is deeper than there are brackets.
pub(super) fn is_small(text: &str) -> bool {
    text.len() <= MAX_VALUES.min(MAX_BYTES)
        && memchr::memchr2_iter(b'{', b'[', text.as_bytes()).nth(MAX_DEPTH).is_none()
}

/// Takes what was read. Only lenient tools take `null` or a string for the object.
pub(super) fn value(value: Value, plain: bool, leniency: Leniency) -> Result<Parsed, Invalid> {
    let lenient = leniency == Leniency::Lenient;
    match value {
        Value::Null if lenient => Ok(nothing("null_to_object", &Value::Null.to_string())),
        Value::String(text) if lenient => unfold(text),
        value @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => {
            Ok(Parsed { value, held: None, warnings: Vec::new(), plain, numbers: None })
        }
    }
}

/// Strict JSON within our limits, `depth` levels of it.
pub(super) fn strictly(text: &str, depth: usize) -> Result<Value, haft_adm::Errors> {
    strict::parse(text, limits(depth))
}

fn limits(depth: usize) -> Limits {
    Limits::default().with_bytes(MAX_BYTES).with_depth(depth).with_values(MAX_VALUES)
}

fn read(text: &str) -> Result<(Value, Numbers), Invalid> {
    strict::parse_noting(text, limits(MAX_DEPTH)).map_err(|errors| Invalid {
        reason: Reason::InvalidJson,
        problems: errors.into_iter().take(MAX_TOLD).map(problem).collect(),
        warnings: Vec::new(),
    })
}

/// A string that holds the arguments. One that does not is left for the schema to refuse.
fn unfold(text: String) -> Result<Parsed, Invalid> {
    if text.trim_ascii().is_empty() {
        return Ok(nothing("empty_to_object", &text));
    }
    if !text.trim_ascii_start().starts_with('{') {
        return Ok(Parsed {
            value: Value::String(text),
            held: None,
            warnings: Vec::new(),
            plain: false,
            numbers: None,
        });
    }
    let (value, numbers) = read(&text)?;
    let warning = Warning {
        path: String::new(),
        code: "string_to_arguments".to_owned(),
        message: "the arguments came as a string that holds JSON; send the object itself"
            .to_owned(),
        before: Some(shown(&json!(text))),
        after: Some(shown(&value)),
    };
    let (held, numbers) = (Some(text), Some(numbers));
    Ok(Parsed { value, held, warnings: vec![warning], plain: false, numbers })
}

fn nothing(code: &str, text: &str) -> Parsed {
    let warning = Warning {
        path: String::new(),
        code: code.to_owned(),
        message: "no arguments were sent; an empty object is used".to_owned(),
        before: Some(shown(&json!(text))),
        after: Some(json!({})),
    };
    let value = Value::Object(Map::new());
    Parsed { value, held: None, warnings: vec![warning], plain: true, numbers: None }
}

fn empty() -> Invalid {
    let message = "no arguments were sent; send `{}` where there are none";
    Invalid {
        reason: Reason::InvalidJson,
        problems: vec![Problem::new(String::new(), "unexpected_end", message)],
        warnings: Vec::new(),
    }
}

fn problem(error: haft_adm::Error) -> Problem {
    let code = match &error.kind {
        haft_adm::ErrorKind::Text(problem) => code_of(problem),
        haft_adm::ErrorKind::Shape(_)
        | haft_adm::ErrorKind::Declaration(_)
        | haft_adm::ErrorKind::Schema(_)
        | haft_adm::ErrorKind::Argument(_)
        | haft_adm::ErrorKind::Outcome(_) => "invalid",
    };
    let message = error.to_string();
    Problem::new(error.pointer, code, message)
}

fn code_of(problem: &TextProblem) -> &'static str {
    match problem {
        TextProblem::TooLarge { .. } => "too_large",
        TextProblem::TooManyValues { .. } => "too_many_values",
        TextProblem::TooDeep { .. } => "too_deep",
        TextProblem::NotUtf8 => "not_utf8",
        TextProblem::ByteOrderMark => "byte_order_mark",
        TextProblem::End { .. } => "unexpected_end",
        TextProblem::Unexpected { .. } => "unexpected_text",
        TextProblem::Trailing => "trailing_text",
        TextProblem::DuplicateKey { .. } => "duplicate_key",
        TextProblem::ControlCharacter { .. } => "control_character",
        TextProblem::LoneSurrogate => "lone_surrogate",
        TextProblem::IntegerTooLarge { .. } => "integer_rounded",
        TextProblem::NumberTooLarge { .. } => "number_too_large",
        TextProblem::NumberInexact { .. } => "number_inexact",
        TextProblem::NotFinite => "number_not_finite",
    }
}
