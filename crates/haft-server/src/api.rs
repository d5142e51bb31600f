//! The HTTP API, `/v1`.

pub(crate) mod admin;
pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod completions;
pub(crate) mod confirmations;
pub(crate) mod connections;
pub(crate) mod consents;
pub(crate) mod dialects;
pub(crate) mod effects;
pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod only_if;
pub(crate) mod paging;
pub(crate) mod records;
pub(crate) mod sessions;
pub(crate) mod tools;
pub(crate) mod usage;

use haft_core::Caller;
use haft_core::contract::Mode;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::door::Door;
use crate::problem::Problem;
use crate::who::{Role, Who};

/// How model and user talk.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModeName {
    /// In writing.
    #[default]
    Text,
    /// Aloud.
    Voice,
}

impl From<Mode> for ModeName {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Text => Self::Text,
            Mode::Voice => Self::Voice,
        }
    }
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Text => Self::Text,
            ModeName::Voice => Self::Voice,
        }
    }
}

/// The caller of an agent's tools. An agent of another tenant, one that does not exist and one
/// that the key is not for are all the same to whoever asks; a key that is for no agent at all is told so.
pub(crate) fn caller(door: &Door, who: &Who, agent: &str) -> Result<Caller, Problem> {
    calls_somebody(who)?;
    who.calls_as(agent)
        .filter(|_| door.runtime.has_agent(&who.tenant, agent))
        .ok_or_else(|| Problem::missing("agent"))
}

/// Refuses whoever makes no agent's calls at all.
pub(crate) fn calls_somebody(who: &Who) -> Result<(), Problem> {
    match who.is(Role::Agent) {
        true => Ok(()),
        false => need(who, Role::Operator),
    }
}

/// The caller whose view of an agent's tools is shown: the agent itself to those who look after it,
/// whoever asks to everybody else.
pub(crate) fn looked_at(door: &Door, who: &Who, agent: &str) -> Result<Caller, Problem> {
    let own = caller(door, who, agent)?;
    match who.is(Role::Operator) {
        true => Ok(Caller::agent(&who.tenant, agent)),
        false => Ok(own),
    }
}

/// Refuses whoever does not hold the role.
pub(crate) fn need(who: &Who, role: Role) -> Result<(), Problem> {
    let name = match role {
        Role::Agent => "agent",
        Role::Approver => "approver",
        Role::Operator => "operator",
        Role::Administrator => "administrator",
        Role::Metrics => "metrics",
    };
    match who.is(role) {
        true => Ok(()),
        false => Err(Problem::forbidden(format!("this needs the role `{name}`"))),
    }
}
