//! What no schema says and every argument must obey: sizes, characters that break other systems,
//! and integers that would not stay what they are.
//!
//! Integers beyond 2^53 are refused although 64 bits hold them: canonical JSON (RFC 8785) and
//! JavaScript round them, so two different calls would have one fingerprint. Where the schema asks
//! for a string, such a number is turned into its text first and nothing is lost.

use haft_adm::strict::Numbers;
use serde_json::Value;

use super::invalid::{Invalid, Problem, Reason};
use super::path::Path;
use super::{MAX_BYTES, MAX_DEPTH, MAX_TOLD, MAX_VALUES};

/// The largest integer that every reader keeps.
const MAX_EXACT: u64 = (1 << 53) - 1;

/// Looks at every value once. Of plain text the reader has counted everything already, so that only
/// numbers are left to look at, and those it may have `noted`.
pub(super) fn inspect(
    value: &Value,
    plain: bool,
    noted: Option<Numbers>,
) -> Result<Numbers, Invalid> {
    let mut seen = Numbers::default();
    if plain {
        return Ok(noted.unwrap_or_else(|| {
            numbers(value, &mut seen);
            seen
        }));
    }
    let mut look = Look { seen, values: 0, bytes: 0, problems: Vec::new() };
    look.at(value, &Path::Root, MAX_DEPTH);
    match look.problems.is_empty() {
        true => Ok(look.seen),
        false => Err(Invalid {
            reason: Reason::InvalidJson,
            problems: look.problems,
            warnings: Vec::new(),
        }),
    }
}

/// Looks at the numbers in a value; its reader has bounded its depth.
fn numbers(value: &Value, seen: &mut Numbers) {
    match value {
        Value::Number(number) => seen.note(number),
        Value::Array(list) => list.iter().for_each(|value| numbers(value, seen)),
        Value::Object(map) => map.values().for_each(|value| numbers(value, seen)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

struct Look {
    seen: Numbers,
    values: usize,
    bytes: usize,
    problems: Vec<Problem>,
}

impl Look {
    fn at(&mut self, value: &Value, path: &Path<'_>, depth: usize) {
        self.values += 1;
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => self.seen.note(number),
            Value::String(text) => self.text(text, path),
            Value::Array(_) | Value::Object(_) if depth == 0 => {
                let message = format!("nested more than {MAX_DEPTH} levels deep; flatten it");
                self.tell(path, "too_deep", message);
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.at(value, &Path::Index(path, index), depth - 1);
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    let path = Path::Name(path, name);
                    self.text(name, &path);
                    self.at(value, &path, depth - 1);
                }
            }
        }
        if self.values == MAX_VALUES + 1 {
            let message = format!("there are more than {MAX_VALUES} values; split the call");
            self.tell(&Path::Root, "too_many_values", message);
        }
    }

    fn text(&mut self, text: &str, path: &Path<'_>) {
        let before = self.bytes;
        self.bytes += text.len();
        if before <= MAX_BYTES && self.bytes > MAX_BYTES {
            let message = format!("there are more than {MAX_BYTES} bytes of text; send less");
            self.tell(&Path::Root, "too_large", message);
        }
        if is_suspicious(text)
            && let Some(found) = text.chars().find(|c| matches!(c, '\0' | '\u{FFFE}' | '\u{FFFF}'))
        {
            let code = u32::from(found);
            let message =
                format!("the character U+{code:04X} is not allowed in text; leave it out");
            self.tell(path, "forbidden_character", message);
        }
    }

    fn tell(&mut self, path: &Path<'_>, code: &'static str, message: String) {
        if self.problems.len() < MAX_TOLD {
            self.problems.push(Problem::new(path.pointer(), code, message));
        }
    }
}

/// Whether a byte is there that begins a forbidden character. Most text has none, and eight bytes
/// are looked at together.
fn is_suspicious(text: &str) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & (ONES * 0x80) != 0;
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    words
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .any(|word| has_zero(word) || has_zero(word ^ (ONES * 0xEF)))
        || rest.iter().any(|byte| matches!(byte, 0 | 0xEF))
}

fn is_rounded(number: &serde_json::Number) -> bool {
    let magnitude = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
    magnitude.is_some_and(|magnitude| magnitude > MAX_EXACT)
}

/// Every integer that some reader would round.
pub(super) fn rounded(value: &Value) -> Vec<Problem> {
    let mut problems = Vec::new();
    collect(value, &Path::Root, &mut problems);
    problems
}

fn collect(value: &Value, path: &Path<'_>, problems: &mut Vec<Problem>) {
    match value {
        Value::Number(number) if is_rounded(number) && problems.len() < MAX_TOLD => {
            let message = format!(
                "`{number}` is beyond 2^53 and would be rounded on its way; use a smaller number"
            );
            let mut problem = Problem::new(path.pointer(), "integer_rounded", message);
            problem.expected = Some(serde_json::json!({"maximum": MAX_EXACT}));
            problems.push(problem);
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect(value, &Path::Index(path, index), problems);
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                collect(value, &Path::Name(path, name), problems);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
