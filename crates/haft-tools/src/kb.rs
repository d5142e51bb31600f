//! The knowledge base: records from files, an index on disk, and answers as evidence.
//!
//! Files are read by [`read`], kept in an index folder by [`import`], and found by [`Base::search`].
//! What a caller may see is decided by [`access`].

pub mod access;
mod base;
mod bits;
pub mod embed;
mod feedback;
mod filter;
mod folder;
mod fuse;
pub mod import;
mod manifest;
mod meaning;
mod memory;
mod provide;
mod rank;
pub mod read;
pub mod record;
mod schema;
mod search;
mod snippet;
mod stats;
mod vectors;
pub mod words;

pub use base::{Base, KbError};
pub use folder::Setup;
pub use import::{Import, Report};
pub use provide::Provider;
pub use record::Record;
pub use search::{Found, Hit, Search};
pub use stats::{Stats, VectorStats};
