//! The models that the agents of a server talk to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use haft_agent::Agent;
use haft_agent::http::{Http, Keys};
use haft_core::port::{Boxed, Hidden, Owner};
use haft_core::secret::SecretText;
use haft_runtime::Runtime;
use haft_runtime::toolbox::ModelChoice;
use haft_server::Models;

use crate::assembly::Desk;
use crate::config::Model;
use crate::links::{ChosenBy, Links};

type Made = Result<Agent, String>;

/// So many models that tenants chose themselves are kept ready.
const READY: usize = 1_000;

/// The models of a server: those that `haft.toml` names, and those that agents of the store chose. One
/// that cannot be asked, for want of its key say, does not keep the server from starting: whoever asks
/// for it learns what is missing. A word that is no API, or no address, does: it is a mistake in the file.
pub(crate) fn models(desk: &Desk) -> anyhow::Result<Models> {
    let (config, home) = (&desk.config, desk.config.first_tenant());
    let workshop = Workshop { links: desk.links.clone(), runtime: desk.runtime.clone() };
    let common = workshop.make(config.common_model(), &home)?;
    let mut own = HashMap::new();
    for (tenant, agent) in config.agents_with_models() {
        let pays = config.pays(tenant, agent);
        let made = workshop.make(&config.model(tenant, agent), &pays)?;
        own.insert((tenant.clone(), agent.clone()), made);
    }
    let shared = config.common_model().tenants.clone().unwrap_or_default();
    let chosen =
        Chosen { workshop, limits: config.common_model().limits(), ready: Mutex::default() };
    Ok(Arc::new(move |tenant: &str, agent: &str| {
        if let Some(choice) = chosen.of(tenant, agent) {
            return chosen.made(tenant, &choice);
        }
        if let Some(made) = own.get(&(tenant.to_owned(), agent.to_owned())) {
            return made.clone();
        }
        match tenant == home || shared.iter().any(|one| one == "*" || one == tenant) {
            true => common.clone(),
            false => Err(UNSHARED.to_owned()),
        }
    }))
}

const UNSHARED: &str = "this tenant has no model: its administrators give the agent one \
     (`model` at `/v1/admin/agents/{id}`), or whoever runs this server lists the tenant under `tenants` of \
     [model] in haft.toml";

/// Where models are made.
struct Workshop {
    links: Links,
    runtime: Runtime,
}

impl Workshop {
    /// With a key from the environment, or from a connection of `tenant`.
    fn make(&self, model: &Model, tenant: &str) -> anyhow::Result<Made> {
        model.api().context("`provider` of the model in haft.toml")?;
        let endpoint = match model.endpoint(|name| std::env::var(name).ok()) {
            Ok(endpoint) => endpoint,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let http = match (&model.key_env, &model.connection) {
            // Every tenant's agents may talk to it, so its key is hidden from all of them.
            (None, Some(id)) => {
                let owner = Owner::Model(format!("connection {tenant}/{id}"));
                let keys = self.keys(tenant, id, endpoint.host(), owner);
                Http::keyed(endpoint, keys)?
            }
            (Some(_), _) | (None, None) => {
                if let Some(key) = &endpoint.key {
                    let owner = Owner::Model(model.key_env.clone().unwrap_or_default());
                    let hidden = hide(&self.runtime, &owner, &SecretText::new(key.as_str()));
                    hidden.map_err(anyhow::Error::msg)?.for_good();
                }
                Http::new(endpoint)?
            }
        };
        let agent = Agent::new(self.runtime.clone(), Arc::new(http), model.settings());
        Ok(Ok(agent.connected(model.connections())))
    }

    /// A model that an agent of a tenant chose: at its provider's own address, and with a key of the
    /// tenant's that is looked for in the tenant's texts alone.
    fn choose(&self, tenant: &str, choice: &ModelChoice, limits: &Model) -> anyhow::Result<Made> {
        let model = Model {
            provider: Some(choice.provider.clone()),
            name: Some(choice.name.clone()),
            connection: Some(choice.connection.clone()),
            ..limits.clone()
        };
        let endpoint = match model.endpoint(|_| None) {
            Ok(endpoint) => endpoint,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let (id, own) = (choice.connection.as_str(), tenant.to_owned());
        let owner = Owner::Connection { tenant: own, id: id.to_owned() };
        let keys = self.keys(tenant, id, endpoint.host(), owner);
        let http = Http::keyed(endpoint, keys)?;
        Ok(Ok(Agent::new(self.runtime.clone(), Arc::new(http), model.settings())))
    }

    fn keys(&self, tenant: &str, id: &str, host: String, owner: Owner) -> Arc<Connected> {
        Arc::new(Connected {
            links: self.links.clone(),
            runtime: self.runtime.clone(),
            tenant: tenant.to_owned(),
            id: id.to_owned(),
            host,
            owner,
            hidden: Mutex::default(),
        })
    }
}

/// Models that agents of the store chose, made when they are first talked to.
struct Chosen {
    workshop: Workshop,
    /// How far they may go: as far as the common one.
    limits: Model,
    ready: Mutex<HashMap<(String, ModelChoice), Made>>,
}

impl Chosen {
    fn of(&self, tenant: &str, agent: &str) -> Option<ModelChoice> {
        let configured = self.workshop.runtime.configured();
        let mut agents = configured.records.agents.iter();
        agents.find(|one| one.tenant == tenant && one.id == agent)?.model.clone()
    }

    fn made(&self, tenant: &str, choice: &ModelChoice) -> Made {
        let key = (tenant.to_owned(), choice.clone());
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = ready.get(&key) {
            return made.clone();
        }
        let made = self.workshop.choose(tenant, choice, &self.limits);
        let made = made.unwrap_or_else(|why| {
            tracing::warn!(event = "model_not_made", error = format!("{why:#}"));
            Err("its model cannot be set up; the log of the server says why".to_owned())
        });
        if ready.len() >= READY {
            ready.clear();
        }
        ready.insert(key, made.clone());
        made
    }
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
    /// Whose texts it is kept out of.
    owner: Owner,
    /// The last key is hidden as long as it may be in use.
    hidden: Mutex<Option<Hidden>>,
}

impl Connected {
    async fn found(&self) -> anyhow::Result<SecretText> {
        let by = match &self.owner {
            Owner::Connection { .. } => ChosenBy::Tenant,
            Owner::Model(_) => ChosenBy::Operator,
        };
        let key = self.links.model_key(&self.tenant, &self.id, &self.host, by).await?;
        let hidden = hide(&self.runtime, &self.owner, &key);
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
    use anyhow::anyhow;

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
