//! The one path: every call decided, checked, confirmed, done once, redacted and recorded.
//!
//! **Knows** registries, policies, sessions and the ports of `haft-core`. **Does not know** HTTP,
//! vendors' formats, SQL, or how a handler is run.

pub mod arguments;
mod attach;
pub mod batch;
pub mod config;
pub mod connections;
pub mod effects;
#[cfg(feature = "failpoints")]
pub mod fail;
#[cfg(not(feature = "failpoints"))]
mod fail;
pub mod guide;
mod host;
mod identity;
mod path;
pub mod policy;
pub mod preview;
mod rate;
pub mod redact;
pub mod runtime;
pub mod session;
pub mod settings;
mod shelf;
mod tasks;
pub mod token;
pub mod toolbox;
pub mod trace;
pub mod trial;

pub use runtime::{BuildError, Runtime};
pub use settings::Settings;
