//! Several calls of one turn, one after the other.

use std::sync::Arc;

use haft_core::call::{Asked, Keyed, Together};
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
        self.batch_told(calls, &|_, _| {}).await
    }

    /// As [`batch`](Self::batch); `told` hears of each call, by its place, when it has ended or is
    /// passed over.
    ///
    /// # Errors
    ///
    /// There are more calls than a batch may have; none was made.
    pub async fn batch_told(
        &self,
        calls: Vec<Planned>,
        told: &(dyn Fn(usize, &Step) + Send + Sync),
    ) -> Result<Vec<Step>, ToolError> {
        self.fits_batch(calls.len())?;
        let mut steps = Vec::with_capacity(calls.len());
        let mut stopped = false;
        let (asked, together) = (Arc::new(Asked::default()), Arc::new(Together::default()));
        for (place, mut planned) in calls.into_iter().enumerate() {
            let step = match stopped {
                true => Step::Skipped,
                false => {
                    // A key of its own says by itself what a call is the same as.
                    if planned.call.key.is_none() || planned.call.keyed != Keyed::Call {
                        planned.call.asked = Some(asked.clone());
                    }
                    planned.call.together = Some(together.clone());
                    let envelope = self.invoke(planned.call).await;
                    stopped = planned.critical && !envelope.is_ok();
                    Step::Ended(Box::new(envelope))
                }
            };
            told(place, &step);
            steps.push(step);
        }
        Ok(steps)
    }

    /// Whether a batch may have so many calls.
    ///
    /// # Errors
    ///
    /// It may not.
    pub fn fits_batch(&self, calls: usize) -> Result<(), ToolError> {
        let most = self.inner.settings.max_batch;
        if calls <= most {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::InvalidArguments,
            format!("a batch has at most {most} calls, and this one has {calls}"),
        )
        .suggest("split it"))
    }

    /// How many calls a posted message of a model may have. A batch is somebody's own and can be split;
    /// what a model said cannot, so this is more.
    #[must_use]
    pub fn most_in_message(&self) -> usize {
        self.inner.settings.max_message_calls
    }
}
