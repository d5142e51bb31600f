//! The knowledge base from files to answers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

mod access;
mod crash;
mod endpoint;
mod import;
#[cfg(feature = "local-model")]
mod local;
mod meaning;
mod rig;
mod search;
mod vectors;
