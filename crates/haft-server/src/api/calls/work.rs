//! What a request asks to be done, however its answer is to come.

use axum::Json;
use axum::response::{IntoResponse as _, Response};
use haft_core::call::{Call, Caller, Keyed};
use haft_core::port::Invoke as _;
use haft_core::{Envelope, ToolError};
use haft_runtime::Runtime;
use haft_runtime::batch::{Planned, Step};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Batch, One, answer};
use crate::api::dialects::{Answered, Message};
use crate::body;
use crate::door::Door;
use crate::problem::Problem;

/// The calls of a request, ready to be made.
pub(super) enum Work {
    One(Box<Call>),
    /// In order; the rest is left alone after a critical one that does not end well.
    Batch(Vec<Planned>),
    /// Those of a provider's message.
    Message(Box<Message>),
}

impl Work {
    /// What a body of ours asks for; `arguments` is the text of a single call's.
    pub(super) fn read(
        door: &Door,
        caller: &Caller,
        (body, value, arguments): (&[u8], Value, Option<&str>),
        key: Option<String>,
        operates: bool,
    ) -> Result<Self, Problem> {
        let batch: Batch = match value.get("calls") {
            Some(_) => body::shape(value)?,
            None => {
                let mut call = One::read(value)?.call(caller.clone(), operates)?;
                call.sees_rules = operates;
                call.arguments = call.arguments.from_text(arguments);
                match (&call.key, key) {
                    (None, key) => (call.key, call.keyed) = (key, Keyed::Request),
                    (Some(own), Some(key)) if *own != key => {
                        return Err(Problem::malformed(
                            "`Idempotency-Key` and `idempotency_key` differ: which of them is the \
                             act's key is not known",
                        ));
                    }
                    (Some(_), _) => {}
                }
                return Ok(Self::One(Box::new(call)));
            }
        };
        door.runtime.fits_batch(batch.calls.len())?;
        let keyed = if batch.calls.len() > 1 { Keyed::Batch } else { Keyed::Request };
        let texts = texts(body).into_iter().chain(std::iter::repeat(None));
        let planned = batch.calls.into_iter().zip(texts).map(|(one, text)| {
            let critical = one.critical.unwrap_or(true);
            let mut call = one.call(caller.clone(), operates)?;
            call.sees_rules = operates;
            call.arguments = call.arguments.from_text(text);
            if call.key.is_none() {
                // One key for the request: what each call asks for tells them apart.
                (call.key, call.keyed) = (key.clone(), keyed);
            }
            Ok(Planned { call, critical })
        });
        Ok(Self::Batch(planned.collect::<Result<_, Problem>>()?))
    }

    /// The calls that may be made.
    pub(super) fn calls(&mut self) -> Vec<&mut Call> {
        match self {
            Self::One(call) => vec![call],
            Self::Batch(planned) => planned.iter_mut().map(|one| &mut one.call).collect(),
            Self::Message(message) => message.calls().map(|(_, call)| call).collect(),
        }
    }

    /// The same, each with the id that its client knows it by.
    pub(super) fn known(&mut self) -> Vec<(String, &mut Call)> {
        let own = |call: &Call| call.id.clone().unwrap_or_default();
        match self {
            Self::One(call) => vec![(own(call), call)],
            Self::Batch(planned) => {
                planned.iter_mut().map(|one| (own(&one.call), &mut one.call)).collect()
            }
            Self::Message(message) => message.calls().collect(),
        }
    }

    /// The ids by which clients know the ends that they are told of, by their places.
    pub(super) fn ids(&self) -> Vec<String> {
        match self {
            Self::One(call) => call.id.iter().cloned().collect(),
            Self::Batch(planned) => {
                planned.iter().map(|one| one.call.id.clone().unwrap_or_default()).collect()
            }
            Self::Message(message) => message.ids(),
        }
    }

    /// Makes the calls. Where they may be several, `told` hears of each end, by its place.
    pub(super) async fn run(
        self,
        runtime: &Runtime,
        told: &(dyn Fn(usize, Value) + Send + Sync),
    ) -> Result<Done, ToolError> {
        match self {
            Self::One(call) => Ok(Done::One(Box::new(runtime.invoke(*call).await))),
            Self::Batch(planned) => {
                let tell = |place, step: &Step| told(place, shown(step));
                // Boxed, as below: most requests are one call, and pay for no other way.
                let steps = Box::pin(runtime.batch_told(planned, &tell)).await?;
                Ok(Done::Batch(steps.iter().map(shown).collect()))
            }
            Self::Message(message) => {
                let tell = |place, end: &Envelope| told(place, json!(end));
                Ok(Done::Message(Box::pin(message.answer(runtime, &tell)).await))
            }
        }
    }
}

/// The texts of the arguments of a batch, by their places. A number that becomes a text is spelt from
/// there, as that of a single call is: they may be the same act. (The body was read strictly before, so
/// nothing in it is there twice.)
fn texts(body: &[u8]) -> Vec<Option<&str>> {
    #[derive(Deserialize)]
    struct Calls<'b> {
        #[serde(borrow)]
        calls: Vec<One<'b>>,
    }
    #[derive(Deserialize)]
    struct One<'b> {
        #[serde(borrow, default)]
        arguments: Option<&'b RawValue>,
    }
    let read: Calls<'_> = serde_json::from_slice(body).unwrap_or(Calls { calls: Vec::new() });
    read.calls.into_iter().map(|one| one.arguments.map(RawValue::get)).collect()
}

/// One call of a batch, as it is answered.
fn shown(step: &Step) -> Value {
    match step {
        Step::Ended(envelope) => json!(envelope),
        Step::Skipped => json!({ "skipped": true }),
    }
}

/// What came of it.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Done {
    One(Box<Envelope>),
    Batch(Vec<Value>),
    Message(Answered),
}

impl Done {
    /// As the answer to the request.
    pub(super) fn respond(&self) -> Response {
        match self {
            Self::One(envelope) => answer(envelope),
            Self::Batch(steps) => Json(steps).into_response(),
            Self::Message(answered) => Json(answered).into_response(),
        }
    }

    /// The name of the last event of a stream. The end of one call is all that there is to tell.
    pub(super) fn event(&self) -> &'static str {
        match self {
            Self::One(_) => "result",
            Self::Batch(_) | Self::Message(_) => "answer",
        }
    }
}
