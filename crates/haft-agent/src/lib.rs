//! The loop with a model: ask, run its calls, answer, until it is done.
//!
//! **Knows** sessions, catalogs and dialects, and that a call goes to [`Invoke`] and nowhere else.
//! **Does not know** how a call is run, SQL, or messages between machines.
//!
//! An [`Agent`] is a runtime, a [`Model`] and [`Settings`]; a [`Chat`] is one conversation in one
//! session. [`Chat::say`] takes a message of the user through as many rounds as the model wants,
//! tells a [`Listen`]er everything as it happens, and ends exactly once, with a [`Done`].
//!
//! What holds, however a stream breaks and whenever somebody calls it off:
//!
//! - only whole calls of whole messages are run, each once: a request may be repeated, a call never
//!   is, and within a turn the ledger knows the act again if the model asks for it again;
//! - what was shown is not asked for again: a model request is repeated only before its first word
//!   (reasoning is none);
//! - every call that the model will see again in its history has an answer there.
//!
//! [`Invoke`]: haft_core::port::Invoke

mod agent;
pub mod approve;
pub mod budget;
mod calls;
mod cancel;
mod chat;
pub mod describe;
pub mod event;
mod history;
pub mod http;
pub mod model;
mod offer;
mod prompt;
mod request;
mod settings;
mod theirs;
mod told;
mod turn;
mod wait;
mod wishes;

pub use agent::Agent;
pub use approve::{Approve, Decision, Question};
pub use cancel::Cancel;
pub use chat::{Chat, Mailbox};
pub use event::{Done, Event, Failing, Limit, Listen, Reason, Spent};
pub use model::{Model, Refusal};
pub use settings::{Limits, Patience, Settings};
pub use theirs::Handed;
pub use told::Told;
