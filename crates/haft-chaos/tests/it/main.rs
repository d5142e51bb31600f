//! The harness, tried.

#[cfg(test)]
mod runs;
