//! Tools out, arguments back: against schemas of the SDKs, a public corpus, and generated schemas.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "tests")]
#![expect(clippy::indexing_slicing, reason = "tests")]

mod corpus;
mod dice;
mod golden;
mod names;
mod round_trip;
mod support;
