//! The runtime from outside.

#[cfg(test)]
mod policy;
