//! One file per command: what it reads, what it calls, what it prints.

pub(crate) mod audit;
pub(crate) mod build;
pub(crate) mod call;
pub(crate) mod calls;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod confirmations;
pub(crate) mod connections;
pub(crate) mod decode;
pub(crate) mod describe;
pub(crate) mod diff;
pub(crate) mod effects;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod keygen;
pub(crate) mod keys;
pub(crate) mod lint;
pub(crate) mod new;
pub(crate) mod prompt;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod test;
pub(crate) mod undo;
pub(crate) mod verify;
pub(crate) mod why;
