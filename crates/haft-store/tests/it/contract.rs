//! What every store must do, written once.

mod claiming;
mod configs;
mod confirmations;
mod forgetting;
mod journal;
mod records;
mod sessions;
mod settling;
mod tenants;
mod time;
mod undoing;
mod unknown;

pub(crate) use sessions::{recent, session};
