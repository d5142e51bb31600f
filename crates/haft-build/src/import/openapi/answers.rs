//! What comes back: the schema of a success, and what is said about failures.

use serde_json::{Value, json};

use super::super::log::Log;
use super::super::report::Severity;
use super::Operation;
use super::arguments::other_media;
use super::media::{self, Kind};

/// How the answers of an operation are read.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// The schema of the result, put together of those of the successes.
    pub(super) output: Option<Value>,
    /// A line per failure.
    pub(super) failures: Vec<String>,
    /// Whether the result is text.
    pub(super) text: bool,
    /// The name under which the service has JSON, where it is not JSON's own.
    pub(super) accept: Option<String>,
    /// Whether the document sends a reader elsewhere, and nothing else.
    pub(super) moved: bool,
}

pub(super) fn read(operation: &Operation<'_>, log: &mut Log) -> Result<Answers, String> {
    let mut answers = Answers::default();
    let mut schemas: Vec<Value> = Vec::new();
    let (mut successes, mut unknown, mut unreadable) = (0, false, None);
    let responses = operation.members.get("responses").and_then(Value::as_object);
    for (status, response) in responses.into_iter().flatten() {
        let at = format!("/responses/{status}");
        let response = operation.source.follow(response)?;
        for field in ["links", "headers"] {
            if response.get(field).is_some() {
                log.note(Severity::Dropped, &at, format!("`{field}` are not carried over"));
            }
        }
        if !status.starts_with('2') {
            answers.failed(status, response, log);
            continue;
        }
        successes += 1;
        let (chosen, others) = media::choose(operation.source, response);
        let Some(chosen) = chosen.filter(|chosen| chosen.kind != Kind::Bytes) else {
            match response.pointer("/content").and_then(Value::as_object) {
                Some(content) if !content.is_empty() => {
                    unreadable = content.keys().next().cloned();
                }
                _ => schemas.push(json!({"type": "null"})),
            }
            continue;
        };
        other_media(&chosen, &others, &at, log);
        answers.text |= chosen.kind == Kind::Text;
        if chosen.kind == Kind::NamedJson {
            answers.accept = Some(chosen.media.to_owned());
        }
        match chosen.content.get("schema") {
            Some(schema) => schemas.push(schema.clone()),
            None => unknown = true,
        }
    }
    if let Some(media) = unreadable.filter(|_| schemas.is_empty() && !unknown) {
        return Err(format!("its result is `{media}`, which is no text; write a handler for it"));
    }
    answers.output = together(schemas).filter(|_| !unknown);
    answers.moved &= successes == 0;
    Ok(answers)
}

impl Answers {
    fn failed(&mut self, status: &str, response: &Value, log: &mut Log) {
        let text = response.get("description").and_then(Value::as_str).unwrap_or_default();
        self.failures.push(format!("{status}: {}", text.trim()));
        self.moved |= matches!(status, "301" | "302" | "303" | "307" | "308");
        if response.get("content").is_some() {
            let what = format!("the body of {status} is not described by a contract");
            log.note(Severity::Dropped, &format!("/responses/{status}"), what);
        }
    }
}

/// One of several, where successes differ. Where nothing ever comes back, nothing is said of it.
fn together(schemas: Vec<Value>) -> Option<Value> {
    let mut different: Vec<Value> = Vec::new();
    for schema in schemas {
        if !different.contains(&schema) {
            different.push(schema);
        }
    }
    let nothing = json!({"type": "null"});
    match different.as_slice() {
        [] => None,
        [one] => Some(one).filter(|one| **one != nothing).cloned(),
        _ => Some(json!({ "anyOf": different })),
    }
}
