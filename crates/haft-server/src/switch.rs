//! Turning tools on and off for an agent, for good.

use haft_core::port::Boxed;
use haft_core::{ErrorKind, Principal, ToolError};
use haft_runtime::Runtime;
use haft_runtime::config::ChangeError;

/// One tool of one agent, on or off.
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// Whose.
    pub tenant: String,
    /// The agent.
    pub agent: String,
    /// The tool's canonical id.
    pub tool: String,
    /// On or off.
    pub enabled: bool,
    /// Who says so.
    pub by: Principal,
}

/// Whoever keeps what agents may use. What is said here outlives a restart.
pub trait Switch: Send + Sync {
    /// Turns a tool on or off. The next call is decided by it.
    fn turn<'a>(&'a self, turned: Turned) -> Boxed<'a, Result<(), ToolError>>;
}

/// What is said is kept in the runtime's store.
impl Switch for Runtime {
    fn turn<'a>(&'a self, turned: Turned) -> Boxed<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let Turned { tenant, agent, tool, enabled, by } = turned;
            let done = self.set_tool(&by, &tenant, &agent, &tool, enabled).await;
            done.map(drop).map_err(|error| {
                let kind = match &error {
                    ChangeError::Declared
                    | ChangeError::Stale
                    | ChangeError::Looser(_)
                    | ChangeError::NotEmpty(_) => ErrorKind::Conflict,
                    ChangeError::Missing => ErrorKind::NotFound,
                    ChangeError::Invalid(_) => ErrorKind::InvalidArguments,
                    ChangeError::Store(_) => ErrorKind::StoreUnavailable,
                };
                ToolError::new(kind, error.to_string())
            })
        })
    }
}
