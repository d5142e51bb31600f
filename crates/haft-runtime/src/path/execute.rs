//! `execute`: binds capabilities for this call only, and runs the handler under its deadline.

mod time;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use haft_core::contract::{Capability, Gateway, SideEffectPolicy};
use haft_core::port::{Auth, Boxed, Ended, Job, Scope, Verdict, Want};
use haft_core::record::Stage;
use haft_core::registry::Implementation;
use haft_core::{ErrorKind, ToolError};
use tokio::time::Instant;

use self::time::{Time, forgets};
use super::claim::Granted;
use super::confirm::Approved;
use super::join::Joined;
use super::{Refusal, Trip, authorize, gate, publish};
use crate::host::Bound;
use crate::policy::Deadline;
use crate::runtime::{Inner, Known};
use crate::session;

/// How long before others give an effect up it is over, so that what has to be killed is gone by then.
const ENDING: Duration = Duration::from_secs(1);

/// How long the handler may run: the contract's and the policy's limits, and in a mode whose
/// deadlines are enforced the latency budget.
pub(crate) fn deadline(inner: &Inner, call: &Approved) -> Duration {
    let policy = inner.policy();
    let budget = policy.budget(call.mode);
    let mut most = inner.settings.default_timeout;
    if let Some(ms) = call.tool.limits.max_runtime_ms {
        most = Duration::from_millis(ms);
    }
    // Whoever may write a contract does not thereby keep others waiting.
    if call.tool.of_tenant {
        most = most.min(inner.settings.max_own_runtime);
    }
    if let Some(ms) = budget.max_runtime_ms {
        most = most.min(Duration::from_millis(ms));
    }
    if budget.deadline == Deadline::Enforce {
        most = most.min(Duration::from_millis(call.tool.latency_budget_ms));
    }
    most
}

/// How long all attempts and the pauses between them may take.
pub(crate) fn longest(inner: &Inner, call: &Approved) -> Duration {
    let retries = inner.policy().budget(call.mode).retries;
    let pauses = inner.settings.backoff.saturating_mul(1 << retries.min(16));
    deadline(inner, call).saturating_mul(retries.saturating_add(1)).saturating_add(pauses)
}

/// The end of a call whose caller went away before anything was done.
pub(crate) fn called_off() -> Ended {
    Ended::NotBegun(ToolError::new(
        ErrorKind::Cancelled,
        "the caller went away before anything was done",
    ))
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
    let mut in_doubt = granted.ticket().is_some_and(|ticket| ticket.in_doubt);
    let mut last = None;
    let mut waiting = Waiting { inner, call, trip: None };
    let forgets = forgets(inner, call, granted).await;
    loop {
        // A provider that has not been asked has nothing to forget.
        let forgets = forgets.filter(|_| in_doubt || trip.attempts > 0);
        let time = Time::from_now(deadline, forgets);
        let tried = decided(inner, trip, call, granted, time, &mut waiting).await;
        let is_late = tried.is_none();
        let acted = tried.as_ref().is_some_and(|tried| tried.acted);
        // What the attempt before came to says more than that there was no time for another.
        let ended = tried.map(|tried| tried.ended).or(last).unwrap_or_else(held_up);
        if is_late || trip.attempts > retries || !may_retry(call.class(), acted, &ended) {
            waiting.trip = None;
            return if in_doubt { doubtful(ended) } else { ended };
        }
        in_doubt |= may_have_acted(&ended);
        last = Some(ended);
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2);
    }
}

/// A call without effects that is waited for. Whoever asked may go away, and it goes with them; that it
/// was begun stays on record. (An effect goes on.)
struct Waiting<'r> {
    inner: &'r Inner,
    call: &'r Joined,
    trip: Option<Box<Trip>>,
}

impl Waiting<'_> {
    /// Most calls are never waited for, and need no copy of what is known about them.
    fn begins(&mut self, trip: &Trip) {
        if self.call.is_pure() {
            self.trip.get_or_insert_with(|| Box::new(trip.clone()));
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(trip) = self.trip.take() {
            publish::called_off(self.inner, trip, self.call);
        }
    }
}

/// The end of a call whose process was stopped for too long after it had recorded the effect.
fn held_up() -> Ended {
    Ended::NotBegun(ToolError::new(
        ErrorKind::Cancelled,
        "the process was held up for too long, so the call was not begun",
    ))
}

/// Whether an attempt may have done something.
fn may_have_acted(ended: &Ended) -> bool {
    match ended {
        Ended::Returned { .. } | Ended::Unusable(_) | Ended::Lost(_) => true,
        Ended::Failed(error) => error.partial_side_effects,
        Ended::NotBegun(_) => false,
    }
}

/// An attempt that failed does not know what the one before it did.
fn doubtful(ended: Ended) -> Ended {
    match ended {
        Ended::Failed(error) | Ended::NotBegun(error) => Ended::Lost(error),
        Ended::Returned { .. } | Ended::Unusable(_) | Ended::Lost(_) => ended,
    }
}

/// What certainly did nothing may be tried again, and so may what does no harm twice. A call that was to
/// have no effects and has acted has no key by which anybody would know it again.
fn may_retry(class: SideEffectPolicy, acted: bool, ended: &Ended) -> bool {
    if acted && class == SideEffectPolicy::Pure {
        return false;
    }
    let passing = |error: &ToolError| {
        error.retryable && matches!(error.kind, ErrorKind::Transient | ErrorKind::Timeout)
    };
    let repeatable = matches!(class, SideEffectPolicy::Pure | SideEffectPolicy::Idempotent);
    match ended {
        Ended::Returned { .. } | Ended::Unusable(_) => false,
        Ended::NotBegun(error) => passing(error),
        Ended::Failed(error) | Ended::Lost(error) => repeatable && passing(error),
    }
}

/// How an attempt ended, and whether something that writes was asked for.
struct Tried {
    ended: Ended,
    acted: bool,
    /// It was not begun, since what let it run has changed while it waited for a place.
    withdrawn: bool,
}

impl Tried {
    fn refused(error: ToolError) -> Self {
        Self { ended: Ended::NotBegun(error), acted: false, withdrawn: false }
    }
}

/// One attempt. While it waits for a place it is decided anew as often as that is called for, and its time goes on.
async fn decided(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    call: &Joined,
    granted: &Granted,
    time: Time,
    waiting: &mut Waiting<'_>,
) -> Option<Tried> {
    loop {
        let rulebook = match let_begin(inner, call) {
            Ok(rulebook) => rulebook,
            Err(refusal) => {
                trip.rule = refusal.rule;
                return Some(Tried::refused(refusal.error));
            }
        };
        let tried = attempt(inner, trip, call, granted, (time, rulebook), waiting).await;
        if !tried.as_ref().is_some_and(|tried| tried.withdrawn) {
            return tried;
        }
        trip.attempts = trip.attempts.saturating_sub(1);
    }
}

/// Runs the handler once; nothing where it is too late to begin.
async fn attempt(
    inner: &Arc<Inner>,
    trip: &mut Trip,
    call: &Joined,
    granted: &Granted,
    (time, rulebook): (Time, u64),
    waiting: &mut Waiting<'_>,
) -> Option<Tried> {
    let scope = Arc::new(scope(trip, call));
    let auth = auth(inner, trip, call);
    // What the handler gets to know of it is hidden until the answer has been made safe.
    trip.auth.clone_from(&auth);
    let host = Bound::new(
        inner,
        &call.tool.tool,
        scope.clone(),
        granted.own_key(),
        auth.clone().zip(trip.leased.clone()),
        call.call().purpose,
    )
    .by(rulebook)
    .speaking_to(trip.call.client.clone());
    if call.tool.tool.contract.capabilities.contains(&Capability::CallTool) {
        trip.confided.get_or_insert_default();
    }
    let host = Arc::new(host.until(time.end).confiding(trip.confided.clone()));
    #[expect(clippy::disallowed_methods, reason = "this is the one place where handlers are run")]
    let job = Job::new(
        call.tool.tool.clone(),
        call.effective().clone(),
        scope,
        host.clone(),
        time.deadline,
        granted.provider_key(),
    )
    .until(time.end.map(Instant::into_std))
    .with_auth(auth.clone())
    .of_tenant(call.tool.of_tenant);
    let _ends = Ends(auth);
    super::fail_point("before_execute").await;
    // As late as can be: what stops the process after this is beyond anyone.
    if is_late(inner, call, granted, time) {
        return None;
    }
    trip.attempts += 1;
    let run = inner.executors.execute(job);
    let ended = within(time, run, || waiting.begins(trip)).await.unwrap_or_else(|| {
        Ended::Lost(ToolError::new(
            ErrorKind::Timeout,
            format!("the tool did not answer within {} ms", time.deadline.as_millis()),
        ))
    });
    let withdrawn = host.was_withdrawn() && matches!(ended, Ended::NotBegun(_));
    let ended = passed_on(&host, certain(&call.tool.tool.handler, &host, ended));
    let sent = call.tool.tool.contract.gateway.as_ref().is_some_and(Gateway::may_write);
    let acted = host.has_written() || sent && may_have_acted(&ended);
    Some(Tried { ended, acted, withdrawn })
}

/// The rules by which an attempt may be made now, or why it may not be: while a call waits, what its caller came in with
/// may end, and so may the rules that let it run. (An approval was spent with the claim.)
fn let_begin(inner: &Inner, call: &Joined) -> Result<u64, Refusal> {
    let rulebook = inner.policy().number;
    gate::let_in(inner, &call.call().caller)?;
    let Some(decision) = authorize::anew(inner, call) else { return Ok(rulebook) };
    match decision.verdict {
        Verdict::Allow => Ok(rulebook),
        Verdict::RequireApproval if call.spend.is_some() => Ok(rulebook),
        Verdict::RequireApproval | Verdict::Deny => Err(gate::denied(Stage::Execute, &decision)),
    }
}

/// What the path said to the handler and the handler says again keeps its kind and its details.
fn passed_on(host: &Bound, ended: Ended) -> Ended {
    match ended {
        Ended::Failed(error) => Ended::Failed(host.passed_on(error)),
        Ended::NotBegun(error) => Ended::NotBegun(host.passed_on(error)),
        Ended::Returned { .. } | Ended::Unusable(_) | Ended::Lost(_) => ended,
    }
}

/// A process that was stopped after it had recorded the effect may have been given up meanwhile, or
/// would be before it is done: somebody may settle it as not happened, and ask for it again. What does
/// no harm twice does none for as long as the provider knows its key.
fn is_late(inner: &Inner, call: &Joined, granted: &Granted, time: Time) -> bool {
    match call.class() {
        SideEffectPolicy::Pure => false,
        SideEffectPolicy::Idempotent => time.is_over(),
        SideEffectPolicy::Compensatable | SideEffectPolicy::Irreversible => {
            // Whatever is ended at its time is gone a little later.
            let ending = (inner.settings.lease_grace / 2).min(ENDING);
            granted.outlasts_its_lease(time.left().saturating_add(ending))
        }
    }
}

/// Awaits a run until its end. What ends at once costs no timer.
async fn within(time: Time, mut run: Boxed<'_, Ended>, waits: impl FnOnce()) -> Option<Ended> {
    match poll_fn(|task| Poll::Ready(polled(&mut run, task))).await {
        Poll::Ready(ended) => Some(ended),
        Poll::Pending => {
            waits();
            let run = poll_fn(|task| polled(&mut run, task));
            match time.end {
                Some(end) => tokio::time::timeout_at(end, run).await.ok(),
                None => Some(run.await),
            }
        }
    }
}

/// What an embedding program brings along may panic, an executor or what gives capabilities: that is the end of the
/// call and not of its task.
fn polled(run: &mut Boxed<'_, Ended>, task: &mut Context<'_>) -> Poll<Ended> {
    catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(task))).unwrap_or_else(|_| {
        let why = "what carries the call out broke off";
        Poll::Ready(Ended::Lost(ToolError::new(ErrorKind::Internal, why)))
    })
}

/// A sandboxed handler reaches the world only through its host. One that failed before it used a
/// capability that writes has certainly done nothing.
fn certain(handler: &Implementation, host: &Bound, ended: Ended) -> Ended {
    let sandboxed = matches!(handler, Implementation::Js { .. } | Implementation::Wasm { .. });
    match ended {
        // Something was done by its means, whatever it says itself.
        Ended::Failed(mut error) if host.has_done() => {
            error.partial_side_effects = true;
            Ended::Failed(error)
        }
        _ if !sandboxed || host.has_written() => ended,
        Ended::Failed(mut error) => {
            error.partial_side_effects = false;
            Ended::Failed(error)
        }
        Ended::Lost(error) => Ended::Failed(error),
        Ended::Returned { .. } | Ended::Unusable(_) | Ended::NotBegun(_) => ended,
    }
}

/// The credentials of the call's connection. `authorize` has let the call use it; nobody has been
/// asked for a secret yet, and nobody is until the handler needs one.
fn auth(inner: &Arc<Inner>, trip: &mut Trip, call: &Joined) -> Option<Arc<Auth>> {
    let needed = call.tool.tool.contract.connection.as_ref()?;
    let want = Want {
        tenant: call.call().caller.tenant.to_string(),
        connection: call.call().connection.clone()?,
        provider: needed.provider.clone(),
    };
    let broker = inner.broker.clone()?;
    let leased = trip.leased.get_or_insert_default().clone();
    let known = Arc::new(Known { inner: Arc::downgrade(inner), leased });
    let auth = Auth::bind(broker, known, want, needed.hosts.clone());
    // Who writes a contract must not thereby read a secret.
    Some(Arc::new(auth.listed_only(call.tool.of_tenant)))
}

/// Whatever becomes of a call, its credentials are of no use afterwards.
struct Ends(Option<Arc<Auth>>);

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(auth) = &self.0 {
            auth.end();
        }
    }
}

fn scope(trip: &Trip, call: &Joined) -> Scope {
    let before = &call.call().through;
    let mut through = Vec::with_capacity(before.len() + 1);
    through.extend(before.iter().chain([&trip.tool]).cloned());
    Scope {
        call: trip.id.clone(),
        caller: trip.call.caller.clone(),
        mode: call.mode,
        session: session::view(call.session.as_deref(), trip.registry_version.as_ref()),
        connection: call.call().connection.clone(),
        only: call.call().only.clone(),
        through,
    }
}
