//! The ports: what the one path asks of the world around it.
//!
//! Each says one thing. Futures are boxed, so that a program can put its own store, executor or
//! policy behind them.

mod calendar;
mod client;
mod connection;
mod define;
mod execute;
mod observe;
mod policy;
mod store;

use std::future::Future;
use std::pin::Pin;

pub use calendar::Calendar;
pub use client::{Asked, Can, Client, Level, Log, Note, Progress, Question};
pub use connection::{Auth, Broker, Connections, Expect, Hidden, Hide, Owner, Want};
pub use define::{Define, Draft, Flaw};
pub use execute::{Binding, Ended, Execute, Host, Job, Provide, Scope, SessionView};
pub use observe::{EffectChanged, Finished, Observe, Started};
pub use policy::{Ask, Decide, Decision, Standing, Verdict};
pub use store::{
    ANSWERS_BYTES, Asking, Blocks, CallFilter, CallStats, Checked, Condition, Configs,
    ConfirmationFilter, Confirmations, EffectFilter, Forgotten, Journal, Ledger, Put, Resolve,
    SERIES_CALLS, Sessions, Slice, Store, StoreError, TrailFilter, Undo, tool_meant,
};

use crate::call::Call;
use crate::outcome::Envelope;
use crate::record::Event;

/// A future behind a port.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The one way to run a tool. Every door ends here.
pub trait Invoke: Send + Sync {
    /// Takes a call through the one path. Whatever happens is in the envelope.
    fn invoke<'a>(&'a self, call: Call) -> Boxed<'a, Envelope>;
}

/// Where events go. Must not block: who cannot keep up loses events, not calls.
pub trait Publish: Send + Sync {
    /// Takes one event.
    fn publish(&self, event: &Event);

    /// Whether anybody listens. Nothing is put together for nobody.
    fn is_listening(&self) -> bool {
        true
    }

    /// A tenant was removed. Whoever is called so later must not be told what was kept for it.
    fn tenant_removed(&self, _tenant: &str) {}
}
