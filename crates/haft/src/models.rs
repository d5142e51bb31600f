//! The models that the agents of a server talk to.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context as _;
use haft_agent::Agent;
use haft_agent::http::Http;
use haft_runtime::redact::{Scrubber, Secret};
use haft_server::Models;

use crate::assembly::Desk;
use crate::config::Model;

type Made = Result<Agent, String>;

/// Every model that `haft.toml` names. One that cannot be asked, for want of its key say, does not
/// keep the server from starting: whoever asks for it learns what is missing.
pub(crate) fn models(desk: &Desk) -> anyhow::Result<Models> {
    let mut secrets = Vec::new();
    let common = make(desk, &desk.config.model(""), &mut secrets)?;
    let mut own = HashMap::new();
    for agent in desk.config.agents_with_models() {
        own.insert(agent.to_owned(), make(desk, &desk.config.model(agent), &mut secrets)?);
    }
    if !secrets.is_empty() {
        // What a tool or a provider might repeat of them is never shown.
        desk.runtime.guard(Scrubber::new(&secrets)?);
    }
    Ok(Arc::new(move |agent: &str| own.get(agent).unwrap_or(&common).clone()))
}

fn make(desk: &Desk, model: &Model, secrets: &mut Vec<Secret>) -> anyhow::Result<Made> {
    let endpoint = match model.endpoint(|name| std::env::var(name).ok()) {
        Ok(endpoint) => endpoint,
        Err(why) => return Ok(Err(why.to_string())),
    };
    if let Some(key) = &endpoint.key {
        secrets.push(Secret::new("model-key", key.clone()).context("the key of the model")?);
    }
    let http = Http::new(endpoint)?;
    let agent = Agent::new(desk.runtime.clone(), Arc::new(http), model.settings());
    Ok(Ok(agent.connected(model.connections())))
}
