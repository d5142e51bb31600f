//! Streams of every dialect, split anywhere.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod feed;
mod fixtures;
mod own;
mod posted;
mod properties;
