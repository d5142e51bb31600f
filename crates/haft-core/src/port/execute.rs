//! Running a handler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Auth, Boxed};
use crate::call::Caller;
use crate::contract::{Capability, Mode};
use crate::error::ToolError;
use crate::outcome::Intent;
use crate::registry::Tool;

/// One run of one handler, with everything that it is handed.
///
/// Only the path makes jobs: an executor takes nothing else, and making one elsewhere is refused by
/// the linter. So there is no second way to run a tool. (Non-exhaustive: no other crate can write
/// one down field by field.)
#[non_exhaustive]
pub struct Job {
    /// The tool, as the session knows it.
    pub tool: Arc<Tool>,
    /// The effective arguments.
    pub arguments: Arc<Value>,
    /// What the handler may know about the call.
    pub scope: Arc<Scope>,
    /// The capabilities that the contract lists, and no others.
    pub host: Arc<dyn Host>,
    /// How long it may run.
    pub deadline: Duration,
    /// When it is over at the latest, however long it has waited to be begun. After that nothing is begun
    /// and nothing is asked for: others may have given it up, or its provider may have forgotten its key.
    pub until: Option<Instant>,
    /// The same for every attempt under one key: for providers that deduplicate by themselves.
    pub provider_key: Option<String>,
    /// The credentials of the call's connection, where the contract asks for one and the call was
    /// allowed to use it.
    pub auth: Option<Arc<Auth>>,
    /// Whether the tool is one that a tenant brought along: it reaches what tenants may reach.
    pub of_tenant: bool,
}

impl Job {
    /// For the path alone.
    #[must_use]
    pub fn new(
        tool: Arc<Tool>,
        arguments: impl Into<Arc<Value>>,
        scope: Arc<Scope>,
        host: Arc<dyn Host>,
        deadline: Duration,
        provider_key: Option<String>,
    ) -> Self {
        let arguments = arguments.into();
        let (until, auth, of_tenant) = (None, None, false);
        Self { tool, arguments, scope, host, deadline, until, provider_key, auth, of_tenant }
    }

    /// Over then at the latest.
    #[must_use]
    pub fn until(mut self, until: Option<Instant>) -> Self {
        self.until = until;
        self
    }

    /// Of a tool that a tenant brought along.
    #[must_use]
    pub fn of_tenant(mut self, of_tenant: bool) -> Self {
        self.of_tenant = of_tenant;
        self
    }

    /// With the credentials of the call's connection.
    #[must_use]
    pub fn with_auth(mut self, auth: Option<Arc<Auth>>) -> Self {
        self.auth = auth;
        self
    }
}

/// What a handler may know about its call. References only, never secrets.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The call.
    pub call: Arc<str>,
    /// Who asks.
    pub caller: Caller,
    /// How model and user talk.
    pub mode: Mode,
    /// The session, as far as handlers see it.
    pub session: SessionView,
    /// The connection, an opaque id.
    pub connection: Option<String>,
    /// The only tools that the run may use, where it is narrowed to some.
    pub only: Option<Vec<String>>,
    /// The tools that called this one, outermost first, this one last.
    pub through: Vec<Arc<str>>,
}

/// The read-only view of a session that handlers get.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its id; absent for a call outside of any session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it takes calls.
    pub active: bool,
    /// The current turn.
    #[serde(default)]
    pub turn: u64,
    /// The registry that it is pinned to.
    #[serde(default)]
    pub registry_version: Arc<str>,
    /// Whether sound is suppressed.
    #[serde(default)]
    pub suppress_audio: bool,
    /// Whether text is suppressed.
    #[serde(default)]
    pub suppress_transcript: bool,
}

/// What a handler can reach: the capabilities of its contract, for this call only.
pub trait Host: Send + Sync {
    /// Calls a method of a capability, `search` of `kb`, say.
    fn call<'a>(
        &'a self,
        capability: Capability,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>>;

    /// Why the call is not to be begun now: the rules that let it run have changed since, or what its caller came in with
    /// has ended. To be asked by whoever has waited for a place, as late as can be; the path decides anew then.
    fn withdrawn(&self) -> Option<ToolError> {
        None
    }
}

/// The call that a capability is used by.
#[derive(Clone, Copy)]
pub struct Binding<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// Who asks, through what.
    pub scope: &'a Scope,
    /// The credentials of its connection.
    pub auth: Option<&'a Auth>,
    /// When the call is over. After that nothing is sent for it.
    pub until: Option<Instant>,
}

/// Something behind a capability: a knowledge base, a calendar. Bound to a call by the path.
pub trait Provide: Send + Sync {
    /// Answers one method call.
    fn provide<'a>(
        &'a self,
        scope: &'a Scope,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>>;

    /// The same, for a provider that needs to know more of the call than who asks.
    fn provide_bound<'a>(
        &'a self,
        binding: Binding<'a>,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        self.provide(binding.scope, method, arguments)
    }

    /// Whether a method changes anything. A handler that fails before it called one has certainly
    /// done nothing.
    fn writes(&self, method: &str) -> bool;

    /// Whether it may do something else for a call that names another connection, where the tool's contract asks for
    /// none. Then two such calls are two acts.
    fn reads_connection(&self) -> bool {
        true
    }

    /// Whether a method is refused to tools that do not write.
    fn changes(&self, method: &str) -> bool {
        self.writes(method)
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// It returned.
    Returned {
        /// The answer.
        data: Value,
        /// What it asks of the session.
        intents: Vec<Intent>,
    },
    /// It returned and says that it did what it was to do, but its answer cannot be used.
    Unusable(ToolError),
    /// It says that it failed. Whether a part was done is in the error.
    Failed(ToolError),
    /// It was certainly never begun: no executor, no connection, refused before the first byte.
    NotBegun(ToolError),
    /// It was begun and its end is not known: killed, crashed, timed out, unreadable answer.
    Lost(ToolError),
}

/// Runs handlers of one kind.
pub trait Execute: Send + Sync {
    /// Whether it can run this tool.
    fn can_run(&self, tool: &Tool) -> bool;

    /// Whether it can do anything with these arguments, which the schema has accepted: asked before
    /// anybody is asked to approve the call.
    ///
    /// # Errors
    ///
    /// What is wrong with them.
    fn vet(&self, _tool: &Tool, _arguments: &Value) -> Result<(), ToolError> {
        Ok(())
    }

    /// Runs a handler. Dropping the future stops it.
    fn execute<'a>(&'a self, job: Job) -> Boxed<'a, Ended>;
}
