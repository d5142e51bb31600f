//! The parts of a contract that are structures of their own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HttpGateway;
use crate::present::present;

/// Whether a person must approve: always, never, or when a condition holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Confirmation {
    /// Always (`true`) or never (`false`).
    Always(bool),
    /// When the condition holds.
    When {
        /// A Cedar expression over `context`.
        when: String,
    },
}

/// What the person who approves is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationText {
    /// A template over the effective arguments: `Book {title}?`.
    pub prompt: String,
}

/// What differs in one mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModeRules {
    /// By dotted parameter path: what the runtime reduces whatever the model asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clamp: BTreeMap<String, Clamp>,
}

/// One reduction of one argument.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Clamp {
    /// A number is at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<serde_json::Number>,
    /// A number is at least this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<serde_json::Number>,
    /// A list keeps its first so many elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// A text keeps its first so many characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// These values are taken out of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<Vec<Value>>,
    /// The argument always has this value.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// The argument is taken away.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remove: bool,
}

/// What may be seen outside of the conversation; everything else is stripped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Redaction {
    /// Paths into the result: `results[].id`.
    pub allow: Vec<String>,
    /// Paths into the arguments.
    #[serde(default)]
    pub allow_args: Vec<String>,
}

/// How arguments are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Repair what can be repaired, or refuse.
    pub mode: Leniency,
    /// What becomes of `42.7` where an integer is due.
    pub fraction: Fraction,
}

/// Repair or refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leniency {
    /// Repair with a warning.
    Lenient,
    /// Refuse.
    Strict,
}

/// What becomes of a fraction where an integer is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fraction {
    /// It is refused.
    Refuse,
    /// It is cut off, with a warning.
    Truncate,
}

/// When a model is given the full document of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Documentation {
    /// When it asks, and with the first call that is refused for its arguments.
    #[default]
    OnDemand,
    /// Before it can use the tool for the first time.
    BeforeUse,
}

impl Documentation {
    /// The word used in contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnDemand => "on_demand",
            Self::BeforeUse => "before_use",
        }
    }

    pub(super) fn is_on_demand(&self) -> bool {
        *self == Self::OnDemand
    }
}

/// Something that a handler is handed. Nothing else is reachable from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// The knowledge base.
    Kb,
    /// The time.
    Clock,
    /// HTTP to declared hosts.
    Http,
    /// Messages to the session's client.
    Messaging,
    /// The audit trail.
    Audit,
    /// The voice session.
    Voice,
    /// Calendars.
    Calendar,
    /// Image generation.
    Images,
    /// Blocks on users.
    Moderation,
    /// Whoever made the call: told how far it is, and asked.
    Client,
    /// Other tools, through the same path.
    CallTool,
}

impl Capability {
    /// Every capability, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::Kb,
        Self::Clock,
        Self::Http,
        Self::Messaging,
        Self::Audit,
        Self::Voice,
        Self::Calendar,
        Self::Images,
        Self::Moderation,
        Self::Client,
        Self::CallTool,
    ];

    /// The word used in contracts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kb => "kb",
            Self::Clock => "clock",
            Self::Http => "http",
            Self::Messaging => "messaging",
            Self::Audit => "audit",
            Self::Voice => "voice",
            Self::Calendar => "calendar",
            Self::Images => "images",
            Self::Moderation => "moderation",
            Self::Client => "client",
            Self::CallTool => "call_tool",
        }
    }

    /// The property of `context` that a JavaScript handler finds it under.
    #[must_use]
    pub fn in_js(self) -> &'static str {
        match self {
            Self::CallTool => "callTool",
            Self::Kb
            | Self::Clock
            | Self::Http
            | Self::Messaging
            | Self::Audit
            | Self::Voice
            | Self::Calendar
            | Self::Images
            | Self::Moderation
            | Self::Client => self.as_str(),
        }
    }

    /// Whether a method, as haft provides it, changes something that outlasts the session. What `http.post`
    /// does only its service knows: many are searched by it.
    #[must_use]
    pub fn changes(self, method: &str) -> bool {
        match self {
            Self::Http => matches!(method, "put" | "patch" | "delete"),
            Self::Calendar => matches!(method, "createEvent" | "cancelEvent"),
            Self::Images => method == "generate",
            Self::Moderation => method == "block",
            Self::Kb
            | Self::Clock
            | Self::Messaging
            | Self::Audit
            | Self::Voice
            | Self::CallTool
            | Self::Client => false,
        }
    }
}

/// An authenticated connection that a call needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// Whose account it is.
    pub provider: String,
    /// The hosts that its credentials may be sent to.
    pub hosts: Vec<String>,
    /// Whether the tool works without.
    #[serde(default = "yes")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

/// How a tool runs when no handler file does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Gateway {
    /// An HTTP request.
    Http(Box<HttpGateway>),
    /// A tool of an upstream MCP server.
    Mcp {
        /// The server's id in the configuration.
        server: String,
        /// The tool's name there.
        tool: String,
    },
    /// An action of Composio.
    Composio {
        /// The action's name.
        action: String,
    },
    /// A worker elsewhere that fulfils this contract.
    Grid {
        /// The queue that its workers listen on; the tool's id when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        queue: Option<String>,
    },
}

impl Gateway {
    /// Whether it asks for something that may write. Of what runs elsewhere the contract says so, and nothing
    /// here.
    #[must_use]
    pub fn may_write(&self) -> bool {
        match self {
            Self::Http(http) => !http.method.is_read(),
            Self::Mcp { .. } | Self::Composio { .. } | Self::Grid { .. } => false,
        }
    }
}

/// A handler that is no file of the tool's folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Handler {
    /// A Rust function registered under the tool's id.
    Native {
        /// The crate that holds it.
        #[serde(rename = "crate")]
        krate: String,
        /// That crate's version.
        #[serde(rename = "crateVersion")]
        crate_version: String,
        /// Raised by the author whenever the function's behaviour changes.
        revision: u64,
    },
    /// Nothing yet: the contract stands alone and the tool cannot be called.
    Unbound,
}

/// One argument of a compensation or a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Argument {
    /// Taken from the call.
    From {
        /// A JSON pointer under `/arguments` or `/result`.
        from: String,
    },
    /// Always the same.
    Value {
        /// The value.
        value: Value,
    },
}

/// The tool that undoes this one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compensation {
    /// Its id.
    pub tool: String,
    /// Where its arguments come from.
    #[serde(default)]
    pub arguments: BTreeMap<String, Argument>,
}

impl Compensation {
    /// Whether its arguments are made from what the call answered.
    #[must_use]
    pub fn reads_result(&self) -> bool {
        let reads =
            |one: &Argument| matches!(one, Argument::From { from } if from.starts_with("/result"));
        self.arguments.values().any(reads)
    }
}

/// The read-only tool that tells whether an effect of unknown outcome happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Probe {
    /// Its id.
    pub tool: String,
    /// Where its arguments come from; only `/arguments`, since there is no result to read.
    #[serde(default)]
    pub arguments: BTreeMap<String, Argument>,
    /// A JSON pointer under `/result` to a boolean of the probe's own result.
    pub happened: String,
    /// A JSON pointer under `/result` to what the effect would have answered, where the probe knows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// That it did not happen counts so long after the attempt was over: until then a request that was sent may
    /// still be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_after_ms: Option<u64>,
}

impl Probe {
    /// When a no counts where the contract does not say.
    pub const SETTLED_AFTER_MS: u64 = 60 * 1000;

    /// When a no counts.
    #[must_use]
    pub fn settled_after_ms(&self) -> u64 {
        self.settled_after_ms.unwrap_or(Self::SETTLED_AFTER_MS)
    }
}

/// Caps on one call and on many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// A call is stopped after this long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_runtime_ms: Option<u64>,
    /// A larger result is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_result_bytes: Option<u64>,
    /// How often it may be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// For how long the provider knows the key that each attempt is sent with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_key_window_ms: Option<u64>,
}

impl Limits {
    /// Nobody waits longer than a day for one attempt; and what is counted from it has an end.
    pub const LONGEST_RUNTIME_MS: u64 = 24 * 60 * 60 * 1000;

    /// For how long providers know a key where the contract does not say.
    pub const PROVIDER_KEY_WINDOW_MS: u64 = 24 * 60 * 60 * 1000;

    /// For how long after the first attempt an idempotent effect of unknown outcome may be asked for
    /// again: the provider's window less a tenth, since its clock is not ours.
    #[must_use]
    pub fn again_within_ms(&self) -> u64 {
        let window = self.provider_key_window_ms.unwrap_or(Self::PROVIDER_KEY_WINDOW_MS);
        window - window.div_ceil(10)
    }
}

/// So many calls in so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rate {
    /// How many calls.
    pub calls: u64,
    /// In how long.
    pub window_ms: u64,
}

/// When the tool is offered at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Availability {
    /// A Cedar expression over `context`.
    pub condition: String,
}

/// A tool on its way out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deprecated {
    /// Why, and what to do.
    pub reason: String,
    /// The tool to use instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
}

/// Schema keywords that the author keeps although not every provider can say them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Portability {
    /// The keywords.
    pub allow: Vec<String>,
}

/// Lints that the author has answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LintRules {
    /// Code → why it is right here.
    pub allow: BTreeMap<String, String>,
}

/// Where an imported definition came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The format that it was read from.
    pub kind: OriginKind,
    /// Its name there.
    pub name: String,
    /// The digest of the definition as it came.
    pub digest: crate::Digest,
    /// Contract fields that the source does not say and that someone should review.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
}

/// The format that a definition was imported from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// A function declaration of the ALTAR data model.
    Adm,
    /// A plain function definition.
    Function,
    /// An OpenAPI 3 operation.
    Openapi,
}
