//! Our words and our ports: what a tool promises, what a call is and how it ends, and what the one
//! path asks of the world around it.
//!
//! **Knows** contracts, registries, calls, outcomes, the ledger's states and the ports. **Does not
//! know** folders, linting, vendors' formats, runtimes, databases or networks.
//!
//! ```
//! use haft_core::names::{canonical_id, Namespace};
//!
//! let namespace = Namespace::parse("core").unwrap();
//! assert_eq!(canonical_id(&namespace, "kb_search").unwrap(), "core__kb_search");
//! ```

pub mod calendar;
pub mod call;
pub mod config;
pub mod connection;
pub mod content;
pub mod contract;
pub mod digest;
pub mod error;
pub mod hop;
pub mod ledger;
pub mod names;
pub mod nearest;
pub mod nesting;
pub mod outcome;
pub mod parameters;
pub mod pointer;
pub mod port;
mod present;
pub mod record;
pub mod registry;
pub mod secret;
pub mod session;
pub mod trace;
pub mod validator;

pub use call::{Call, Caller, Principal};
pub use contract::Contract;
pub use digest::Digest;
pub use error::{ErrorKind, ToolError};
pub use outcome::Envelope;
pub use parameters::Parameter;
pub use registry::{Registry, Tool};
