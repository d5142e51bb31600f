//! Deciding who may use which tool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Digest;
use crate::call::{Caller, Purpose};
use crate::contract::Mode;
use crate::registry::Tool;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Who.
    pub caller: &'a Caller,
    /// Which tool.
    pub tool: &'a Tool,
    /// How model and user talk.
    pub mode: Mode,
    /// The effective arguments; absent where they are not known yet.
    pub arguments: Option<&'a Value>,
    /// Whether the call is part of a session.
    pub session: Option<&'a str>,
    /// The connection.
    pub connection: Option<&'a str>,
    /// Now, in milliseconds of the Unix epoch.
    pub now_ms: i64,
    /// What for. A contract's own `availability.condition` says when a model may wish for its tool; it does
    /// not hold for what is done about an effect afterwards.
    pub purpose: Purpose,
}

/// What policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Go on once a person has approved.
    RequireApproval,
    /// Stop.
    Deny,
}

/// What policy says, and why. Shared: most decisions are made once and used often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// What.
    pub verdict: Verdict,
    /// The id of the rule that decided, for operators.
    pub rule: Arc<str>,
    /// Why, for operators.
    pub why: Arc<str>,
    /// What would change it, in words that an agent may repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable: Option<Arc<str>>,
}

/// What policy says before the arguments are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Whatever the arguments are.
    Settled(Arc<Decision>),
    /// It depends on the arguments; so far nothing forbids it.
    Open,
}

/// A policy.
pub trait Decide: Send + Sync {
    /// Changes whenever a decision might. An approval is bound to it.
    fn version(&self) -> Digest;

    /// The same for one tenant's calls: what is decided about others does not change it.
    fn version_for(&self, _tenant: &str) -> Digest {
        self.version()
    }

    /// The answer without arguments: for catalogs, the gate, and so that nothing is computed twice.
    fn standing(&self, ask: &Ask<'_>) -> Standing;

    /// Whether the answer without arguments may differ from session to session. Catalogs are kept per
    /// session where it does.
    fn differs_by_session(&self, _ask: &Ask<'_>) -> bool {
        true
    }

    /// The answer with arguments.
    fn decide(&self, ask: &Ask<'_>) -> Arc<Decision>;

    /// Whether a condition of a contract holds: `availability.condition`,
    /// `requiresConfirmation.when`.
    ///
    /// # Errors
    ///
    /// Why it cannot be said. Whoever asks must take the safe side.
    fn holds(&self, condition: &str, ask: &Ask<'_>) -> Result<bool, String>;
}
