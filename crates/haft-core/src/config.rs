//! What is configured while haft runs: tenants, agents, what they may use, and who may come in.
//!
//! A store keeps entries without looking into them; what a body means is for whoever wrote it. So
//! a new kind of thing needs no new table.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Principal;

/// The longest id of an entry.
pub const MAX_ENTRY_ID: usize = 512;

/// The largest body of an entry, as JSON.
pub const MAX_ENTRY_BYTES: usize = 1 << 20;

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A tenant; its id is the tenant's.
    Tenant,
    /// An agent.
    Agent,
    /// What a tenant says about a tool.
    Definition,
    /// What is said about one tool of one agent.
    Activation,
    /// Who may act for whom.
    Delegation,
    /// Rules.
    Policy,
    /// A key to the doors: its hash, never its text.
    Key,
    /// An account elsewhere. Its credentials are encrypted by whoever writes them.
    Connection,
    /// Who may use which connection.
    Grant,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Tenant,
        Self::Agent,
        Self::Definition,
        Self::Activation,
        Self::Delegation,
        Self::Policy,
        Self::Key,
        Self::Connection,
        Self::Grant,
    ];

    /// The word in tables, records and addresses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tenant => "tenant",
            Self::Agent => "agent",
            Self::Definition => "definition",
            Self::Activation => "activation",
            Self::Delegation => "delegation",
            Self::Policy => "policy",
            Self::Key => "key",
            Self::Connection => "connection",
            Self::Grant => "grant",
        }
    }

    /// The kind of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether what an entry said before can still be read. What holds a credential is gone once
    /// it is replaced.
    #[must_use]
    pub fn keeps_versions(self) -> bool {
        !matches!(self, Self::Key | Self::Connection)
    }
}

/// One thing that is configured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// What it is about.
    pub kind: Kind,
    /// Whose.
    pub tenant: String,
    /// Which one.
    pub id: String,
    /// Raised by every change, also by removing it and putting it back.
    pub version: u64,
    /// What it says.
    pub body: Value,
    /// When it was written, in milliseconds of the Unix epoch.
    pub changed_at_ms: i64,
    /// By whom.
    pub changed_by: Principal,
}

/// An entry as it is at one version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edition {
    /// Whose.
    pub tenant: String,
    /// Which one.
    pub id: String,
    /// At which version.
    pub version: u64,
}

impl Entry {
    /// This entry, as long as nobody changes it.
    #[must_use]
    pub fn edition(&self) -> Edition {
        Edition { tenant: self.tenant.clone(), id: self.id.clone(), version: self.version }
    }
}

/// A change of one entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What it is about.
    pub kind: Kind,
    /// Whose.
    pub tenant: String,
    /// Which one.
    pub id: String,
    /// The version that was read; 0 where there must be none.
    pub from: u64,
    /// What it says from now on; nothing removes it.
    pub to: Option<Value>,
    /// Who changes it.
    pub by: Principal,
}

/// Everything that is configured at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// How many changes there were before.
    pub changes: u64,
    /// All entries, by kind, tenant and id.
    pub entries: Vec<Entry>,
}
