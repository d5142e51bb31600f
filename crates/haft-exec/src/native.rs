//! Rust functions, each under its tool's id.
//!
//! Arguments arrive as the function's own type and results leave from one. What may be passed is
//! said once, by the contract: arguments have been checked against it before a function sees them.

mod context;

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use haft_core::Registry;
use haft_core::contract::SideEffectPolicy;
use haft_core::error::{ErrorKind, ToolError};
use haft_core::outcome::Intent;
use haft_core::port::{Boxed, Ended, Execute, Job};
use haft_core::registry::{Implementation, Tool};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::end::is_past;
use crate::said;

pub use context::Context;

/// The examples of the guide are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/native-tools.md")]
struct Guide;

type Function = Box<dyn Fn(Arc<Value>, Context) -> Boxed<'static, Ended> + Send + Sync>;

/// An answer with what the function asks of the session.
#[derive(Clone, Debug, PartialEq)]
pub struct Asking<R> {
    /// The answer.
    pub data: R,
    /// What is asked of the session.
    pub intents: Vec<Intent>,
}

/// What a function knows about an effect that it did not bring to its end.
///
/// ```
/// use haft_core::{ErrorKind, ToolError};
/// use haft_exec::native::Fault;
///
/// fn connected(reached: bool) -> Result<(), Fault> {
///     if reached {
///         return Ok(());
///     }
///     let error = ToolError::new(ErrorKind::Transient, "the provider cannot be reached");
///     Err(Fault::NotBegun(error))
/// }
/// assert!(matches!(connected(false), Err(Fault::NotBegun(_))));
/// ```
#[derive(Clone, Debug)]
pub enum Fault {
    /// Nothing was done: no connection, refused before the first byte.
    NotBegun(ToolError),
    /// It was asked for and did not work. Whether a part was done is in the error.
    Failed(ToolError),
    /// It was asked for, and nobody knows what came of it.
    Lost(ToolError),
}

impl Fault {
    fn ended(self) -> Ended {
        match self {
            Self::NotBegun(error) => Ended::NotBegun(said::in_handlers_words(error)),
            Self::Failed(error) => failed(error),
            Self::Lost(error) => Ended::Lost(said::in_handlers_words(error)),
        }
    }
}

/// As a function that knows nothing better says it.
impl From<ToolError> for Fault {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Functions by the id of their tool.
#[derive(Default)]
pub struct Native(foldhash::HashMap<String, Function>);

impl Native {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With a function for a tool, in place of one that may be there.
    #[must_use]
    pub fn tool<T, R, F, Fut>(self, id: impl Into<String>, function: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
        F: Fn(T, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        self.insert(id, move |arguments, context| match read::<T>(&arguments) {
            Ok(arguments) => Box::pin(function(arguments, context).map(ended)),
            Err(error) => not_begun(error),
        })
    }

    /// With a function that says, when it fails, what it knows about its effect: that it was never
    /// begun, that it failed, or that nobody knows. What was certainly never begun may be tried again
    /// whatever the tool's class.
    #[must_use]
    pub fn effect<T, R, F, Fut>(self, id: impl Into<String>, function: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
        F: Fn(T, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Fault>> + Send + 'static,
    {
        self.insert(id, move |arguments, context| match read::<T>(&arguments) {
            Ok(arguments) => Box::pin(function(arguments, context).map(|answer| match answer {
                Ok(data) => ended(Ok(data)),
                Err(fault) => fault.ended(),
            })),
            Err(error) => not_begun(error),
        })
    }

    /// With a function whose answer comes with intents.
    #[must_use]
    pub fn asking<T, R, F, Fut>(self, id: impl Into<String>, function: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
        F: Fn(T, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Asking<R>, ToolError>> + Send + 'static,
    {
        self.insert(id, move |arguments, context| match read::<T>(&arguments) {
            Ok(arguments) => Box::pin(function(arguments, context).map(asking)),
            Err(error) => not_begun(error),
        })
    }

    /// With a function that takes and gives JSON as it is.
    #[must_use]
    pub fn raw<F, Fut>(self, id: impl Into<String>, function: F) -> Self
    where
        F: Fn(Arc<Value>, Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.insert(id, move |arguments, context| {
            Box::pin(function(arguments, context).map(|answer| match answer {
                Ok(data) => Ended::Returned { data, intents: Vec::new() },
                Err(error) => failed(error),
            }))
        })
    }

    /// With a function that blocks its thread. It gets one of its own; at the deadline the call
    /// ends as lost, and the thread is left to finish what cannot be stopped.
    #[must_use]
    pub fn blocking<T, R, F>(self, id: impl Into<String>, function: F) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        R: Serialize + Send + 'static,
        F: Fn(T, Context) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        self.insert(id, move |arguments, context| match read::<T>(&arguments) {
            Ok(arguments) => {
                let function = function.clone();
                let work = move || ended(function(arguments, context));
                Box::pin(async move {
                    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| panicked())
                })
            }
            Err(error) => not_begun(error),
        })
    }

    /// Whether a tool has a function.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        self.0.contains_key(id)
    }

    /// What does not fit together: native tools of the registry without a function, and functions
    /// without a native tool.
    #[must_use]
    pub fn check(&self, registry: &Registry) -> Vec<String> {
        let native = |tool: &&Tool| tool.handler == Implementation::Native;
        let lacking =
            registry.tools.iter().filter(native).filter(|tool| !self.has(&tool.id)).map(|tool| {
                format!("the native tool `{}` has no function; register one for it", tool.id)
            });
        let is_tool = |id: &str| registry.tools.iter().filter(native).any(|tool| tool.id == id);
        let mut spare: Vec<String> = self
            .0
            .keys()
            .filter(|id| !is_tool(id))
            .map(|id| format!("the function `{id}` has no native tool in the registry"))
            .collect();
        spare.sort();
        lacking.chain(spare).collect()
    }

    fn insert<F>(mut self, id: impl Into<String>, function: F) -> Self
    where
        F: Fn(Arc<Value>, Context) -> Boxed<'static, Ended> + Send + Sync + 'static,
    {
        self.0.insert(id.into(), Box::new(function));
        self
    }
}

impl Execute for Native {
    fn can_run(&self, tool: &Tool) -> bool {
        tool.handler == Implementation::Native && self.has(&tool.id)
    }

    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended> {
        Box::pin(async move {
            let Some(function) = self.0.get(&job.tool.id) else {
                let message = format!("`{}` has no function in this program", job.tool.id);
                return Ended::NotBegun(ToolError::new(ErrorKind::Internal, message));
            };
            let deadline = job.deadline;
            let acts = job.tool.contract.side_effect_policy != SideEffectPolicy::Pure;
            let until = job.until.filter(|_| acts).map(Instant::from_std);
            let (arguments, context) = Context::of(job);
            let run = async move { function(arguments, context).await };
            within(deadline, until, AssertUnwindSafe(run).catch_unwind())
                .await
                .map_or_else(|| timed_out(deadline), |end| end.unwrap_or_else(|_| panicked()))
        })
    }
}

/// Awaits a future until the deadline. Many functions are done at once; those cost no timer.
async fn within<F: Future>(
    deadline: Duration,
    until: Option<Instant>,
    future: F,
) -> Option<F::Output> {
    let mut future = pin!(future);
    let first = poll_fn(|task| Poll::Ready(future.as_mut().poll(task))).await;
    match first {
        Poll::Ready(output) => Some(output),
        Poll::Pending => tokio::time::timeout(deadline, in_time(until, future)).await.ok()?,
    }
}

/// A function that acts is not gone on with when its time is over. Only it knows whether it would act
/// next or has its answer; after others have given it up, it must not do the first.
async fn in_time<F: Future>(until: Option<Instant>, mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|task| match until.is_some_and(is_past) {
        true => Poll::Ready(None),
        false => future.as_mut().poll(task).map(Some),
    })
    .await
}

fn read<T: DeserializeOwned>(arguments: &Value) -> Result<T, ToolError> {
    T::deserialize(arguments).map_err(|why| {
        let message = "the tool's function does not take what its contract promises";
        ToolError::new(ErrorKind::Internal, message).caused_by(why)
    })
}

fn not_begun(error: ToolError) -> Boxed<'static, Ended> {
    Box::pin(std::future::ready(Ended::NotBegun(error)))
}

fn ended<R: Serialize>(answer: Result<R, ToolError>) -> Ended {
    asking(answer.map(|data| Asking { data, intents: Vec::new() }))
}

fn asking<R: Serialize>(answer: Result<Asking<R>, ToolError>) -> Ended {
    match answer {
        Ok(Asking { data, intents }) => match serde_json::to_value(data) {
            Ok(data) => Ended::Returned { data, intents },
            Err(why) => {
                let message = "the tool's answer cannot be written as JSON";
                Ended::Unusable(ToolError::new(ErrorKind::InvalidOutput, message).caused_by(why))
            }
        },
        Err(error) => failed(error),
    }
}

/// A function that does not know what it did says so, and is believed.
fn failed(error: ToolError) -> Ended {
    let unknown = error.kind == ErrorKind::UnknownOutcome;
    let error = said::in_handlers_words(error);
    if unknown { Ended::Lost(error) } else { Ended::Failed(error) }
}

fn panicked() -> Ended {
    Ended::Lost(ToolError::new(ErrorKind::Internal, "the tool broke off while it was running"))
}

fn timed_out(deadline: Duration) -> Ended {
    Ended::Lost(ToolError::new(
        ErrorKind::Timeout,
        format!("the tool did not finish within {} ms", deadline.as_millis()),
    ))
}
