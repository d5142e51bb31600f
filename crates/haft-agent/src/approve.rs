//! Asking a person.

use haft_core::Principal;
use haft_core::port::Boxed;
use serde::Serialize;
use serde_json::Value;

/// What a person is asked to approve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The confirmation's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What would be done, from the contract's template and the effective arguments.
    pub preview: String,
    /// Arguments that do not look like what they are.
    pub suspicious: Vec<String>,
    /// The effective arguments, all of them.
    pub arguments: Value,
    /// When the question is void, in milliseconds of the Unix epoch.
    pub expires_at_ms: i64,
}

impl Question {
    /// The question that a call waits for, from the details of its error.
    pub(crate) fn of(details: &Value) -> Option<Self> {
        let asked = details.get("confirmation")?;
        let text = |key: &str| asked.get(key).and_then(Value::as_str).map(str::to_owned);
        let suspicious = asked.get("suspicious").and_then(Value::as_array);
        Some(Self {
            id: text("id")?,
            tool: text("tool")?,
            preview: text("preview").unwrap_or_default(),
            suspicious: suspicious
                .into_iter()
                .flatten()
                .filter_map(|one| one.as_str().map(str::to_owned))
                .collect(),
            arguments: asked.get("arguments").cloned().unwrap_or_default(),
            expires_at_ms: asked.get("expiresAtMs").and_then(Value::as_i64).unwrap_or_default(),
        })
    }
}

/// What a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Do it.
    Approve,
    /// Don't.
    Decline,
    /// Nobody can say now; the question stays open, and the model is told to wait.
    Later,
}

/// Somebody who can be asked while the loop runs: the user at a terminal, say.
pub trait Approve: Send + Sync {
    /// Who answers. Never the one who acts.
    fn principal(&self) -> &Principal;

    /// Asks. The future is dropped when the turn is called off; then nobody has answered.
    fn ask<'a>(&'a self, question: &'a Question) -> Boxed<'a, Decision>;
}

/// Nobody is there; whoever may approve does so elsewhere.
pub(crate) struct Nobody(pub(crate) Principal);

impl Approve for Nobody {
    fn principal(&self) -> &Principal {
        &self.0
    }

    fn ask<'a>(&'a self, _: &'a Question) -> Boxed<'a, Decision> {
        Box::pin(std::future::ready(Decision::Later))
    }
}
