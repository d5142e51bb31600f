//! The shapes of answers that are made of what other crates have, for the OpenAPI document. Tests hold
//! them against what is really answered.
#![expect(dead_code, reason = "describe answers in the OpenAPI document")]

mod calls;
mod chat;
mod records;
mod sessions;
mod settings;
mod tools;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

pub(crate) use calls::{Accepted, CallAnswer, CalledOff, Envelope, LaterAnswer, NotYet};
pub(crate) use chat::{ChatCompletion, ChatError, ChatRequest};
pub(crate) use records::{
    AuditEntry, CallRecord, CallStats, Checked, Confirmation, Decided, Effect, Event, Probed,
    Slice, Undone,
};
pub(crate) use sessions::{Arrived, Session, SessionSeen, SessionShown, Signalled};
pub(crate) use settings::{
    ActivationKept, Configurations, Configured, DefinitionKept, KeyKept, Overrides, Versions,
};
pub(crate) use tools::{Loss, Quarantined, Tool, ToolState};

/// An object whose members are somebody else's business: a provider's, a contract's.
#[derive(Deserialize, ToSchema)]
pub(crate) struct Open(BTreeMap<String, Value>);
