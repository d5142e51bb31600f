//! `check`: the answer against the contract, and what the end means for the effect.

use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::State;
use haft_core::outcome::Intent;
use haft_core::port::Ended;
use haft_core::record::Stage;
use haft_core::validator;
use haft_core::{ErrorKind, ToolError};
use serde_json::{Value, json};

use super::join::Joined;
use crate::runtime::Inner;

/// How a run ended, in the ledger's words.
pub(crate) struct Checked {
    pub(crate) state: State,
    pub(crate) result: Result<Value, ToolError>,
    pub(crate) intents: Vec<Intent>,
    pub(crate) stage: Stage,
}

pub(crate) fn output(inner: &Inner, call: &Joined, ended: Ended) -> Checked {
    match ended {
        Ended::Returned { data, intents } => match fits(inner, call, &data) {
            Ok(()) => Checked {
                state: State::Succeeded,
                result: Ok(data),
                intents,
                stage: Stage::Execute,
            },
            Err(error) => unusable(call, error, intents),
        },
        Ended::Unusable(error) => unusable(call, error, Vec::new()),
        Ended::Failed(error) if error.partial_side_effects => in_doubt(call, error),
        Ended::Failed(error) | Ended::NotBegun(error) => failed(error),
        Ended::Lost(error) => in_doubt(call, error),
    }
}

/// What was done stays done; only its answer is withheld.
fn unusable(call: &Joined, error: ToolError, intents: Vec<Intent>) -> Checked {
    Checked {
        state: State::Succeeded,
        result: Err(withheld(call, error)),
        intents,
        stage: Stage::Check,
    }
}

fn failed(error: ToolError) -> Checked {
    Checked { state: State::Failed, result: Err(error), intents: Vec::new(), stage: Stage::Execute }
}

/// How it is said. Where a call inside of this one was left open, that has said it.
const OPEN: &str = "nobody knows whether this was done: ";

/// A call without effects has failed; one with effects may have been carried out.
fn in_doubt(call: &Joined, mut error: ToolError) -> Checked {
    if call.is_pure() {
        error.partial_side_effects = false;
        return failed(error);
    }
    let cause = format!("{}: {}", error.kind, error.source.as_deref().unwrap_or(&error.message));
    let why = error.message.strip_prefix(OPEN).unwrap_or(&error.message);
    let mut unknown =
        ToolError::new(ErrorKind::UnknownOutcome, format!("{OPEN}{why}")).caused_by(cause);
    unknown.partial_side_effects = true;
    if call.class() == SideEffectPolicy::Idempotent {
        unknown.retryable = true;
        unknown.idempotency_required = true;
        "it may be sent again, under the same key and no other".clone_into(&mut unknown.suggestion);
    }
    Checked {
        state: State::Unknown,
        result: Err(unknown),
        intents: Vec::new(),
        stage: Stage::Execute,
    }
}

/// What was done stays done; the answer is withheld, and the error says both.
pub(crate) fn withheld(call: &Joined, mut error: ToolError) -> ToolError {
    if !call.is_pure() {
        error.message = format!("it was done, but its answer is withheld: {}", error.message);
        "do not repeat it; tell the user that it was done and that the answer cannot be shown"
            .clone_into(&mut error.suggestion);
        error.details = Some(json!({ "done": true }));
    }
    error
}

fn fits(inner: &Inner, call: &Joined, data: &Value) -> Result<(), ToolError> {
    let most =
        [call.tool.limits.max_result_bytes, inner.policy().budget(call.mode).max_result_bytes]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(inner.settings.default_result_bytes);
    // Most answers are far too small to be worth counting exactly.
    let size = if at_most(data) <= most { 0 } else { written_size(data) };
    if size > most {
        return Err(ToolError::new(
            ErrorKind::InvalidOutput,
            format!("the answer has {size} bytes, more than the {most} that are allowed"),
        )
        .suggest("ask for less: fewer results, fewer fields"));
    }
    let Some(schema) = &call.loaded.output else { return Ok(()) };
    if let Some(why) = schema.too_much(data) {
        let why = format!("the answer is too long to be checked: {why}");
        return Err(ToolError::new(ErrorKind::InvalidOutput, why)
            .suggest("ask for less: fewer results, fewer fields"));
    }
    if schema.is_valid(data) {
        return Ok(());
    }
    let why: Vec<String> = validator::errors(schema, data)
        .into_iter()
        .take(5)
        .map(|(at, why)| format!("{at}: {why}"))
        .collect();
    Err(ToolError::new(ErrorKind::InvalidOutput, "the tool's answer does not fit its contract")
        .caused_by(why.join("; ")))
}

/// No value is longer than this as JSON text: a byte may become `\u001f`, and no number takes more
/// than 32.
pub(super) fn at_most(data: &Value) -> u64 {
    let text = |text: &str| (text.len() as u64).saturating_mul(6).saturating_add(2);
    match data {
        Value::Null | Value::Bool(_) | Value::Number(_) => 32,
        Value::String(said) => text(said),
        Value::Array(list) => list
            .iter()
            .map(at_most)
            .fold(2, |sum: u64, one| sum.saturating_add(one).saturating_add(1)),
        Value::Object(map) => map.iter().fold(2, |sum: u64, (name, value)| {
            sum.saturating_add(text(name)).saturating_add(at_most(value)).saturating_add(2)
        }),
    }
}

/// How long the value would be as JSON text.
pub(crate) fn written_size(data: &Value) -> u64 {
    struct Count(u64);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, data) {
        Ok(()) => count.0,
        Err(_) => u64::MAX,
    }
}
