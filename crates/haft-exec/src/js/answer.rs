//! What a handler's end means.

use haft_core::error::{ErrorKind, ToolError};
use haft_core::outcome::Intent;
use haft_core::port::{Ended, Job};
use serde::Deserialize;
use serde_json::Value;

use super::frame::End;
use crate::said::{self, MAX_TEXT, shortened, visible};

/// What a handler says about its own failure.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Failure {
    kind: Option<Value>,
    message: Option<Value>,
    retryable: Option<bool>,
    partial_side_effects: Option<bool>,
    suggestion: Option<String>,
}

/// Something that was thrown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Thrown {
    name: String,
    message: String,
    stack: String,
}

/// Whose words an answer is.
#[derive(Clone, Copy)]
pub(crate) enum Speaker {
    /// It reaches the world through its host alone, which knows what was done.
    Sandboxed,
    /// A program may have done anything.
    Program,
}

impl Speaker {
    /// Whether a failure of which the speaker says no more may have been carried out in part.
    fn may_have_acted(self, word: &str, kind: ErrorKind) -> bool {
        match self {
            Self::Sandboxed => word == ErrorKind::UnknownOutcome.as_str(),
            // A word of the path's own that a program passes on says more than that the program failed.
            Self::Program => ErrorKind::parse(word).unwrap_or(kind).leaves_doubt(),
        }
    }
}

pub(super) fn read(end: End, json: &str, job: &Job) -> Ended {
    match end {
        End::Returned => returned(json),
        End::Failed => {
            let said = serde_json::from_str(json).unwrap_or_default();
            Ended::Failed(failure(said, Speaker::Sandboxed))
        }
        End::Thrown => thrown(json),
        End::Unwritable => Ended::Failed(
            fault("the handler returned something that is not JSON")
                .caused_by(place(&serde_json::from_str(json).unwrap_or_default())),
        ),
        End::TooLong => too_long(json),
        End::TimedOut => Ended::Lost(timed_out(job)),
        End::OutOfMemory => out_of_memory(),
        End::Stuck => Ended::Failed(fault("the handler waits for something that never comes")),
        End::NotBegun => Ended::NotBegun(
            ToolError::new(ErrorKind::Internal, "the handler could not be begun")
                .caused_by(shortened(json, MAX_TEXT)),
        ),
    }
}

pub(super) fn timed_out(job: &Job) -> ToolError {
    let message = format!("the tool did not finish within {} ms", job.deadline.as_millis());
    ToolError::new(ErrorKind::Timeout, message)
}

/// A fault of the handler's code. What it did before that is not known here.
fn fault(message: impl Into<String>) -> ToolError {
    let mut error = ToolError::new(ErrorKind::Internal, message);
    error.partial_side_effects = true;
    error
}

/// Why an answer cannot be read. JavaScript has texts and depths that JSON has not.
fn unreadable(why: &serde_json::Error) -> &'static str {
    let said = why.to_string();
    if said.contains("recursion limit") {
        "the handler's answer cannot be read; nest it less"
    } else if said.contains("surrogate") || said.contains("hex escape") {
        "a text in the handler's answer holds half of a character (a lone surrogate); cut texts \
         between whole characters"
    } else {
        "the handler's answer is not JSON"
    }
}

/// What nearly every answer is. Read as such, it takes no map that would be taken apart at once.
#[derive(Deserialize)]
struct Plain {
    ok: bool,
    data: Value,
    intents: Option<Value>,
}

fn returned(json: &str) -> Ended {
    // A list would be taken for one, too.
    let is_object = json.starts_with('{');
    match is_object.then(|| serde_json::from_str(json)) {
        Some(Ok(Plain { ok: true, data, intents })) => with_intents(data, intents),
        // Something is missing, twice there or wrong; or it says that it failed.
        Some(Ok(Plain { ok: false, .. }) | Err(_)) | None => read_closely(json),
    }
}

fn with_intents(data: Value, intents: Option<Value>) -> Ended {
    match self::intents(intents) {
        Ok(intents) => Ended::Returned { data, intents },
        Err(why) => unusable(format!("the handler returned intents that cannot be used: {why}")),
    }
}

/// Says what is wrong with an answer, if something is.
fn read_closely(json: &str) -> Ended {
    if json.is_empty() {
        return instead("nothing");
    }
    match serde_json::from_str(json) {
        Ok(value) => answered(value, Speaker::Sandboxed),
        Err(why) if says_that_it_is_done(json) => unusable(unreadable(&why)),
        Err(why) => Ended::Failed(fault(unreadable(&why)).caused_by(why)),
    }
}

fn instead(what: &str) -> Ended {
    Ended::Failed(fault(format!("the handler returned {what} instead of {{ok, data}}")))
}

/// What an answer means that has been read.
pub(crate) fn answered(value: Value, speaker: Speaker) -> Ended {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return instead("null"),
        Value::Bool(_) => return instead("a boolean"),
        Value::Number(_) => return instead("a number"),
        Value::String(_) => return instead("a text"),
        Value::Array(_) => return instead("a list"),
    };
    match fields.get("ok") {
        Some(Value::Bool(true)) => {
            let Some(data) = fields.shift_remove("data") else {
                return unusable("the handler returned `ok: true` without `data`");
            };
            with_intents(data, fields.shift_remove("intents"))
        }
        Some(Value::Bool(false)) => match fields.shift_remove("error") {
            Some(error @ Value::Object(_)) => {
                Ended::Failed(failure(serde_json::from_value(error).unwrap_or_default(), speaker))
            }
            _ => instead("`ok: false` without an `error`"),
        },
        _ => instead("an object without `ok`"),
    }
}

fn intents(value: Option<Value>) -> Result<Vec<Intent>, serde_json::Error> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(value) => serde_json::from_value(value),
    }
}

/// A handler that says what went wrong is believed, in words that are its to use.
fn failure(failure: Failure, speaker: Speaker) -> ToolError {
    let word = failure.kind.as_ref().and_then(Value::as_str).unwrap_or_default();
    let kind = said::kind_of(word);
    let text = failure.message.as_ref().and_then(Value::as_str).unwrap_or_default();
    let message = if text.is_empty() { "the tool failed" } else { text };
    let mut error = ToolError::new(kind, shortened(message, MAX_TEXT));
    let known = kind != ErrorKind::Internal || word == "internal" || word == "INTERNAL";
    if !known {
        error.source = Some(format!("the handler said `{}`", visible(&shortened(word, MAX_TEXT))));
    }
    if let Some(retryable) = failure.retryable.filter(|_| known) {
        error.retryable = retryable;
    }
    let acted = failure.partial_side_effects;
    error.partial_side_effects = acted.unwrap_or_else(|| speaker.may_have_acted(word, kind))
        || word == ErrorKind::UnknownOutcome.as_str();
    if let Some(suggestion) = failure.suggestion.filter(|text| !text.is_empty()) {
        error.suggestion = shortened(&suggestion, MAX_TEXT);
    }
    error
}

fn thrown(json: &str) -> Ended {
    let thrown: Thrown = serde_json::from_str(json).unwrap_or_default();
    if thrown.name == "InternalError" && thrown.message == "out of memory" {
        return out_of_memory();
    }
    Ended::Failed(fault("the tool failed on a fault in its handler").caused_by(place(&thrown)))
}

fn out_of_memory() -> Ended {
    Ended::Lost(ToolError::new(ErrorKind::Internal, "the tool ran out of memory"))
}

/// What was thrown, and where, for the log.
fn place(thrown: &Thrown) -> String {
    let message = format!("{}: {}", thrown.name, thrown.message);
    let line = thrown.stack.lines().find_map(|line| {
        let at = line.find("handler.js:")?;
        Some(line.get(at..)?.trim_end_matches(')'))
    });
    let text = match line {
        Some(line) => format!("{message} at {line}"),
        None => message,
    };
    visible(&shortened(&text, MAX_TEXT))
}

/// An answer that came and is of no use, by a handler that did what it was to do.
fn unusable(message: impl Into<String>) -> Ended {
    Ended::Unusable(ToolError::new(ErrorKind::InvalidOutput, message))
}

/// Whether an answer that cannot be read whole says first that all went well. One that says so later is not
/// believed.
pub(super) fn says_that_it_is_done(json: &str) -> bool {
    json.starts_with(r#"{"ok":true,"#)
}

/// `said` is how long it is, and whether it says that all went well.
fn too_long(said: &str) -> Ended {
    let (length, done) = said.split_once(' ').unwrap_or((said, "false"));
    let length: u64 = length.parse().unwrap_or_default();
    let message = format!("the handler's answer has {length} bytes, more than it may have");
    if done == "true" {
        return unusable(message);
    }
    let mut error = ToolError::new(ErrorKind::InvalidOutput, message);
    error.partial_side_effects = true;
    Ended::Failed(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let Ended::Failed(error) = returned(json) else { panic!("{json} was read") };
        assert!(error.message.contains(expected), "{}", error.message);
    }

    #[track_caller]
    fn check_done(json: &str, expected: &str) {
        let Ended::Unusable(error) = returned(json) else { panic!("{json} is of use, or failed") };
        assert!(error.message.contains(expected), "{}", error.message);
    }

    /// Data of any kind is data, whatever stands beside it; the last one counts, as in JavaScript.
    #[test]
    fn what_is_there_is_read() {
        for (json, expected) in [
            (r#"{"ok":true,"data":null}"#, Value::Null),
            (r#"{"data":[1],"more":{"a":[]},"ok":true,"intents":null}"#, serde_json::json!([1])),
            (r#"{"ok":true,"data":1,"data":2}"#, serde_json::json!(2)),
        ] {
            let ended = returned(json);
            let Ended::Returned { data, intents } = ended else { panic!("{json}") };
            assert_eq!((data, intents.len()), (expected, 0));
        }
        check_done(r#"{"ok":true}"#, "without `data`");
        check_done(r#"{"ok":true,"data":1,"intents":3}"#, "intents that cannot be used");
        let unnamed = r#"{"ok":true,"data":1,"intents":[{"type":"SUPPRESS_AUDIO"}]}"#;
        check_done(unnamed, "missing field `value`");
        check(r#"{"ok":1,"data":1}"#, "without `ok`");
        check(r#"{"ok":false,"data":1}"#, "without an `error`");
        check(r#"[true,1,null]"#, "a list");
        check(r#" [true,1,null]"#, "a list");
    }

    /// What a program did before it failed only the program knows; what a sandboxed handler did its host does.
    #[test]
    fn a_failure_that_says_no_more_is_in_doubt_by_its_kind() {
        let acted = |kind: &str, more: &str, speaker| {
            let json = format!(r#"{{"ok":false,"error":{{"kind":"{kind}","message":"m"{more}}}}}"#);
            let value = serde_json::from_str(&json).unwrap();
            let Ended::Failed(error) = answered(value, speaker) else { panic!("{json}") };
            error.partial_side_effects
        };
        for kind in ["timeout", "internal", "transient", "TRANSIENT", "ENOENT", "", "in_flight"] {
            assert!(acted(kind, "", Speaker::Program), "{kind}");
            assert!(!acted(kind, r#","partialSideEffects":false"#, Speaker::Program), "{kind}");
            assert!(!acted(kind, "", Speaker::Sandboxed), "{kind}");
        }
        for kind in ["not_found", "VALIDATION", "permanent", "conflict", "denied", "auth"] {
            assert!(!acted(kind, "", Speaker::Program), "{kind}");
            assert!(acted(kind, r#","partialSideEffects":true"#, Speaker::Program), "{kind}");
        }
    }

    #[test]
    fn an_answer_that_cannot_be_read_says_why() {
        check_done(r#"{"ok":true,"data":"\ud83d"}"#, "half of a character");
        check_done(r#"{"ok":true,"data":"\ud83dx"}"#, "half of a character");
        check(r#"{"data":"\udc00","ok":true}"#, "half of a character");
        let deep = format!(r#"{{"ok":true,"data":{}{}}}"#, "[".repeat(200), "]".repeat(200));
        check_done(&deep, "nest it less");
        check(&format!("{}{}", "[".repeat(200), "]".repeat(200)), "nest it less");
        check("{", "is not JSON");
    }
}
