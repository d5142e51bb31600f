//! Our words: what a tool promises, how its arguments are typed, and the registry that carries it.
//!
//! **Knows** contracts, names, typed parameters, digests and how a registry proves that nobody
//! touched it. **Does not know** folders, linting, vendors' formats, databases or networks.
//!
//! ```
//! use haft_core::names::{canonical_id, Namespace};
//!
//! let namespace = Namespace::parse("core").unwrap();
//! assert_eq!(canonical_id(&namespace, "kb_search").unwrap(), "core__kb_search");
//! ```

pub mod contract;
pub mod digest;
pub mod names;
pub mod nearest;
pub mod parameters;
pub mod pointer;
pub mod registry;
pub mod validator;

pub use contract::Contract;
pub use digest::Digest;
pub use parameters::Parameter;
pub use registry::{Registry, Tool};
