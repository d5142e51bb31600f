//! What is on record already, as an answer: of a call that runs, of one that has ended, and of one of
//! which nobody knows.

use std::collections::BTreeSet;
use std::time::Duration;

use haft_core::contract::SideEffectPolicy;
use haft_core::ledger::{EffectRecord, State};
use haft_core::outcome::Warning;
use haft_core::port::StoreError;
use haft_core::record::Stage;
use haft_core::{ErrorKind, ToolError};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Answer;
use crate::runtime::Inner;

/// The answer of the attempt that a call has waited for.
pub(super) struct Attached {
    /// Whose it is: the one that was on its way may have made room for another.
    pub(super) call: String,
    pub(super) answer: Answer,
}

/// Waits until then for the answer of the call that this one repeats. None where nobody carries it out any more and to
/// begin it again does no harm.
pub(super) async fn attach(
    inner: &Inner,
    record: &EffectRecord,
    until: Instant,
) -> Option<Attached> {
    let followed = tokio::time::timeout_at(until, inner.running.follow(&record.key)).await;
    let Ok(Some((call, answer))) = followed else { return elsewhere(inner, record, until).await };
    if answer.result.as_ref().is_err_and(is_its_callers) {
        return None;
    }
    // What the handler asked of the session is applied once, by the call that ran.
    let answer = Answer { intents: Vec::new(), cached: true, ..Answer::clone(&answer) };
    Some(Attached { call, answer })
}

/// Another process runs it: look until it has ended, or for as long as is reasonable.
async fn elsewhere(inner: &Inner, record: &EffectRecord, until: Instant) -> Option<Attached> {
    const PAUSE: Duration = Duration::from_millis(50);
    let mut call = record.effect.call.clone();
    for round in 1_u32.. {
        // Where nobody else looks after the store, nobody else would notice that the other process is gone.
        if round > 1 {
            inner.ask_after_others().await;
        }
        let seen = match inner.store.effect(&record.effect.tenant, &call).await {
            // It failed, and somebody has begun again under the key: that is what is waited for now.
            Err(StoreError::Missing) => inner.store.by_key(&record.key).await,
            seen => seen,
        };
        match seen {
            Ok(now) if now.fingerprint != record.fingerprint => break,
            Ok(now) if is_left(&now) => return None,
            Ok(now) if now.state != State::Started => {
                let answer = replayed(&now);
                return Some(Attached { call: now.effect.call, answer });
            }
            Ok(now) => call = now.effect.call,
            Err(StoreError::Missing) => break,
            Err(_) => {}
        }
        if Instant::now() >= until {
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Some(Attached { answer: running(&record.effect.call), call })
}

/// Whether an attempt has ended in a way that leaves it to whoever waits for it to make another.
fn is_left(record: &EffectRecord) -> bool {
    match record.state {
        State::Unknown => may_begin_again(record),
        State::Failed => record.error.as_ref().is_some_and(is_its_callers),
        State::Started
        | State::Succeeded
        | State::Happened
        | State::NotHappened
        | State::Compensating
        | State::Compensated
        | State::Stuck => false,
    }
}

/// Whether nothing was done for a reason of whoever asked for that attempt: they went away, or are not let in any more.
/// That is no answer to anybody else. (No tool says either word by itself.)
fn is_its_callers(error: &ToolError) -> bool {
    matches!(error.kind, ErrorKind::Cancelled | ErrorKind::Denied)
}

/// Whether an effect of unknown outcome does no harm twice.
fn may_begin_again(record: &EffectRecord) -> bool {
    record.effect.policy == SideEffectPolicy::Idempotent
}

/// The same call is on its way.
pub(super) fn running(call: &str) -> Answer {
    Answer::refused(
        Stage::Claim,
        ToolError::new(
            ErrorKind::InFlight,
            "the same call is being carried out; its answer has not come yet",
        )
        .with_details(json!({ "call": call })),
    )
}

/// What is on record, as an answer.
pub(super) fn replayed(record: &EffectRecord) -> Answer {
    let result = match (&record.state, &record.result, &record.error) {
        (State::Unknown | State::Started, ..) => {
            Err(unknown(record, "the call may have been carried out"))
        }
        (State::Failed | State::NotHappened, _, Some(error)) => Err(error.clone()),
        (_, Some(result), _) => Ok(result.clone()),
        (State::Compensated | State::Compensating | State::Stuck, None, _) => {
            Err(taken_back(record))
        }
        // The error said that nobody knew; by now it is known.
        (_, None, Some(error)) if error.kind == ErrorKind::UnknownOutcome => {
            Err(unanswered(record, "the call was carried out; what it answered is not known"))
        }
        // Done, but its answer could not be shown even then.
        (_, None, Some(error)) => Err(error.clone()),
        (_, None, None) => {
            Err(unanswered(record, "the call was carried out; its answer is no longer kept"))
        }
    };
    // What the handler asked of the session was applied then.
    let (intents, stage, state) = (Vec::new(), Stage::Claim, Some(record.state));
    Answer { result, view: None, intents, stage, cached: true, state }
}

/// Done, and nothing to show for it.
fn unanswered(record: &EffectRecord, message: &str) -> ToolError {
    ToolError::new(ErrorKind::ResultExpired, message)
        .with_details(json!({ "call": record.effect.call, "state": record.state }))
}

/// Done, with nothing to show for it, and not left so.
fn taken_back(record: &EffectRecord) -> ToolError {
    let message = undone(record).map(|warning| warning.message).unwrap_or_default();
    unanswered(record, &message).suggest("do not repeat it; tell the user what has become of it")
}

/// The code of the warning that what is answered again was undone.
pub(crate) const UNDONE: &str = "undone";

/// What has become of an act since it was answered, for whoever is told the answer again.
pub(super) fn undone(record: &EffectRecord) -> Option<Warning> {
    let message = match record.state {
        State::Compensated => "this was done, and has been undone since",
        State::Compensating => "this was done, and is being undone",
        State::Stuck => "this was done; undoing it has failed, and a person has to look",
        State::Started
        | State::Unknown
        | State::Succeeded
        | State::Failed
        | State::Happened
        | State::NotHappened => return None,
    };
    let (path, code, message) = (String::new(), UNDONE.to_owned(), message.to_owned());
    Some(Warning { path, code, message, before: None, after: None })
}

/// What a call asks for that was not what was done: a contract may say that it is the same act all the
/// same, and a mode may have reduced it then. Whoever is told the answer again is told that, too.
pub(super) fn otherwise(record: &EffectRecord, effective: &Value) -> Option<Warning> {
    let done = &record.effect.arguments;
    if done == effective {
        return None;
    }
    let all = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let (done, asked) = (all(done), all(effective));
    let differs = |name: &&String| done.get(*name) != asked.get(*name);
    let names: BTreeSet<&String> = done.keys().chain(asked.keys()).filter(differs).collect();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let message = format!(
        "this tells of the same act, which was asked for with other arguments ({}); as it is asked for now it \
         was not done",
        names.join(", ")
    );
    let (path, code) = (String::new(), "other_arguments".to_owned());
    Some(Warning { path, code, message, before: None, after: None })
}

/// An outcome that nobody knows.
pub(super) fn unknown(record: &EffectRecord, message: &str) -> ToolError {
    let mut error = ToolError::new(ErrorKind::UnknownOutcome, message)
        .with_details(json!({ "call": record.effect.call, "tool": record.effect.tool }));
    error.partial_side_effects = true;
    error
}

/// An attempt under the same key of which nobody knows.
pub(super) fn earlier(record: &EffectRecord) -> ToolError {
    unknown(record, "the earlier attempt of this call may have been carried out")
}
