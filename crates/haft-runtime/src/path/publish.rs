//! `publish`: events for whoever watches, intents to the session, and the envelope to the caller.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use haft_core::contract::Gateway;
use haft_core::ledger::State;
use haft_core::outcome::{Applied, Intent, IntentStatus};
use haft_core::port::{EffectChanged, Finished, Started};
use haft_core::record::{Event, EventKind, InvocationRecord, Stage, Written};
use haft_core::session::Session;
use haft_core::{Envelope, ErrorKind, ToolError};
use serde_json::{Value, json};

use super::confirm::Approved;
use super::join::Joined;
use super::{Answer, Refusal, Trip, scrub};
use crate::runtime::Inner;
use crate::session::{self, Came};
use crate::settings::millis;

/// Larger answers are not kept for whoever sends the call again; the ledger has those of side effects.
const MAX_ANSWER: usize = 2 << 20;

/// So long a refusal waits for room for its record.
const ROOM: Duration = Duration::from_secs(1);

/// The end of a call that was decided against.
pub(crate) async fn refused(inner: &Arc<Inner>, mut trip: Box<Trip>, refusal: Refusal) -> Envelope {
    if refusal.rule.is_some() {
        trip.rule = refusal.rule;
    }
    trip.name_tool(inner);
    ended(inner, trip, Answer::refused(refusal.stage, refusal.error)).await
}

/// The end of a call that did not run now: refused late, or answered from memory.
pub(crate) async fn ended(inner: &Arc<Inner>, mut trip: Box<Trip>, mut answer: Answer) -> Envelope {
    answer.result = match answer.result {
        // A secret may have become known since the answer was kept.
        Ok(mut data) => match trip.sieve(inner).value(&mut data) {
            Ok(false) => Ok(data),
            Ok(true) => {
                // What others may see was made from it before.
                answer.view = None;
                Ok(data)
            }
            Err(why) => Err(unsafe_answer().caused_by(why)),
        },
        Err(error) => Err(scrub::clean(&trip.sieve(inner), error)),
    };
    // A dry run is no call.
    if !trip.call.dry_run {
        if answer.result.is_err() {
            // What was refused is of interest when there is too much of everything; whoever asked waits
            // a moment for that.
            let _ = tokio::time::timeout(ROOM, inner.store.room()).await;
        }
        let end = answer.result.as_ref().map(|_| None);
        let record = trip.record(answer.stage, end, answer.cached);
        on_record(inner, &trip, record);
        finished(inner, &trip, None, &answer);
        result_event(inner, &trip, &answer);
    }
    Envelope { meta: trip.meta(answer.cached), result: answer.result, intents: Vec::new() }
}

/// The end of a call without effects whose caller went away.
pub(crate) fn called_off(inner: &Inner, mut trip: Box<Trip>, call: &Approved) {
    let error = ToolError::new(ErrorKind::Cancelled, "whoever asked went away before the answer");
    let answer = Answer::refused(Stage::Execute, error);
    let record = trip.record(answer.stage, answer.result.as_ref().map(|_| None), false);
    on_record(inner, &trip, record);
    finished(inner, &trip, Some(call), &answer);
    result_event(inner, &trip, &answer);
}

/// Puts the end of a call on record; of one whose tenant is gone there is nobody whose record that is.
pub(super) fn on_record(inner: &Inner, trip: &Trip, record: Box<InvocationRecord>) {
    if !inner.is_over(&trip.call.caller) {
        inner.store.record(record);
    }
}

fn unsafe_answer() -> ToolError {
    let message = "it was done before, but the kept answer could not be made safe to show";
    ToolError::new(ErrorKind::RedactionFailed, message).with_details(json!({ "done": true }))
}

/// The end of a call that has its place in the session and did not run: a repetition that was
/// answered, or one that the ledger refused.
pub(crate) async fn not_run(
    inner: &Arc<Inner>,
    trip: Box<Trip>,
    call: &Approved,
    mut answer: Answer,
) -> Envelope {
    // An answer that was kept has the words that its caller was told.
    if let Err(error) = &mut answer.result {
        if answer.cached {
            scrub::withhold_kept(call, error);
        }
        scrub::quote_nothing(&trip, call, error);
    }
    // A duplicate that waited in vain leaves the place of the call that runs alone.
    let waits = answer.result.as_ref().is_err_and(|error| error.kind == ErrorKind::InFlight);
    let intents = match waits {
        true => Vec::new(),
        false => settle_session(inner, &trip, call, &answer).await,
    };
    Envelope { intents, ..ended(inner, trip, answer).await }
}

/// A call is about to run.
pub(crate) fn started(inner: &Inner, trip: &Trip, call: &Joined) {
    for observer in &inner.observe {
        let caller = &trip.call.caller;
        observer.started(&Started {
            call: &trip.id,
            tenant: &caller.tenant,
            agent: &caller.agent,
            tool: &trip.tool,
            class: call.class(),
        });
    }
    if !inner.publish.is_listening() {
        return;
    }
    emit(
        inner,
        trip,
        EventKind::ToolCallStart,
        json!({ "arguments": trip.arguments.as_ref().map(Written::value) }),
    );
    if !call.is_pure() {
        let payload = json!({ "toolName": *trip.tool, "sideEffectPolicy": call.class() });
        emit(inner, trip, EventKind::ToolSideEffectStarted, payload);
    }
}

/// The end of a call that ran.
pub(crate) async fn answered(
    inner: &Arc<Inner>,
    trip: Box<Trip>,
    call: &Approved,
    answer: Answer,
) -> Envelope {
    finished(inner, &trip, Some(call), &answer);
    if answer.state == Some(State::Unknown) {
        unknown(inner, &trip);
    }
    if let Some(state) = answer.state.filter(|_| inner.publish.is_listening()) {
        effect_event(inner, &trip, call, (state, &answer));
    }
    result_event(inner, &trip, &answer);
    let intents = match &trip.call.session {
        None => answer.intents.iter().map(nowhere).collect(),
        Some(_) => Box::pin(settle_session(inner, &trip, call, &answer)).await,
    };
    Envelope { meta: trip.meta(answer.cached), result: answer.result, intents }
}

/// Nobody knows what became of this call's effect: somebody has to find out.
fn unknown(inner: &Inner, trip: &Trip) {
    let caller = &trip.call.caller;
    let changed = EffectChanged {
        call: &trip.id,
        tenant: &caller.tenant,
        agent: &caller.agent,
        tool: &trip.tool,
        state: State::Unknown,
        by: None,
    };
    inner.observe.iter().for_each(|observer| observer.effect_changed(&changed));
    if inner.publish.is_listening() {
        let payload = json!({ "state": State::Unknown, "by": null });
        emit(inner, trip, EventKind::EffectChanged, payload);
    }
}

/// Tells those who count; once for every call that is on record.
fn finished(inner: &Inner, trip: &Trip, ran: Option<&Approved>, answer: &Answer) {
    let caller = &trip.call.caller;
    if inner.observe.is_empty() || inner.is_over(caller) {
        return;
    }
    let cause = ran.and_then(|call| cause(inner, trip, call, answer));
    let seen = Finished {
        call: &trip.id,
        tenant: &caller.tenant,
        agent: &caller.agent,
        tool: trip.tool_version.as_ref().map(|_| &*trip.tool),
        gateway: ran.map(|call| gateway(&call.tool.tool.contract.gateway)),
        class: ran.map(|call| call.class()),
        stage: answer.stage,
        error: answer.result.as_ref().err().map(|error| error.kind),
        cause: cause.as_deref(),
        cached: answer.cached,
        attempts: trip.attempts,
        took: trip.took(),
        began_ms: trip.started_at_ms,
        model_call: trip.model_call(),
        session: trip.session(),
        trace: trip.trace,
        stages: trip.stages.as_deref().unwrap_or_default(),
    };
    inner.observe.iter().for_each(|observer| observer.finished(&seen));
}

/// What was behind the error of a call that ran. It may quote arguments and what other tools hide, of
/// which others see what redaction allows.
fn cause(inner: &Inner, trip: &Trip, call: &Approved, answer: &Answer) -> Option<String> {
    const MOST_BYTES: usize = 8 << 10;
    let source = answer.result.as_ref().err()?.source.as_deref()?;
    let seen = scrub::seen_words(trip, call, source);
    let mut cause = scrub::tidy(&trip.sieve(inner), seen.as_deref().unwrap_or(source), MOST_BYTES)?;
    cause.truncate(cause.floor_char_boundary(MOST_BYTES));
    Some(cause)
}

fn gateway(gateway: &Option<Gateway>) -> &'static str {
    match gateway {
        None => "internal",
        Some(Gateway::Http { .. }) => "http",
        Some(Gateway::Mcp { .. }) => "mcp",
        Some(Gateway::Composio { .. }) => "composio",
        Some(Gateway::Grid { .. }) => "grid",
    }
}

/// What became of an effect, in the words of the toolbox specification.
fn effect_event(inner: &Inner, trip: &Trip, call: &Approved, (state, answer): (State, &Answer)) {
    let kind = match state {
        State::Succeeded => EventKind::ToolSideEffectCompleted,
        State::Started
        | State::Failed
        | State::Unknown
        | State::Happened
        | State::NotHappened
        | State::Compensating
        | State::Compensated
        | State::Stuck => EventKind::ToolSideEffectFailed,
    };
    let error = answer.result.as_ref().err();
    let payload = json!({
        "toolName": *trip.tool,
        "sideEffectPolicy": call.class(),
        "status": state.in_toolbox_words(),
        "idempotencyKey": call.key.as_ref().map(|key| &key.digest),
        "startedAtMs": trip.started_at_ms,
        "arguments": trip.arguments.as_ref().map(Written::value),
        "result": answer.view.as_ref().map(Written::value),
        "error": error.map(|error| error.kind),
        "message": error.map(|error| error.shown()),
        "compensates": call.call().compensates,
    });
    emit(inner, trip, kind, payload);
}

fn result_event(inner: &Inner, trip: &Trip, answer: &Answer) {
    if !inner.publish.is_listening() {
        return;
    }
    let payload = match &answer.result {
        Ok(_) => {
            json!({ "ok": true, "result": answer.view.as_ref().map(Written::value), "cached": answer.cached })
        }
        Err(error) => {
            json!({ "ok": false, "error": error.kind, "message": error.shown(), "cached": answer.cached })
        }
    };
    emit(inner, trip, EventKind::ToolCallResult, payload);
}

fn emit(inner: &Inner, trip: &Trip, kind: EventKind, payload: Value) {
    // Whoever watches the next tenant of this name is told of its own.
    if inner.is_over(&trip.call.caller) {
        return;
    }
    inner.publish.publish(&Event {
        kind,
        tenant: trip.call.caller.tenant.to_string(),
        agent: trip.call.caller.agent.to_string(),
        session: trip.session().map(str::to_owned),
        turn: trip.turn,
        call: trip.id.as_ref().to_owned(),
        model_call: trip.model_call().map(str::to_owned),
        tool: trip.tool.as_ref().to_owned(),
        at_ms: inner.store.now_ms(),
        payload,
        by: Some((trip.call.caller.actor.clone(), trip.call.caller.subject.clone())),
    });
}

/// The session applies what the handler asked for, and remembers the answer under the model's id.
async fn settle_session(
    inner: &Arc<Inner>,
    trip: &Trip,
    call: &Approved,
    answer: &Answer,
) -> Vec<Applied> {
    let Some(id) = &trip.call.session else { return answer.intents.iter().map(nowhere).collect() };
    if answer.intents.is_empty() && trip.call.id.is_none() {
        return Vec::new();
    }
    let now = inner.store.now_ms();
    let limit = i64::try_from(millis(inner.settings.intent_limit)).unwrap_or(i64::MAX);
    let said = keepable(answer);
    let stays = !call.is_pure() && is_the_ledgers(answer);
    let came = match &said {
        None => Came::Nothing,
        Some(said) if said.to_string().len() > MAX_ANSWER => Came::TooLarge,
        Some(_) => Came::Kept,
    };
    let changed = inner
        .book
        .change_and_keep(&trip.call.caller, id, |session| {
            let id = call.call().id.as_deref();
            let keeps = id.filter(|_| !stays).filter(|id| session::answered(session, id, came));
            let due = match is_due(session, trip, call, answer) {
                true => answer.intents.as_slice(),
                false => &[],
            };
            let apply = |intent: &Intent| session::apply(session, intent.clone(), now, limit);
            let applied = due.iter().map(apply).collect::<Vec<_>>();
            (applied, keeps.zip(said.as_ref().map(Cow::Borrowed)))
        })
        .await;
    let applied = match changed {
        Ok((_, applied)) => applied,
        Err(error) => {
            let lost = |intent: &Intent| refused_intent(intent, &error.message);
            answer.intents.iter().map(lost).collect()
        }
    };
    if applied.iter().any(|one| one.status == IntentStatus::Deferred) {
        inner.release_in_time(&trip.call.caller.tenant, id);
    }
    if !applied.is_empty() && inner.publish.is_listening() {
        let seen: Vec<Value> = applied.iter().map(outline).collect();
        emit(
            inner,
            trip,
            EventKind::SessionChanged,
            json!({ "change": "intents", "intents": seen }),
        );
    }
    applied
}

/// Whether what the handler asked for is to be applied now: once, however often its effect is
/// answered, and by an answer that was kept only as long as the chain of turns goes on.
fn is_due(session: &mut Session, trip: &Trip, call: &Approved, answer: &Answer) -> bool {
    let (turn, replays) = (&mut session.turn, trip.replays.as_deref());
    if replays.is_some_and(|one| one.turn_group.as_ref() != Some(&turn.group)) {
        return false;
    }
    let effect = replays.map_or(&*trip.id, |one| one.call.as_str());
    if answer.intents.is_empty() || turn.applied.iter().any(|one| one == effect) {
        return false;
    }
    // What has no effect is not kept, so nobody answers for it again.
    if !call.is_pure() {
        turn.applied.push(effect.to_owned());
    }
    true
}

/// An intent as others see it: what kind, and what became of it.
fn outline(applied: &Applied) -> Value {
    let kind = json!(applied.intent).get("type").cloned();
    json!({ "type": kind, "status": applied.status, "reason": applied.reason })
}

/// What a message that is sent again is answered with; nothing where trying again may help.
fn keepable(answer: &Answer) -> Option<Value> {
    match &answer.result {
        Ok(data) => Some(json!({ "data": data })),
        Err(error) if error.retryable || answer.stage < Stage::Execute => None,
        // What a nested call was refused for may be approved or allowed by then.
        Err(error) if is_refusal(error.kind) => None,
        // What is unknown today may be settled tomorrow; the ledger knows.
        Err(error) if error.kind == ErrorKind::UnknownOutcome => None,
        Err(error) => Some(match &error.shown {
            Some(shown) => json!({ "error": error, "shown": shown }),
            None => json!({ "error": error }),
        }),
    }
}

/// Whether the ledger answers for a call, now or as soon as it can be read: its id goes on standing for it, and for the
/// chain of turns that its key was made of.
fn is_the_ledgers(answer: &Answer) -> bool {
    let kind = answer.result.as_ref().err().map(|error| error.kind);
    matches!(
        kind,
        Some(ErrorKind::UnknownOutcome | ErrorKind::ResultExpired | ErrorKind::StoreUnavailable)
    )
}

fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConfirmationRequired
            | ErrorKind::ConfirmationRefused
            | ErrorKind::Denied
            | ErrorKind::Unavailable
            | ErrorKind::Blocked
            | ErrorKind::BudgetExceeded
    )
}

fn nowhere(intent: &Intent) -> Applied {
    refused_intent(intent, "there is no session")
}

fn refused_intent(intent: &Intent, why: &str) -> Applied {
    Applied { intent: intent.clone(), status: IntentStatus::Refused, reason: Some(why.to_owned()) }
}
