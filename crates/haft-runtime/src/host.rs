//! What a handler can reach during one call: the capabilities of its contract, and no others.

mod builtin;
mod client;
mod nested;
mod told;

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;

use haft_core::call::Purpose;
use haft_core::contract::{Capability, SideEffectPolicy};
use haft_core::port::{Auth, Binding, Boxed, Client, Host, Scope};
use haft_core::{Digest, ErrorKind, Tool, ToolError};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Instant;

use self::nested::Places;
use crate::path;
use crate::redact::{Confided, Leased};
use crate::runtime::Inner;

/// A handler that calls its host more often than this has lost its way.
const MAX_CALLS: u32 = 1_000;

/// Of more refusals, the handler's own words are as good.
const MAX_REFUSALS: usize = 64;

/// Whether an error of a call that writes says that it was done, or may be yet: only its answer is missing.
fn says_done(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::UnknownOutcome
            | ErrorKind::InFlight
            | ErrorKind::ResultExpired
            | ErrorKind::InvalidOutput
            | ErrorKind::RedactionFailed
    )
}

/// Whether what writes has certainly done nothing.
fn did_nothing(answer: &Result<Value, ToolError>) -> bool {
    answer.as_ref().is_err_and(|error| !says_done(error.kind) && !error.partial_side_effects)
}

fn over() -> ToolError {
    ToolError::new(ErrorKind::Timeout, "the time of the call is over")
}

/// The capabilities of one call. Never kept for another.
pub(crate) struct Bound {
    /// Weak: a handler that outlives the runtime reaches nothing.
    inner: Weak<Inner>,
    scope: Arc<Scope>,
    tool: Arc<Tool>,
    /// The credentials, and what was leased with them.
    auth: Option<(Arc<Auth>, Arc<Leased>)>,
    /// Whoever made the call.
    client: Option<Arc<dyn Client>>,
    class: SideEffectPolicy,
    /// What nested calls are made for.
    purpose: Purpose,
    /// When the call is over.
    end: Option<Instant>,
    /// What the call's effect is on record under: keys of nested calls are made from it.
    key: Option<Digest>,
    calls: AtomicU32,
    /// Which of several equal calls of other tools each is.
    nested: Places,
    wrote: AtomicBool,
    done: AtomicBool,
    /// What the path said to the handler, in words that only the path may use.
    refusals: Mutex<Vec<ToolError>>,
    /// The rules by which the call may be begun.
    rulebook: u64,
    /// It was not begun because there are others, or its caller is not let in any more.
    withdrawn: AtomicBool,
    /// What the tools that it calls hide.
    confided: Option<Arc<Confided>>,
}

impl Bound {
    pub(crate) fn new(
        inner: &Arc<Inner>,
        tool: &Arc<Tool>,
        scope: Arc<Scope>,
        key: Option<Digest>,
        auth: Option<(Arc<Auth>, Arc<Leased>)>,
        purpose: Purpose,
    ) -> Self {
        let class = tool.contract.side_effect_policy;
        Self {
            inner: Arc::downgrade(inner),
            scope,
            tool: tool.clone(),
            auth,
            client: None,
            class,
            purpose: purpose.within(class),
            end: None,
            key,
            calls: AtomicU32::new(0),
            nested: Places::default(),
            wrote: AtomicBool::new(false),
            done: AtomicBool::new(false),
            refusals: Mutex::default(),
            rulebook: 0,
            withdrawn: AtomicBool::new(false),
            confided: None,
        }
    }

    /// Begun by the rules of this number, or not at all.
    pub(crate) fn by(mut self, rulebook: u64) -> Self {
        self.rulebook = rulebook;
        self
    }

    /// With whoever made the call to speak to.
    pub(crate) fn speaking_to(mut self, client: Option<Arc<dyn Client>>) -> Self {
        self.client = client;
        self
    }

    /// Whether it was not begun because what let it run has changed.
    pub(crate) fn was_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::SeqCst)
    }

    /// Takes note of what the tools that the handler calls hide.
    pub(crate) fn confiding(mut self, confided: Option<Arc<Confided>>) -> Self {
        self.confided = confided;
        self
    }

    /// Reaches nothing after that.
    pub(crate) fn until(mut self, end: Option<Instant>) -> Self {
        self.end = end;
        self
    }

    /// Whether something that writes was asked for.
    pub(crate) fn has_written(&self) -> bool {
        self.wrote.load(Ordering::SeqCst)
    }

    /// Whether something that writes was done, or may have been.
    pub(crate) fn has_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// What a request that writes came to.
    fn written(&self, answer: &Result<Value, ToolError>) {
        if !did_nothing(answer) {
            self.done.store(true, Ordering::SeqCst);
        }
    }

    /// An error that a nested call was refused with and that the handler lets pass is the call's own: whoever
    /// called learns what was denied, or what there is to approve. Nobody can make one up.
    pub(crate) fn passed_on(&self, error: ToolError) -> ToolError {
        let refusals = self.refusals.lock();
        let is_that = |refusal: &&ToolError| {
            let said = format!("the handler said `{}`", refusal.kind);
            error.kind == ErrorKind::Internal
                && error.message == refusal.message
                && error.source.as_ref().is_some_and(|source| source.starts_with(&said))
        };
        let Some(refusal) = refusals.iter().rev().find(is_that) else { return error };
        let mut passed = refusal.clone();
        passed.partial_side_effects |= error.partial_side_effects;
        passed
    }

    fn remember(&self, error: &ToolError) {
        if let Some(confided) = &self.confided {
            confided.error(error);
        }
        let mut refusals = self.refusals.lock();
        let is_ours = !error.kind.is_for_handlers() && error.kind != ErrorKind::UnknownOutcome;
        if is_ours && refusals.len() < MAX_REFUSALS {
            refusals.push(error.clone());
        }
    }

    /// Before the request leaves, not after: what has been asked for may have been done.
    fn writing(&self) {
        self.wrote.store(true, Ordering::SeqCst);
    }

    fn permitted(&self, capability: Capability) -> Result<Arc<Inner>, ToolError> {
        if !self.tool.contract.capabilities.contains(&capability) {
            return Err(ToolError::new(
                ErrorKind::Internal,
                format!("the contract does not list `{}`", capability.as_str()),
            ));
        }
        if self.calls.fetch_add(1, Ordering::Relaxed) >= MAX_CALLS {
            return Err(ToolError::new(
                ErrorKind::Internal,
                format!("the handler used its capabilities more than {MAX_CALLS} times"),
            ));
        }
        if self.is_over() {
            return Err(over());
        }
        let gone = || ToolError::new(ErrorKind::Cancelled, "haft is shutting down");
        self.inner.upgrade().ok_or_else(gone)
    }

    /// A tool that says that it does not write has no key and no entry in the ledger, and is run again as
    /// often as it fails: so it changes nothing. What it says to the session's client and to the trail is
    /// no change, and what comes of `http.post` only its service knows.
    fn may_change(
        &self,
        inner: &Inner,
        capability: Capability,
        method: &str,
    ) -> Result<(), ToolError> {
        if self.class != SideEffectPolicy::Pure {
            return Ok(());
        }
        let own = || inner.capabilities.get(&capability).is_some_and(|one| one.changes(method));
        let changes = match capability {
            Capability::Http if method == "post" => false,
            Capability::Kb
            | Capability::Http
            | Capability::Calendar
            | Capability::Images
            | Capability::Moderation => capability.changes(method) || own(),
            Capability::Clock
            | Capability::Messaging
            | Capability::Audit
            | Capability::Voice
            | Capability::CallTool
            | Capability::Client => false,
        };
        if !changes {
            return Ok(());
        }
        let message = format!(
            "`{}.{}` changes something, and the contract says that this tool does not write; say \
             `\"sideEffects\": \"writes\"` in it",
            capability.in_js(),
            path::shown(method),
        );
        Err(ToolError::new(ErrorKind::Internal, message))
    }

    /// Whether the time of the call is over: what others may have given up is not done after all. A
    /// process that was stopped for a while finds in its pipes what a handler asked for in time.
    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Goes on with something that writes for as long as the call has time. Only who does it knows whether
    /// it would act next, or has its answer.
    async fn in_time(
        &self,
        mut writing: Boxed<'_, Result<Value, ToolError>>,
    ) -> Result<Value, ToolError> {
        poll_fn(|task| {
            if self.is_over() {
                let mut error = over();
                error.partial_side_effects = true;
                return Poll::Ready(Err(error));
            }
            writing.as_mut().poll(task)
        })
        .await
    }

    async fn reached(
        &self,
        capability: Capability,
        method: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        let inner = self.permitted(capability)?;
        let answer = self.answer(&inner, capability, method, arguments).await;
        self.told(&inner, answer).inspect_err(|error| self.remember(error))
    }

    async fn answer(
        &self,
        inner: &Arc<Inner>,
        capability: Capability,
        method: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        self.may_change(inner, capability, method)?;
        // A program's own provider comes before ours.
        if let Some(provider) = inner.capabilities.get(&capability) {
            let writes = provider.writes(method);
            if writes {
                self.writing();
            }
            let auth = self.auth.as_ref().map(|(auth, _)| &**auth);
            let until = self.end.map(Instant::into_std);
            let binding = Binding { tool: &self.tool, scope: &self.scope, auth, until };
            let provided = provider.provide_bound(binding, method, arguments);
            if !writes {
                return provided.await;
            }
            let answer = self.in_time(provided).await;
            self.written(&answer);
            return answer;
        }
        match capability {
            Capability::CallTool => self.call_tool(inner, method, arguments).await,
            Capability::Clock => builtin::clock(inner, method),
            Capability::Audit => {
                let note = self.scrubbed(inner, arguments)?;
                builtin::audit(inner, &self.scope, method, note).await
            }
            Capability::Messaging => {
                self.writing();
                let said = self.scrubbed(inner, arguments)?;
                let answer = builtin::messaging(inner, &self.scope, method, said);
                self.written(&answer);
                answer
            }
            Capability::Voice => builtin::voice(&self.scope, method),
            Capability::Moderation => {
                self.writing();
                let said = self.scrubbed(inner, arguments)?;
                let answer = builtin::moderation(inner, &self.scope, method, &said).await;
                self.written(&answer);
                answer
            }
            Capability::Client => {
                let said = self.scrubbed(inner, arguments)?;
                client::answer(self.client.as_deref(), method, said).await
            }
            Capability::Kb | Capability::Http | Capability::Calendar | Capability::Images => {
                Err(ToolError::new(
                    ErrorKind::Permanent,
                    format!("no `{}` is set up here", capability.as_str()),
                )
                .suggest("tell the user that this is not set up yet"))
            }
        }
    }
}

impl Host for Bound {
    fn call<'a>(
        &'a self,
        capability: Capability,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(self.reached(capability, method, arguments))
    }

    fn withdrawn(&self) -> Option<ToolError> {
        let inner = self.inner.upgrade()?;
        let same_rules = inner.policy().number == self.rulebook;
        if same_rules && path::let_in(&inner, &self.scope.caller).is_ok() {
            return None;
        }
        self.withdrawn.store(true, Ordering::SeqCst);
        let why = "what let the call run changed while it waited to be begun; nothing was done";
        Some(ToolError::new(ErrorKind::Transient, why))
    }
}
