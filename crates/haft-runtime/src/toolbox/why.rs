//! Why a tool is not there, and what would enable it.

use std::sync::Arc;

use haft_core::registry::Tool;
use serde::Serialize;

/// A tool of the tenant that the agent cannot use.
#[derive(Clone, Debug)]
pub struct Unavailable {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Why.
    pub why: Why,
    /// What would enable it, in words that an agent may repeat.
    pub enable: String,
    /// The rule that decided, for operators: what a call of it is refused by.
    pub rule: String,
}

/// Why a tool is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It was discovered, and nobody has turned it on for the tenant.
    NeedsDefinition,
    /// The tenant has turned it off.
    DisabledForTenant,
    /// The tenant has taken other versions of it.
    Version,
    /// Nothing runs it yet.
    Unbound,
    /// It is not among the agent's tools.
    NotInAgentTools,
    /// It is turned off for the agent.
    DisabledForAgent,
    /// It is not for this mode.
    Mode,
    /// It needs a connection that there is not.
    ConnectionMissing,
    /// Policy denies it.
    Policy,
    /// Its contract's condition does not hold.
    Availability,
    /// It needs approval, and policy hides such tools.
    ApprovalHidden,
    /// This run is narrowed to other tools.
    Narrowed,
}

impl Why {
    /// The word used in resources and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NeedsDefinition => "needs_definition",
            Self::DisabledForTenant => "disabled_for_tenant",
            Self::Version => "version",
            Self::Unbound => "unbound",
            Self::NotInAgentTools => "not_in_agent_tools",
            Self::DisabledForAgent => "disabled_for_agent",
            Self::Mode => "mode",
            Self::ConnectionMissing => "connection_missing",
            Self::Policy => "policy",
            Self::Availability => "availability",
            Self::ApprovalHidden => "approval_hidden",
            Self::Narrowed => "narrowed",
        }
    }
}

impl Why {
    /// In words that an agent may repeat.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NeedsDefinition => "nobody has turned it on",
            Self::DisabledForTenant => "it is turned off",
            Self::Version => "another version of it is in use",
            Self::Unbound => "nothing runs it yet",
            Self::NotInAgentTools => "it is not among this agent's tools",
            Self::DisabledForAgent => "it is turned off for this agent",
            Self::Mode => "it is not for this mode",
            Self::ConnectionMissing => "it needs a connection that there is not",
            Self::Policy => "policy does not allow it",
            Self::Availability => "its condition does not hold now",
            Self::ApprovalHidden => "it needs an approval that cannot be asked for here",
            Self::Narrowed => "this run is narrowed to other tools",
        }
    }
}

impl Unavailable {
    pub(crate) fn new(tool: &Arc<Tool>, why: Why, enable: impl Into<String>) -> Self {
        let rule = why.as_str().to_owned();
        Self { tool: Arc::clone(tool), why, enable: enable.into(), rule }
    }

    pub(crate) fn by(mut self, rule: &str) -> Self {
        rule.clone_into(&mut self.rule);
        self
    }
}
