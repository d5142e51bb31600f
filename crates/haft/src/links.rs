//! Calls to the outside, put together from `haft.toml`: a client, connections and their broker.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use haft_core::Registry;
use haft_core::connection::{Credentials, Presented};
use haft_core::port::{Broker as _, Connections as _, Want};
use haft_core::secret::SecretText;
use haft_exec::http::Client;
use haft_exec::images::Images;
use haft_exec::{Broker, Executors, Http};
use haft_store::{Sqlite, Vault};

use crate::assembly::{executors, plain, said};
use crate::config::Config;

/// What reaches out.
#[derive(Clone)]
pub(crate) struct Links {
    pub(crate) client: Arc<Client>,
    /// For tools that tenants bring along: what the toolset may reach is not theirs to reach.
    tenants: Arc<Client>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) broker: Arc<Broker>,
}

impl Links {
    pub(crate) fn open(config: &Config, store: &Arc<Sqlite>) -> anyhow::Result<Self> {
        let client = Arc::new(Client::new(config.outside.http.clone()));
        let mut apart = config.outside.http.clone();
        apart.allow.clone_from(&config.tenants_reach);
        let tenants = Arc::new(Client::new(apart));
        let vault =
            Arc::new(Vault::at(store.clone(), config.outside.key_place(&config.database()))?);
        let broker = Arc::new(Broker::new(vault.clone(), client.clone()));
        Ok(Self { client, tenants, vault, broker })
    }

    /// Everything that runs tools.
    pub(crate) fn executors(
        &self,
        config: &Config,
        registry: &Registry,
        toolset: Option<PathBuf>,
    ) -> Arc<Executors> {
        let run = config.database().with_file_name("run");
        let http = Http::new(self.client.clone()).for_tenants(self.tenants.clone());
        Arc::new(executors(registry, run, toolset).with(http))
    }

    /// Images, from the endpoint of the configuration.
    pub(crate) fn images(&self, config: &Config) -> Images {
        Images::new(self.client.clone(), config.outside.images.clone())
    }

    /// The key of a model at a host, from a connection: its token, or the key in its header.
    pub(crate) async fn model_key(
        &self,
        tenant: &str,
        id: &str,
        host: &str,
    ) -> anyhow::Result<SecretText> {
        let opened = self.vault.open(tenant, id).await;
        let (account, credentials) = opened.with_context(|| {
            format!("the model's connection `{}` of tenant `{}`", plain(id), plain(tenant))
        })?;
        let hosts = &account.hosts;
        if !hosts.is_empty() && !hosts.iter().any(|one| one.eq_ignore_ascii_case(host)) {
            bail!(
                "the model's connection `{}` is for {}, and its key is not sent to `{}`",
                plain(id),
                plain(&hosts.join(", ")),
                plain(host)
            );
        }
        match credentials {
            Credentials::Bearer(key) | Credentials::Header { key, .. } => Ok(key),
            Credentials::OAuth(_) => {
                let want = Want {
                    tenant: tenant.to_owned(),
                    connection: id.to_owned(),
                    provider: account.provider,
                };
                match self.broker.lease(&want).await.map_err(said)?.presented {
                    Presented::Header { value, .. } => {
                        Ok(SecretText::new(value.expose().trim_start_matches("Bearer ")))
                    }
                    Presented::Query { .. } => bail!("a model takes no key in its address"),
                }
            }
            Credentials::Query { .. } | Credentials::Basic { .. } => bail!(
                "the connection `{}` has no key that a model takes; use a `bearer` one",
                plain(id)
            ),
        }
    }
}
