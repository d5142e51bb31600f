//! The door for MCP clients: Streamable HTTP at `/mcp`, and lines on standard input and output.
//!
//! The SDK speaks the protocol, in both of its eras; what is asked for ends where every other door
//! ends: a call in the one path, a catalog in the toolbox, an approval with the runtime.

mod answered;
mod approval;
mod call;
mod changes;
mod coded;
mod composed;
mod direct;
mod discovery;
mod extra;
mod handler;
mod http;
mod ids;
mod lines;
mod listed;
mod message;
pub(crate) mod metadata;
mod noted;
mod prompts;
mod refusal;
mod resources;
mod seat;
mod sessions;
mod state;
mod talk;
mod told;

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

pub use extra::{Argument, Message, Prompt, Prompts, Resource, Resources, Speaker};
pub(crate) use http::{Endpoint, plainly, routes};
pub use lines::{serve as serve_lines, serve_until as serve_lines_until};
pub(crate) use listed::Lists;
pub(crate) use metadata::base;
pub use seat::Seat;
pub(crate) use seat::beside;
pub(crate) use sessions::Owners;
pub(crate) use state::Used;

/// How long the same act without a key is the same call: MCP has no key, and tells clients to send
/// again what they think lost.
pub(crate) const SAME_ACT: Duration = Duration::from_secs(15 * 60);

/// How tools are called in lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    /// By their canonical id, which no two share.
    #[default]
    Canonical,
    /// By their own id where it is that of one tool only: clients put their own name for the server
    /// before it anyway.
    Short,
}

/// Whose word counts as an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approvals {
    /// That of the person at the client, who is asked there; and that of every approver.
    #[default]
    Client,
    /// Only that of approvers, who are asked elsewhere.
    Approvers,
}

/// What differs from one server to the next.
#[derive(Clone)]
pub struct Settings {
    /// How tools are called in lists.
    pub names: Names,
    /// Whose word counts as an approval.
    pub approvals: Approvals,
    /// For every tenant: look-up only, no calls.
    pub discovery_only: bool,
    /// How many sessions of the older era are kept, each in some 110 kB; half of them at most for one
    /// tenant.
    pub sessions: usize,
    /// How long a session is kept in which nothing is under way.
    pub idle: Duration,
    /// The address of this server as others know it, `https://tools.example.org` say, for the
    /// metadata of OAuth. What the request says, where absent.
    pub public_url: Option<String>,
    /// Who issues tokens for this server. Without one, there is no metadata to show.
    pub authorization_servers: Vec<String>,
    /// What a client is told about this server when it connects.
    pub instructions: Option<String>,
    /// Prompts beside the agent's own.
    pub prompts: Vec<Arc<dyn Prompts>>,
    /// Resources beside those of discovery.
    pub resources: Vec<Arc<dyn Resources>>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { names, approvals, discovery_only, sessions, idle, .. } = self;
        let said = (names, approvals, discovery_only, sessions, idle);
        f.debug_tuple("Settings").field(&said).finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            names: Names::default(),
            approvals: Approvals::default(),
            discovery_only: false,
            sessions: 2_000,
            idle: Duration::from_secs(30 * 60),
            public_url: None,
            authorization_servers: Vec::new(),
            instructions: None,
            prompts: Vec::new(),
            resources: Vec::new(),
        }
    }
}
