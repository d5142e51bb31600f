//! Several calls of one turn, one after the other.

use std::sync::Arc;

use haft_core::call::{Asked, Keyed};
use haft_core::port::Invoke as _;
use haft_core::{Call, Envelope, ErrorKind, ToolError};

use crate::runtime::Runtime;

/// One call of a batch.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The call.
    pub call: Call,
    /// Whether the rest is left alone when it does not end well.
    pub critical: bool,
}

impl From<Call> for Planned {
    /// Critical, as calls are unless someone says otherwise.
    fn from(call: Call) -> Self {
        Self { call, critical: true }
    }
}

/// What became of one call of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It was made.
    Ended(Box<Envelope>),
    /// It was not made, because a critical one before it did not end well.
    Skipped,
}

impl Runtime {
    /// Makes the calls in order, and stops after a critical one that does not end well.
    ///
    /// # Errors
    ///
    /// There are more calls than a batch may have; none was made.
    pub async fn batch(&self, calls: Vec<Planned>) -> Result<Vec<Step>, ToolError> {
        let most = self.inner.settings.max_batch;
        if calls.len() > most {
            return Err(ToolError::new(
                ErrorKind::InvalidArguments,
                format!("a batch has at most {most} calls, and this one has {}", calls.len()),
            )
            .suggest("split it"));
        }
        let mut steps = Vec::with_capacity(calls.len());
        let mut stopped = false;
        let asked = Arc::new(Asked::default());
        for mut planned in calls {
            if stopped {
                steps.push(Step::Skipped);
                continue;
            }
            // A key of its own says by itself what a call is the same as.
            if planned.call.key.is_none() || planned.call.keyed != Keyed::Call {
                planned.call.asked = Some(asked.clone());
            }
            let envelope = self.invoke(planned.call).await;
            stopped = planned.critical && !envelope.is_ok();
            steps.push(Step::Ended(Box::new(envelope)));
        }
        Ok(steps)
    }
}
