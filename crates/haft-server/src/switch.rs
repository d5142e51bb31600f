//! Turning tools on and off for an agent, for good.

use haft_core::port::Boxed;
use haft_core::{Principal, ToolError};

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
