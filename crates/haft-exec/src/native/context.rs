//! What a native function is handed beside its arguments.

use std::sync::Arc;
use std::time::Duration;

use haft_core::contract::{Capability, Mode};
use haft_core::error::ToolError;
use haft_core::port::{Auth, Host, Job, Scope, SessionView};
use haft_core::registry::Tool;
use serde_json::Value;

/// One call, as its function may see it, and the capabilities of its contract.
#[derive(Clone)]
pub struct Context {
    tool: Arc<Tool>,
    scope: Arc<Scope>,
    host: Arc<dyn Host>,
    deadline: Duration,
    provider_key: Option<String>,
    auth: Option<Arc<Auth>>,
}

impl Context {
    pub(super) fn of(job: Job) -> (Arc<Value>, Self) {
        let Job { tool, arguments, scope, host, deadline, provider_key, auth, .. } = job;
        (arguments, Self { tool, scope, host, deadline, provider_key, auth })
    }

    /// The tool that is run.
    #[must_use]
    pub fn tool(&self) -> &Tool {
        &self.tool
    }

    /// Who asks, through what, in which session.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> &str {
        &self.scope.call
    }

    /// How model and user talk.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.scope.mode
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &SessionView {
        &self.scope.session
    }

    /// How long the call may run.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// The same for every attempt under one key: for providers that deduplicate by themselves.
    #[must_use]
    pub fn provider_key(&self) -> Option<&str> {
        self.provider_key.as_deref()
    }

    /// The credentials of the call's connection, for as long as the call lasts. Nothing where the
    /// contract asks for none, or none is set up.
    #[must_use]
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_deref()
    }

    /// Calls a method of a capability that the contract lists.
    ///
    /// # Errors
    ///
    /// What the capability says, or that the contract does not list it.
    pub async fn call(
        &self,
        capability: Capability,
        method: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        if !self.tool.contract.capabilities.contains(&capability) {
            let message = format!(
                "`{}` does not list the capability `{}`",
                self.tool.id,
                capability.as_str()
            );
            return Err(ToolError::new(haft_core::ErrorKind::Internal, message));
        }
        self.host.call(capability, method, arguments).await
    }
}
