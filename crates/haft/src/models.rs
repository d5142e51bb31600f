//! The models that the agents of a server talk to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_agent::Agent;
use haft_agent::http::{Http, Keys};
use haft_core::port::{Boxed, Hidden, Owner};
use haft_core::secret::SecretText;
use haft_runtime::Runtime;
use haft_server::Models;

use crate::assembly::Desk;
use crate::config::Model;
use crate::links::Links;

type Made = Result<Agent, String>;

/// Every model that `haft.toml` names. One that cannot be asked, for want of its key say, does not
/// keep the server from starting: whoever asks for it learns what is missing.
pub(crate) fn models(desk: &Desk) -> anyhow::Result<Models> {
    let common = make(desk, &desk.config.model(""))?;
    let mut own = HashMap::new();
    for agent in desk.config.agents_with_models() {
        own.insert(agent.to_owned(), make(desk, &desk.config.model(agent))?);
    }
    Ok(Arc::new(move |agent: &str| own.get(agent).unwrap_or(&common).clone()))
}

fn make(desk: &Desk, model: &Model) -> anyhow::Result<Made> {
    let endpoint = match model.endpoint(|name| std::env::var(name).ok()) {
        Ok(endpoint) => endpoint,
        Err(why) => return Ok(Err(why.to_string())),
    };
    let http = match (&model.key_env, &model.connection) {
        (None, Some(id)) => {
            let keys = Connected {
                links: desk.links.clone(),
                runtime: desk.runtime.clone(),
                // Models are the server's, whoever's agents talk to them.
                tenant: desk.config.first_tenant(),
                id: id.clone(),
                host: endpoint.host(),
                hidden: Mutex::default(),
            };
            Http::keyed(endpoint, Arc::new(keys))?
        }
        (Some(_), _) | (None, None) => {
            if let Some(key) = &endpoint.key {
                let owner = Owner::Model(model.key_env.clone().unwrap_or_default());
                let hidden = hide(&desk.runtime, &owner, &SecretText::new(key.as_str()));
                hidden.map_err(anyhow::Error::msg)?.for_good();
            }
            Http::new(endpoint)?
        }
    };
    let agent = Agent::new(desk.runtime.clone(), Arc::new(http), model.settings());
    Ok(Ok(agent.connected(model.connections())))
}

/// What a tool or a provider might repeat of it is never shown.
fn hide(runtime: &Runtime, owner: &Owner, key: &SecretText) -> Result<Hidden, String> {
    runtime.hide(owner, "model-key", key).map_err(|why| format!("the key of the model: {why}"))
}

/// A model's key out of a connection, looked up for each request: a token is renewed, and what is
/// rotated or added while the server runs is used from then on.
struct Connected {
    links: Links,
    runtime: Runtime,
    tenant: String,
    id: String,
    host: String,
    /// The last key is hidden as long as it may be in use.
    hidden: Mutex<Option<Hidden>>,
}

impl Connected {
    async fn found(&self) -> anyhow::Result<SecretText> {
        let key = self.links.model_key(&self.tenant, &self.id, &self.host).await?;
        // Every tenant's agents talk to the model, so it is hidden from all of them.
        let owner = Owner::Model(format!("connection {}/{}", self.tenant, self.id));
        let hidden = hide(&self.runtime, &owner, &key);
        let hidden = hidden.map_err(anyhow::Error::msg)?;
        *self.hidden.lock().unwrap_or_else(PoisonError::into_inner) = Some(hidden);
        Ok(key)
    }
}

impl Keys for Connected {
    fn key<'a>(&'a self) -> Boxed<'a, Result<SecretText, String>> {
        Box::pin(async { self.found().await.map_err(|why| unheard(&why)) })
    }
}

/// What a client is told where there is no key. Why is for the log: it names a connection and its
/// tenant, and those who talk to the model are of other tenants too.
fn unheard(why: &anyhow::Error) -> String {
    tracing::warn!(event = "model_key_missing", error = format!("{why:#}"));
    "the key of this agent's model cannot be had now; ask whoever runs this server, whose log says \
     why"
    .to_owned()
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    #[test]
    fn clients_are_not_told_whose_connection_it_is() {
        let why = Err::<(), _>(anyhow!("it is for api.example.com"))
            .context("the model's connection `main` of tenant `northlight`");
        let told = unheard(&why.unwrap_err());
        for word in ["main", "northlight", "example.com"] {
            assert!(!told.contains(word), "{told}");
        }
        assert!(told.contains("ask whoever runs this server"), "{told}");
    }
}
