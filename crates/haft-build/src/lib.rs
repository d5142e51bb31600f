//! From tool folders to a registry, with everything that is wrong with them said at once.
//!
//! **Knows** folders, contracts, documents, handlers' sources and registries. **Does not know**
//! networks, models, or how a call is run.

pub mod accept;
pub mod build;
pub mod code;
mod compile;
mod contract_shape;
pub mod diagnostic;
pub mod diff;
pub mod export;
mod folder;
mod handler;
pub mod import;
mod lint;
pub mod prompt;
pub mod providers;
mod resolve;
pub mod scaffold;
mod shape;
pub mod toolset;

pub use compile::Drafts;
