//! The one path, read from top to bottom. Each stage is a file of its own; what it returns is the
//! proof that it ran, and the next stage takes nothing else.

mod act;
mod authorize;
mod check;
mod claim;
mod confirm;
mod execute;
mod explain;
mod foresee;
mod gate;
mod join;
mod key;
mod prepare;
mod publish;
mod recall;
mod replay;
mod resolve;
mod scrub;
mod settle;
mod trip;

use std::sync::Arc;

use haft_core::call::RawArguments;
use haft_core::ledger::State;
use haft_core::outcome::Intent;
use haft_core::record::{Stage, Written};
use haft_core::{Call, Envelope, ToolError};
use serde_json::Value;

pub(crate) use act::ways;
pub(crate) use authorize::Authorized as Decided;
pub(crate) use check::written_size;
pub(crate) use claim::by_key;
use confirm::Approved;
pub(crate) use gate::let_in;
pub(crate) use recall::Recall;
pub(crate) use replay::UNDONE;
use trip::Trip;
pub(crate) use trip::shown;

use crate::toolbox::{Catalog, EffectiveTool};

use crate::fail::fail_point;
use crate::runtime::Inner;
use crate::tasks::Presence;

/// Takes a call through the path. However it ends, the end is in the envelope, and on record.
///
/// (The call is put in its place before its way begins: it would be moved along with all of that.)
pub(crate) fn take(inner: &Arc<Inner>, mut call: Call) -> impl Future<Output = Envelope> {
    // The arguments go their own way: what they become is used, and what came is seldom kept.
    let raw = std::mem::take(&mut call.arguments);
    whole(inner, Arc::new(call), raw)
}

/// (What only some calls go through is boxed, here and in the stages: a future is as large as the
/// largest of its ways, and every call would pay for ways that it does not take.)
async fn whole(inner: &Arc<Inner>, call: Arc<Call>, raw: RawArguments) -> Envelope {
    let mut trip = Trip::begin(inner, &call);
    match decide(inner, &mut trip, call, raw).await {
        Err(refusal) => {
            let refusal = explain::reasons(&trip.call, refusal);
            Box::pin(publish::refused(inner, trip, refusal)).await
        }
        Ok(approved) if approved.call().dry_run => {
            Box::pin(explain::plan(inner, trip, &approved)).await
        }
        Ok(approved) if approved.is_pure() => {
            carry_out(inner, trip, approved, Presence::certain()).await
        }
        Ok(approved) => Box::pin(detached(inner, trip, approved)).await,
    }
}

/// From a name to a call that may run: nothing has been done yet, and nothing is remembered.
async fn decide(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    call: Arc<Call>,
    raw: RawArguments,
) -> Result<Approved, Refusal> {
    // Whether the tool exists for this caller at all; first, so that nothing else is revealed.
    trip.at(Stage::Resolve);
    let found = resolve::tool(inner, trip, call).await?;
    // Cheap and without arguments: most calls that must not run end here.
    trip.at(Stage::Gate);
    let admitted = gate::admit(inner, found).await?;
    // The rules that follow look at what will really be used, not at what the model wrote.
    trip.at(Stage::Arguments);
    let prepared = prepare::arguments(inner, trip, admitted, raw)?;
    trip.at(Stage::Authorize);
    let authorized = authorize::decide(inner, trip, prepared)?;
    trip.at(Stage::Confirm);
    confirm::require(inner, trip, authorized).await
}

/// From a call that may run to its answer.
async fn carry_out(
    inner: &Arc<Inner>,
    mut trip: Box<Trip>,
    approved: Approved,
    caller: Presence,
) -> Envelope {
    trip.at(Stage::Claim);
    // The session orders this call before or after any newer message.
    let joined = match join::session(inner, &mut trip, approved).await {
        Ok(joined) => joined,
        Err(end) => return Box::pin(publish::ended(inner, trip, end)).await,
    };
    // Durable before the first byte leaves.
    let ticket = match claim::begin(inner, &mut trip, &joined).await {
        Ok(ticket) => ticket,
        Err(end) => return Box::pin(publish::not_run(inner, trip, &joined, end)).await,
    };
    // After the claim, which has looked once more whether the rules still let it run.
    let place = recall::place(inner, &joined).await;
    if let Some(answer) = place.as_ref().and_then(|place| place.answer(inner)) {
        return Box::pin(publish::not_run(inner, trip, &joined, answer)).await;
    }
    fail_point("after_claim").await;
    publish::started(inner, &trip, &joined);
    trip.at(Stage::Execute);
    // Whoever asked and is gone before anything was done wanted nothing.
    let unwanted = caller.is_gone() && ticket.is_untouched() && !ticket.is_followed();
    let ended = match unwanted {
        true => execute::called_off(),
        false => execute::run(inner, &mut trip, &joined, &ticket).await,
    };
    fail_point("after_response").await;
    trip.at(Stage::Check);
    let checked = check::output(inner, &joined, ended);
    trip.at(Stage::Redact);
    let safe = scrub::both_views(inner, &mut trip, &joined, checked);
    trip.at(Stage::Settle);
    // Durable before anyone sees it.
    let answer = settle::record(inner, &mut trip, &joined, ticket, safe).await;
    fail_point("after_record").await;
    if let Some(place) = place {
        place.keep(inner, &answer);
    }
    trip.at(Stage::Publish);
    publish::answered(inner, trip, &joined, answer).await
}

/// Runs an effect on a task of its own: a caller that goes away does not undo what has begun.
async fn detached(inner: &Arc<Inner>, trip: Box<Trip>, approved: Approved) -> Envelope {
    let presence = Presence::watched();
    let leaving = presence.leaving();
    let left = trip.clone();
    let task = inner.tasks.spawn({
        let inner = inner.clone();
        async move { carry_out(&inner, trip, approved, presence).await }
    });
    let ended = task.await;
    leaving.stayed();
    match ended {
        Ok(envelope) => envelope,
        Err(_) => {
            let cut_off = Answer::refused(Stage::Execute, left.cut_off());
            Box::pin(publish::ended(inner, left, cut_off)).await
        }
    }
}

/// The tool that a call would find, or what its caller would be told instead.
pub(crate) fn available(
    inner: &Inner,
    catalog: &Catalog,
    call: &Call,
) -> Result<Arc<EffectiveTool>, ToolError> {
    resolve::available(inner, catalog, call).map_err(|refusal| refusal.error)
}

/// Why a call ended before it ran.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) error: ToolError,
    pub(crate) stage: Stage,
    pub(crate) rule: Option<Arc<str>>,
}

impl Refusal {
    pub(crate) fn at(stage: Stage, error: ToolError) -> Self {
        Self { error, stage, rule: None }
    }

    pub(crate) fn by(mut self, rule: impl Into<Arc<str>>) -> Self {
        self.rule = Some(rule.into());
        self
    }
}

/// What a call came to.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) result: Result<Value, ToolError>,
    /// What UI and telemetry may see of the result.
    pub(crate) view: Option<Written>,
    pub(crate) intents: Vec<Intent>,
    pub(crate) stage: Stage,
    pub(crate) cached: bool,
    /// What the ledger has of the effect, where this is one.
    pub(crate) state: Option<State>,
}

impl Answer {
    /// A call that did not run.
    pub(crate) fn refused(stage: Stage, error: ToolError) -> Self {
        let intents = Vec::new();
        Self { result: Err(error), view: None, intents, stage, cached: false, state: None }
    }

    /// A call whose envelope was kept by the session.
    pub(crate) fn replayed(envelope: &Value) -> Self {
        let result = match envelope.get("error") {
            Some(error) => Err(kept(error, envelope.get("shown"))),
            None => Ok(envelope.get("data").cloned().unwrap_or_default()),
        };
        let (intents, stage) = (Vec::new(), Stage::Gate);
        Self { result, view: None, intents, stage, cached: true, state: None }
    }
}

/// An error that the session kept, with what others may see of it.
fn kept(error: &Value, shown: Option<&Value>) -> ToolError {
    let read = serde_json::from_value(error.clone()).map(|mut error: ToolError| {
        error.shown = shown.and_then(Value::as_str).map(str::to_owned);
        error
    });
    read.unwrap_or_else(|why| {
        ToolError::new(haft_core::ErrorKind::Internal, "the kept answer cannot be read")
            .caused_by(why)
    })
}
