//! Agents.

use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

/// What is said of an agent.
#[derive(Deserialize, ToSchema)]
#[schema(as = AgentSettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// For people.
    description: Option<String>,
    /// Only these tools: ids, short names, patterns; all that the tenant has when left out.
    tools: Option<Vec<String>>,
    /// Only these tools in a mode, `text` or `voice`.
    modes: Option<BTreeMap<String, Vec<String>>>,
}

super::crud! {
    Agent, Said, "/v1/admin/agents", "/v1/admin/agents/{id}", "The tenant's agents.",
    "list_agents", "show_agent", "put_agent", "remove_agent"
}
