//! The trace that the work at hand is part of. Doors say it once, around everything that a request
//! does; calls find it by themselves.

use haft_core::trace::Trace;

tokio::task_local! {
    static CURRENT: Option<Trace>;
}

/// Does something as part of a trace, or of none that is new. What it spawns must be handed
/// [`current`] on. (No `async fn`: a way for either case would make every request's future twice as
/// large, and each is moved as a whole.)
pub fn within<F: Future>(trace: Option<Trace>, work: F) -> impl Future<Output = F::Output> {
    CURRENT.scope(trace.or_else(current), work)
}

/// The trace that this is part of.
#[must_use]
pub fn current() -> Option<Trace> {
    CURRENT.try_with(|trace| *trace).ok().flatten()
}
