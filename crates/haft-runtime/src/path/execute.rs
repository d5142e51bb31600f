//! `execute`: binds capabilities for this call only, and runs the handler under its deadline.

use std::sync::Arc;
use std::time::Duration;

use haft_core::contract::SideEffectPolicy;
use haft_core::port::{Ended, Job, Scope};
use haft_core::registry::Implementation;
use haft_core::{ErrorKind, ToolError};

use super::Trip;
use super::claim::Granted;
use super::confirm::Approved;
use super::join::Joined;
use crate::host::Bound;
use crate::policy::Deadline;
use crate::runtime::Inner;
use crate::session;

/// How long the handler may run: the contract's and the policy's limits, and in a mode whose
/// deadlines are enforced the latency budget.
pub(crate) fn deadline(inner: &Inner, call: &Approved) -> Duration {
    let policy = inner.policy();
    let budget = policy.budget(call.mode);
    let mut most = inner.settings.default_timeout;
    if let Some(ms) = call.tool.limits.max_runtime_ms {
        most = Duration::from_millis(ms);
    }
    if let Some(ms) = budget.max_runtime_ms {
        most = most.min(Duration::from_millis(ms));
    }
    if budget.deadline == Deadline::Enforce {
        most = most.min(Duration::from_millis(call.tool.latency_budget_ms));
    }
    most
}

/// The end of a call whose caller went away before anything was done.
pub(crate) fn called_off() -> Ended {
    Ended::NotBegun(ToolError::new(
        ErrorKind::Cancelled,
        "the caller went away before anything was done",
    ))
}

/// The end of a call whose process was stopped for so long that others have given it up: whatever
/// they decided since, it must not begin now.
fn too_late() -> Ended {
    let mut error =
        ToolError::new(ErrorKind::Timeout, "there was no time left to begin, so nothing was done");
    error.retryable = false;
    Ended::NotBegun(error)
}

/// Runs the handler, and again where class, error and mode allow it.
pub(crate) async fn run(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    call: &Joined,
    granted: &Granted,
) -> Ended {
    let deadline = deadline(inner, call);
    // In voice nobody waits for a second try.
    let retries = inner.policy().budget(call.mode).retries;
    let mut pause = inner.settings.backoff;
    let mut in_doubt = false;
    loop {
        trip.attempts += 1;
        let ended = attempt(inner, trip, call, granted, deadline).await;
        if trip.attempts > retries || !may_retry(call.class(), &ended) {
            return if in_doubt { doubted(ended) } else { ended };
        }
        in_doubt |= match &ended {
            Ended::Lost(_) => true,
            Ended::Failed(error) => error.partial_side_effects,
            Ended::Returned { .. } | Ended::NotBegun(_) => false,
        };
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
    }
}

/// The end of an attempt after one that may have done something: that this one did nothing does not
/// say that nothing was done.
fn doubted(ended: Ended) -> Ended {
    match ended {
        Ended::Failed(error) | Ended::NotBegun(error) => Ended::Lost(error),
        Ended::Returned { .. } | Ended::Lost(_) => ended,
    }
}

/// What certainly did nothing may be tried again, and so may what does no harm twice.
fn may_retry(class: SideEffectPolicy, ended: &Ended) -> bool {
    let passing = |error: &ToolError| {
        error.retryable && matches!(error.kind, ErrorKind::Transient | ErrorKind::Timeout)
    };
    let repeatable = matches!(class, SideEffectPolicy::Pure | SideEffectPolicy::Idempotent);
    match ended {
        Ended::Returned { .. } => false,
        Ended::NotBegun(error) => passing(error),
        Ended::Failed(error) | Ended::Lost(error) => repeatable && passing(error),
    }
}

async fn attempt(
    inner: &Arc<Inner>,
    trip: &Trip,
    call: &Joined,
    granted: &Granted,
    deadline: Duration,
) -> Ended {
    let scope = Arc::new(scope(trip, call));
    let host = Arc::new(Bound::new(inner, &call.tool.tool, scope.clone(), granted.provider_key()));
    #[expect(clippy::disallowed_methods, reason = "this is the one place where handlers are run")]
    let job = Job::new(
        call.tool.tool.clone(),
        call.effective().clone(),
        scope,
        host.clone(),
        deadline,
        granted.provider_key(),
    );
    super::fail_point("before_execute").await;
    // The last look at the clock before the first byte leaves.
    let Some(left) = granted.time_left() else { return too_late() };
    let deadline = deadline.min(left);
    let run = inner.executors.execute(job);
    let ended = tokio::time::timeout(deadline, run).await.unwrap_or_else(|_| {
        Ended::Lost(ToolError::new(
            ErrorKind::Timeout,
            format!("the tool did not answer within {} ms", deadline.as_millis()),
        ))
    });
    certain(&call.tool.tool.handler, &host, ended)
}

/// A sandboxed handler reaches the world only through its host. One that failed before it used a
/// capability that writes has certainly done nothing.
fn certain(handler: &Implementation, host: &Bound, ended: Ended) -> Ended {
    let sandboxed = matches!(handler, Implementation::Js { .. } | Implementation::Wasm { .. });
    if !sandboxed || host.has_written() {
        return ended;
    }
    match ended {
        Ended::Failed(mut error) => {
            error.partial_side_effects = false;
            Ended::Failed(error)
        }
        Ended::Lost(error) => Ended::Failed(error),
        Ended::Returned { .. } | Ended::NotBegun(_) => ended,
    }
}

fn scope(trip: &Trip, call: &Joined) -> Scope {
    let mut through = call.call().through.clone();
    through.push(call.tool.tool.id.clone());
    Scope {
        call: trip.id.clone(),
        caller: trip.caller.clone(),
        mode: call.mode,
        session: session::view(
            call.session.as_ref(),
            trip.registry_version.as_deref().unwrap_or_default(),
        ),
        connection: call.call().connection.clone(),
        through,
    }
}
