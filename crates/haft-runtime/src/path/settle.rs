//! `settle`: the outcome on record, durably, before anyone sees it.

use std::sync::Arc;
use std::time::Duration;

use haft_core::ledger::{Ending, Settled, State, Ticket};
use haft_core::outcome::Warning;
use haft_core::port::StoreError;
use haft_core::record::{InvocationRecord, Stage};
use haft_core::{ErrorKind, ToolError};
use serde_json::json;
use tokio::time::Instant;

use super::claim::Granted;
use super::join::Joined;
use super::scrub::Redacted;
use super::{Answer, Trip, publish};
use crate::runtime::Inner;

pub(crate) async fn record(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    call: &Joined,
    granted: Granted,
    safe: Redacted,
) -> Answer {
    let Redacted { state, result, view, intents, stage } = safe;
    slow(trip, call);
    let record = {
        let end = result.as_ref().map(|_| view.clone());
        trip.record(stage, end, false)
    };
    let of_ledger = granted.ticket().map(|_| state);
    let mut answer = Answer { result, view, intents, stage, cached: false, state: of_ledger };
    match granted.ticket() {
        None => publish::on_record(inner, trip, record),
        Some(ticket) => {
            let ending = Ending {
                state,
                result: answer.result.as_ref().ok().cloned(),
                error: answer.result.as_ref().err().map(kept),
                intents: answer.intents.clone(),
            };
            name_call(&mut answer, state, ticket);
            let outcome =
                Outcome { ticket: ticket.clone(), ending, tool: call.tool.tool.id.clone() };
            let patience = Instant::now() + inner.settings.lease_grace;
            let written = Box::pin(outcome.write(inner, Some(&record), patience)).await;
            if let Err(error) = written {
                answer = unrecorded(&answer, ticket, &error);
                inner.store.record(Box::new(in_doubt(*record, &answer)));
                if may_be_taken_later(&error) {
                    go_on(inner, outcome, Instant::now() + granted.lease_left());
                }
            }
        }
    }
    granted.answer(&answer);
    answer
}

/// An error as it is kept. What others may see of it stands in the call's record, and no store has it.
fn kept(error: &ToolError) -> ToolError {
    let mut error = error.clone();
    error.shown = None;
    error
}

/// The budget that is not a deadline in this mode is worth a warning.
fn slow(trip: &mut Trip, call: &Joined) {
    let took = trip.ends().as_millis();
    let budget = call.tool.latency_budget_ms;
    if took > u128::from(budget) {
        trip.warnings.push(Warning {
            path: String::new(),
            code: "latency_budget".to_owned(),
            message: format!("the call took {took} ms; its budget is {budget} ms"),
            before: None,
            after: None,
        });
    }
}

/// An unknown outcome can be looked up, so the answer says where.
fn name_call(answer: &mut Answer, state: State, ticket: &Ticket) {
    if state == State::Unknown
        && let Err(error) = &mut answer.result
    {
        error.details = Some(json!({ "call": ticket.call }));
    }
}

/// What became of an effect, on its way into the ledger.
struct Outcome {
    ticket: Ticket,
    ending: Ending,
    tool: String,
}

impl Outcome {
    /// Tries until then: an outcome that was seen is not given up lightly.
    async fn write(
        &self,
        inner: &Inner,
        record: Option<&InvocationRecord>,
        until: Instant,
    ) -> Result<(), StoreError> {
        let mut pause = Duration::from_millis(20);
        loop {
            let (ending, record) = (self.ending.clone(), record.cloned());
            match inner.store.settle(&self.ticket, ending, record).await {
                // Again: the first try was written although its answer was lost.
                Ok(Settled::Written | Settled::Again) => return Ok(()),
                Ok(Settled::TooLate(state)) => {
                    return Err(StoreError::WrongState(format!(
                        "`{}` was settled by somebody else: {}",
                        self.tool,
                        state.as_str()
                    )));
                }
                Err(error) if may_be_taken_later(&error) && Instant::now() < until => {
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(Duration::from_secs(1));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn may_be_taken_later(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_) | StoreError::InDoubt(_))
}

/// Goes on trying for as long as others leave it to this process: a disk has room again some day. Whoever asked
/// has been told that nobody knows; from then on they are told what is known. The call itself is on record
/// as they were told.
fn go_on(inner: &Arc<Inner>, outcome: Outcome, until: Instant) {
    let trying = inner.clone();
    drop(inner.tasks.spawn(async move {
        // What cannot be written even then is found to be unknown by whoever looks after the store.
        let _ = outcome.write(&trying, None, until).await;
    }));
}

/// The record of such a call, for when the store takes something again. What its handler answered is
/// not in there: nobody was told.
fn in_doubt(record: InvocationRecord, answer: &Answer) -> InvocationRecord {
    let error = answer.result.as_ref().err();
    InvocationRecord {
        result: None,
        error: error.map(|error| error.kind),
        message: error.map(|error| error.shown().to_owned()),
        stage: answer.stage,
        ..record
    }
}

/// What cannot be recorded is not promised: whoever asks later will hear that it is unknown, so that
/// is what is said now.
fn unrecorded(answer: &Answer, ticket: &Ticket, error: &StoreError) -> Answer {
    let mut unknown =
        ToolError::new(ErrorKind::UnknownOutcome, "the outcome of the call could not be recorded")
            .with_details(json!({ "call": ticket.call }))
            .caused_by(error);
    unknown.partial_side_effects = true;
    Answer {
        result: Err(unknown),
        view: None,
        intents: answer.intents.clone(),
        stage: Stage::Settle,
        cached: false,
        state: Some(State::Unknown),
    }
}
