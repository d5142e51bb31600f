//! The trace that the work at hand is part of. Doors say it once, around everything that a request
//! does; calls find it by themselves.

use haft_core::trace::Trace;

tokio::task_local! {
    static CURRENT: Trace;
}

/// Does something as part of a trace. What it spawns must be handed [`current`] on.
pub async fn within<F: Future>(trace: Option<Trace>, work: F) -> F::Output {
    match trace {
        Some(trace) => CURRENT.scope(trace, work).await,
        None => work.await,
    }
}

/// The trace that this is part of.
#[must_use]
pub fn current() -> Option<Trace> {
    CURRENT.try_with(|trace| *trace).ok()
}
