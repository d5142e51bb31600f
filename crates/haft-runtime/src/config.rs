//! What is declared in `haft.toml` and what the store holds, put together.
//!
//! Declared things are read-only: they come first, and a stored one of the same name does not
//! count. A tenant whose stored things do not fit together is refused everything until somebody
//! mends them; other tenants do not notice.
//!
//! [`Runtime::change`](crate::Runtime::change) is the one way to write, and
//! [`Runtime::set_tool`](crate::Runtime::set_tool) the short one to turn a tool on or off.

mod bodies;
mod declared;
mod merge;
mod own;

pub use bodies::{
    Activation, Agent, Body, Definition, Delegation, Grant, PolicyText, Tenant, activation_id,
    parse, read,
};
pub use declared::{Declared, counted_id};
pub(crate) use declared::{canonical, is_counted, is_listed};
pub(crate) use merge::{Merged, merge, placed, source_of};
pub(crate) use own::{Purpose, Sheet, Workshop, naming, sheets};

use std::collections::HashSet;
use std::fmt;

use haft_core::config::{Edition, Entry, Kind, Snapshot};
use haft_core::port::StoreError;

use crate::policy::Problem;
use crate::toolbox::Records;

/// What is configured now.
#[derive(Clone, Debug, Default)]
pub struct Configured {
    /// What the store held when it was last read.
    pub snapshot: Snapshot,
    /// Everything that is in force.
    pub records: Records,
    /// What is wrong, or probably not what was meant.
    pub problems: Vec<Problem>,
    /// The keys that the store held, to be found by every call that came with one.
    keys: HashSet<Edition>,
}

impl Configured {
    pub(crate) fn new(snapshot: Snapshot, records: Records, problems: Vec<Problem>) -> Self {
        let keys = snapshot.entries.iter().filter(|one| one.kind == Kind::Key);
        let keys = keys.map(Entry::edition).collect();
        Self { snapshot, records, problems, keys }
    }

    /// Whether a key is still what it was.
    pub(crate) fn has_key(&self, key: &Edition) -> bool {
        self.keys.contains(key)
    }
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The entry, as it is now or as it was when it was removed.
    pub entry: Entry,
    /// What is probably not what was meant.
    pub warnings: Vec<Problem>,
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeError {
    /// `haft.toml` says it, so that it is changed there.
    Declared,
    /// There is no such thing.
    Missing,
    /// Somebody else changed it first.
    Stale,
    /// It makes no sense, or does not fit the rest.
    Invalid(Vec<Problem>),
    /// The overrides are looser than the contract: these.
    Looser(Vec<String>),
    /// Other things are left that belong to it.
    NotEmpty(String),
    /// The store cannot be read or written.
    Store(StoreError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Declared => f.write_str("it is declared in `haft.toml`; change it there"),
            Self::Missing => f.write_str("there is no such entry"),
            Self::Stale => f.write_str("somebody else changed it first; read it again"),
            Self::Invalid(problems) => {
                let all: Vec<_> = problems.iter().map(ToString::to_string).collect();
                f.write_str(&all.join("; "))
            }
            Self::Looser(what) => {
                write!(f, "the overrides are looser than the contract: {}", what.join(", "))
            }
            Self::NotEmpty(what) => write!(f, "{what} have to be removed first"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChangeError {}

impl From<StoreError> for ChangeError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing => Self::Missing,
            StoreError::Stale => Self::Stale,
            StoreError::WrongState(why) => Self::Invalid(vec![Problem::error("request", why)]),
            StoreError::Unavailable(_) | StoreError::InDoubt(_) | StoreError::Tampered(_) => {
                Self::Store(error)
            }
        }
    }
}
