//! The models that the agents of a server talk to.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use haft_agent::Agent;
use haft_agent::http::Http;
use haft_core::secret::SecretText;
use haft_server::Models;

use crate::assembly::Desk;
use crate::config::Model;

type Made = Result<Agent, String>;

/// Every model that `haft.toml` names. One that cannot be asked, for want of its key say, does not
/// keep the server from starting: whoever asks for it learns what is missing.
pub(crate) async fn models(desk: &Desk) -> anyhow::Result<Models> {
    let common = make(desk, &desk.config.model("")).await?;
    let mut own = HashMap::new();
    for agent in desk.config.agents_with_models() {
        own.insert(agent.to_owned(), make(desk, &desk.config.model(agent)).await?);
    }
    Ok(Arc::new(move |agent: &str| own.get(agent).unwrap_or(&common).clone()))
}

async fn make(desk: &Desk, model: &Model) -> anyhow::Result<Made> {
    let mut endpoint = match model.endpoint(|name| std::env::var(name).ok()) {
        Ok(endpoint) => endpoint,
        Err(why) => return Ok(Err(why.to_string())),
    };
    if let (None, Some(id)) = (&model.key_env, &model.connection) {
        // Models are the server's, whoever's agents talk to them.
        match desk.links.model_key(&desk.config.first_tenant(), id, &endpoint.host()).await {
            Ok(key) => endpoint.key = Some(key.expose().to_owned()),
            Err(why) => return Ok(Err(format!("{why:#}"))),
        }
    }
    if let Some(key) = &endpoint.key {
        // What a tool or a provider might repeat of it is never shown.
        let hidden = desk.runtime.hide("model-key", &SecretText::new(key.as_str()));
        hidden.map_err(anyhow::Error::msg).context("the key of the model")?;
    }
    let http = Http::new(endpoint)?;
    let agent = Agent::new(desk.runtime.clone(), Arc::new(http), model.settings());
    Ok(Ok(agent.connected(model.connections())))
}
