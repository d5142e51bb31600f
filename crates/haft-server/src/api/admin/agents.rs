//! Agents.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

/// What is said of an agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentSettings)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct Said {
    /// For people.
    description: Option<String>,
    /// The model that it talks to, with a key of the tenant's own; what the operator gave it when left
    /// out.
    model: Option<ModelSaid>,
    /// Only these tools: ids, short names, patterns; all that the tenant has when left out.
    tools: Option<Vec<String>>,
    /// Only these tools in a mode, `text` or `voice`.
    #[serde(default)]
    modes: BTreeMap<String, Vec<String>>,
    /// Provider and the connection that a call uses which names none.
    #[serde(default)]
    connections: BTreeMap<String, String>,
}

/// A model of a provider, at the provider's own address.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentModel)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document; the runtime reads it")]
pub(crate) struct ModelSaid {
    /// Whose model it is: `openai`, `openai-responses`, `anthropic`, `gemini`.
    provider: String,
    /// Its name there.
    name: String,
    /// The tenant's connection that has its key.
    connection: String,
}

/// Refuses a model of a provider that nobody here can talk to, or that nothing is called.
pub(super) fn check(said: &Value) -> Result<(), Problem> {
    for name in ["name", "connection"] {
        let said = said.pointer(&format!("/model/{name}")).and_then(Value::as_str);
        if said.is_some_and(|text| text.trim().is_empty()) {
            return Err(Problem::invalid_configuration(format!("`model.{name}`: it is empty")));
        }
    }
    let provider = said.pointer("/model/provider").and_then(Value::as_str);
    match provider.map(str::parse::<haft_agent::http::Provider>) {
        Some(Err(why)) => Err(Problem::invalid_configuration(format!("`model.provider`: {why}"))),
        Some(Ok(_)) | None => Ok(()),
    }
}

super::crud! {
    Agent, Said, Said, "/v1/admin/agents", "/v1/admin/agents/{id}", "The tenant's agents.",
    "list_agents", "show_agent", "put_agent", "remove_agent"
}
