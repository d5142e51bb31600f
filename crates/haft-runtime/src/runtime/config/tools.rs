//! Turning a tool on or off for an agent: the one function behind the API, the console and the
//! command line.

use haft_core::config::{Change, Kind};
use haft_core::contract::Mode;
use haft_core::port::StoreError;
use haft_core::{Caller, Principal};
use serde::Serialize;
use serde_json::json;

use super::super::Runtime;
use crate::config::{Activation, ChangeError, activation_id, read};
use crate::policy::Problem;
use crate::toolbox::{Found, Overrides, Why};

/// How a tool stands for an agent, after all that was said about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolState {
    /// The agent.
    pub agent: String,
    /// The tool's canonical id.
    pub tool: String,
    /// Whether its activation is on; a tool without one is.
    pub enabled: bool,
    /// Whether the agent may use it now, in text mode.
    pub available: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// What would enable it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable: Option<String>,
}

/// So often a change that others overtook is tried again.
const TRIES: usize = 4;

impl Runtime {
    /// Turns a tool on or off for an agent, in force for new calls when this returns. Overrides
    /// that are on record stay. `by` must be an administrator of the tenant: the door asks.
    ///
    /// A tool that is turned on is not always available: policy, a definition or a connection may
    /// be missing. The state says so, and what would help.
    ///
    /// # Errors
    ///
    /// There is no such agent or tool for this tenant, `haft.toml` decides about this tool, or the
    /// store cannot be written.
    pub async fn set_tool(
        &self,
        by: &Principal,
        tenant: &str,
        agent: &str,
        tool: &str,
        enabled: bool,
    ) -> Result<ToolState, ChangeError> {
        let tool = self.tool_of(tenant, agent, tool)?;
        let id = activation_id(agent, &tool);
        for _ in 0..TRIES {
            let (from, said) = self.activation(tenant, &id).await?;
            if from > 0 && said.enabled == enabled {
                break;
            }
            let to = json!(Activation { enabled, ..said });
            let change = Change {
                kind: Kind::Activation,
                tenant: tenant.to_owned(),
                id: id.clone(),
                from,
                to: Some(to),
                by: by.clone(),
            };
            match self.change(change).await {
                Err(ChangeError::Stale) => {}
                done => return done.map(|_| self.tool_state(tenant, agent, &tool)),
            }
        }
        self.refresh().await?;
        match self.tool_state(tenant, agent, &tool) {
            state if state.enabled == enabled => Ok(state),
            _ => Err(ChangeError::Stale),
        }
    }

    /// The id of a tool that a tenant may know of and that is named by its id or by a short name of
    /// its own.
    #[must_use]
    pub fn canonical_for(&self, tenant: &str, name: &str) -> Option<String> {
        let shelves = self.inner.shelves.load();
        let stock = shelves.stock(tenant);
        let known = |id: &String| stock.get(id).is_some_and(|one| one.is_known_to(tenant));
        crate::config::canonical(stock, name).filter(known)
    }

    /// How a tool stands for an agent.
    #[must_use]
    pub fn tool_state(&self, tenant: &str, agent: &str, tool: &str) -> ToolState {
        let catalog = self.catalog(&Caller::agent(tenant, agent), Mode::Text);
        let mut state = ToolState {
            agent: agent.to_owned(),
            tool: tool.to_owned(),
            enabled: true,
            available: false,
            why: None,
            enable: None,
        };
        match catalog.find(tool) {
            Found::Tool(_) | Found::Narrowed(_) => state.available = true,
            Found::Unavailable(missing) => {
                state.enabled = missing.why != Why::DisabledForAgent;
                state.why = Some(missing.why);
                state.enable = Some(missing.enable.clone());
            }
            Found::Ambiguous(_) => {}
            Found::Unknown => {
                state.why = Some(Why::NeedsDefinition);
                state.enable = Some(format!("add a definition of `{tool}` with `enabled = true`"));
            }
        }
        state
    }

    /// The id of a tool that this tenant may know of, for an agent that it has.
    fn tool_of(&self, tenant: &str, agent: &str, name: &str) -> Result<String, ChangeError> {
        if !self.has_agent(tenant, agent) {
            return Err(ChangeError::Missing);
        }
        self.canonical_for(tenant, name).ok_or_else(|| {
            let message = format!("there is no tool `{}`", crate::path::shown(name));
            ChangeError::Invalid(vec![Problem::error("request", message)])
        })
    }

    /// What is said of a tool of an agent, and at which version; an activation that changes
    /// nothing where nothing is.
    async fn activation(&self, tenant: &str, id: &str) -> Result<(u64, Activation), ChangeError> {
        let plain =
            Activation { enabled: true, overrides: Overrides::default(), approved_by: None };
        match self.inner.store.entry(Kind::Activation, tenant, id).await {
            Ok(entry) => match read::<Activation>(&entry) {
                Ok(said) => Ok((entry.version, said)),
                Err(_) => Ok((entry.version, plain)),
            },
            Err(StoreError::Missing) => Ok((0, plain)),
            Err(error) => Err(error.into()),
        }
    }
}
