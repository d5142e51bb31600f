//! Arguments that cannot be used, told so that a model can send better ones.

use haft_core::error::{ErrorKind, ToolError};
use haft_core::outcome::Warning;
use haft_core::validator;
use serde::Serialize;
use serde_json::{Value, json};

use super::{MAX_TOLD, Prepared};
use crate::redact::{clean_text, is_hidden};

/// The most characters of one problem's message.
const MAX_MESSAGE: usize = 500;

/// Everything that is wrong with a call's arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// Where it was found out.
    pub reason: Reason,
    /// What is wrong; never empty.
    pub problems: Vec<Problem>,
    /// What was repaired before it became clear that the rest could not be.
    pub warnings: Vec<Warning>,
}

/// Where it was found out that arguments cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The text is not JSON that can be kept as it was written.
    InvalidJson,
    /// The value does not fit the schema.
    Validation,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    /// A JSON pointer into the arguments; empty for the whole.
    pub path: String,
    /// A stable word: `duplicate_key`, `type`, `max_length`, `unknown_parameter`.
    pub code: String,
    /// In words.
    pub message: String,
    /// What the schema says there: the keyword's value, or the names that are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
}

impl Problem {
    pub(super) fn new(path: String, code: &str, message: impl Into<String>) -> Self {
        Self { path, code: code.to_owned(), message: message.into(), expected: None }
    }

    pub(super) fn from_schema(found: validator::Problem, prepared: &Prepared) -> Self {
        let at = prepared.effective.pointer(&found.path);
        let hint = match (found.keyword.as_str(), at) {
            ("type", Some(Value::Null)) => "; leave it out if there is no value",
            ("type", Some(Value::String(text)))
                if text.contains([',', ';', '\n']) && expects_list(found.expected.as_ref()) =>
            {
                "; write several values as a list"
            }
            _ => "",
        };
        let code = found.code();
        Self {
            path: found.path,
            code,
            message: format!("{}{hint}", found.message),
            expected: found.expected,
        }
    }
}

fn expects_list(expected: Option<&Value>) -> bool {
    expected.is_some_and(|types| {
        types == "array" || types.as_array().is_some_and(|types| types.contains(&json!("array")))
    })
}

impl From<Invalid> for ToolError {
    fn from(invalid: Invalid) -> Self {
        let problems: Vec<Problem> = invalid.problems.into_iter().map(cleaned).collect();
        let what = match invalid.reason {
            Reason::InvalidJson => "the arguments cannot be read",
            Reason::Validation => "the arguments do not fit the tool's parameters",
        };
        let told: Vec<String> = problems.iter().map(sentence).collect();
        let more = if problems.len() >= MAX_TOLD { "; and perhaps more" } else { "" };
        let details = json!({
            "reason": invalid.reason,
            "problems": problems,
            "warnings": invalid.warnings,
        });
        let message = format!("{what}: {}{more}", told.join("; "));
        let mut error = ToolError::new(ErrorKind::InvalidArguments, message).with_details(details);
        let shown: Vec<String> = problems.iter().map(outline).collect();
        error.shown = Some(format!("{what}: {}{more}", shown.join("; ")));
        error
    }
}

/// Names and texts in a message are the caller's own; they must not paint on anyone's screen.
fn cleaned(mut problem: Problem) -> Problem {
    problem.message = clean_text(&problem.message, MAX_MESSAGE);
    problem.path = place(&problem.path);
    problem
}

/// A path on one line, without what cannot be seen. Spaces are part of a name: `/i ` is not `/i`.
fn place(path: &str) -> String {
    let kept = |letter: &char| !is_hidden(*letter);
    let clean: String = path.chars().filter(kept).take(MAX_MESSAGE + 1).collect();
    match clean.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", clean.get(..end).unwrap_or_default()),
        None => clean,
    }
}

/// What others may see of a problem: where and of which kind. A message quotes what was sent, and so may a
/// name that the contract does not have.
fn outline(problem: &Problem) -> String {
    let plain = |name: &str| name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let shown = |name| if plain(name) { name } else { "*" };
    match problem.path.as_str() {
        "" => problem.code.clone(),
        path => {
            let path: Vec<&str> = path.split('/').map(shown).collect();
            format!("{} at `{}`", problem.code, path.join("/"))
        }
    }
}

fn sentence(problem: &Problem) -> String {
    match (problem.path.as_str(), problem.message.contains('`')) {
        ("", _) | (_, true) => problem.message.clone(),
        (path, false) => format!("at `{path}`: {}", problem.message),
    }
}
