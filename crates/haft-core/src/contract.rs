//! What a tool promises: the resolved form of `schema.json`, every question answered.
//!
//! Authors leave fields out; the compiler fills them in (defaults of the toolset, then the
//! derivations of [`effect`]). A registry holds only this form, so no reader derives anything.

pub mod effect;
mod http;
mod parts;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use effect::{Effect, SideEffectPolicy, SideEffects};
pub use http::{
    BodyEncoding, HttpGateway, HttpMethod, PageKind, Pages, ResponseKind, Slot, Style, Written,
    may_have_acted, status_kind,
};
pub use parts::{
    Argument, Arguments, Availability, Capability, Clamp, Compensation, Confirmation,
    ConfirmationText, Connection, Deprecated, Documentation, Fraction, Gateway, Handler, Leniency,
    Limits, LintRules, ModeRules, Origin, OriginKind, Portability, Probe, Rate, Redaction,
};

/// A tool's contract, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Contract {
    /// The tool's own id, without its namespace.
    pub tool_id: String,
    /// The author's version of the contract.
    pub version: semver::Version,
    /// One line for the model.
    pub description: String,
    /// What kind of tool this is.
    pub category: Category,
    /// Whether it reads or writes.
    pub side_effects: SideEffects,
    /// How far an effect reaches.
    pub effect: Effect,
    /// What may be done when an outcome is unknown.
    pub side_effect_policy: SideEffectPolicy,
    /// Safe to repeat.
    pub idempotent: bool,
    /// Whether a person must approve.
    pub requires_confirmation: Confirmation,
    /// What the person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<ConfirmationText>,
    /// Where the tool may be used.
    pub allowed_modes: Vec<Mode>,
    /// How long a call should take at most.
    pub latency_budget_ms: u64,
    /// What differs by mode.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<Mode, ModeRules>,
    /// JSON Schema 2020-12 of the arguments.
    pub parameters: Value,
    /// JSON Schema 2020-12 of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// What UI, events and telemetry may see.
    pub redaction: Redaction,
    /// How arguments are read.
    pub arguments: Arguments,
    /// What the handler is handed.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// The authenticated connection that a call needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// The hosts that the `http` capability may reach beside those of the connection: `host` or
    /// `host:port`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// How the tool runs when no handler file does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Gateway>,
    /// A handler that is no file of the folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handler: Option<Handler>,
    /// The arguments that make two calls the same act; all of them when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key_fields: Option<Vec<String>>,
    /// The tool that undoes this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compensation: Option<Compensation>,
    /// The tool that tells whether an effect happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// Caps on one call and on many.
    #[serde(default)]
    pub limits: Limits,
    /// When the tool is offered at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability: Option<Availability>,
    /// When the model is given the full document.
    #[serde(default, skip_serializing_if = "Documentation::is_on_demand")]
    pub documentation: Documentation,
    /// For search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// For retirement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<Deprecated>,
    /// Schema keywords that the author keeps although not every provider can say them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub portability: Option<Portability>,
    /// Lints that the author has answered, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lint: Option<LintRules>,
    /// Where an imported definition came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl Contract {
    /// Whether it is by the key alone that it is sent with that another attempt does no harm. Under another key its
    /// provider does it once more.
    #[must_use]
    pub fn relies_on_its_key(&self) -> bool {
        let sends_it = match &self.gateway {
            Some(Gateway::Http(http)) => http.idempotency_header.is_some(),
            Some(Gateway::Mcp { .. } | Gateway::Composio { .. } | Gateway::Grid { .. }) | None => {
                false
            }
        };
        sends_it || self.limits.provider_key_window_ms.is_some()
    }
}

/// What kind of tool it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Finds things out.
    Retrieval,
    /// Does things.
    Action,
    /// Transforms what it is given.
    Utility,
}

impl Category {
    /// The word used in contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retrieval => "retrieval",
            Self::Action => "action",
            Self::Utility => "utility",
        }
    }
}

/// How the model and its user talk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// In writing.
    Text,
    /// Aloud.
    Voice,
}

impl Mode {
    /// The word used in contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Voice => "voice",
        }
    }
}
