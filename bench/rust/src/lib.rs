//! What the programs of `bench/` share.

pub mod fixture;
