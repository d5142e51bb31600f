//! The harness as a whole.

#![cfg(test)]

mod promises;
