//! When a call is over.
//!
//! A process that was stopped for a while finds, when it goes on, both that the call may begin and that its
//! time is over, and whoever waits with a timeout is told the first. So those who send something ask
//! the clock just before: what others have given up is not done after all.

use std::time::Duration;

use haft_core::port::Job;
use tokio::time::Instant;

/// When a job is over, which never runs longer than `longest`.
pub(crate) fn of(job: &Job, longest: Duration) -> Instant {
    sooner(Instant::now() + job.deadline.min(longest), job.until)
}

/// The sooner of two ends.
pub(crate) fn sooner(end: Instant, until: Option<std::time::Instant>) -> Instant {
    until.map_or(end, |until| end.min(Instant::from_std(until)))
}

/// Whether it is over.
pub(crate) fn is_past(end: Instant) -> bool {
    Instant::now() >= end
}
