//! Calls to the outside, put together from `haft.toml`: a client, connections and their broker.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use haft_core::Registry;
use haft_core::connection::{Credentials, Origin, Presented};
use haft_core::port::{Broker as _, Connections, Want};
use haft_core::secret::SecretText;
use haft_exec::http::Client;
use haft_exec::images::Images;
use haft_exec::{Broker, Executors, Http};
use haft_store::vault::Declared;
use haft_store::{Sqlite, Vault};

use crate::assembly::{executors, plain, said};
use crate::config::Config;

/// What reaches out.
#[derive(Clone)]
pub(crate) struct Links {
    pub(crate) client: Arc<Client>,
    /// For tools that tenants bring along: what the toolset may reach is not theirs to reach.
    tenants: Arc<Client>,
    pub(crate) accounts: Arc<dyn Connections>,
    pub(crate) broker: Arc<Broker>,
}

/// For whatever tenants chose the address of: it reaches what `definitions.allow` lists beside what is
/// public, whatever the toolset may reach.
pub(crate) fn tenants_client(config: &Config) -> Arc<Client> {
    let mut apart = config.outside.http.clone();
    apart.allow.clone_from(&config.tenants_reach);
    Arc::new(Client::new(apart))
}

/// What is kept, and over it what `haft.toml` declares.
pub(crate) fn accounts(config: &Config, vault: Arc<Vault>) -> Arc<dyn Connections> {
    let declared: Vec<_> = config.outside.accounts.iter().map(|one| one.source()).collect();
    match declared.is_empty() {
        true => vault,
        false => Arc::new(Declared::over(vault, declared)),
    }
}

/// Who said where a model's key goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChosenBy {
    Operator,
    Tenant,
}

impl Links {
    pub(crate) fn open(config: &Config, store: &Arc<Sqlite>) -> anyhow::Result<Self> {
        let client = Arc::new(Client::new(config.outside.http.clone()));
        let tenants = tenants_client(config);
        let vault =
            Arc::new(Vault::at(store.clone(), config.outside.key_place(&config.database()))?);
        let accounts = accounts(config, vault);
        let broker = Broker::with_tenants(accounts.clone(), client.clone(), tenants.clone());
        Ok(Self { client, tenants, accounts, broker: Arc::new(broker) })
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
        by: ChosenBy,
    ) -> anyhow::Result<SecretText> {
        let opened = self.accounts.open(tenant, id).await;
        let (account, credentials) = opened.with_context(|| {
            format!("the model's connection `{}` of tenant `{}`", plain(id), plain(tenant))
        })?;
        let hosts = &account.hosts;
        if hosts.is_empty() && by == ChosenBy::Tenant && account.origin != Origin::Tenant {
            bail!(
                "the model's connection `{}` is the operator's and names no hosts, so its key is not \
                 sent to `{}`; give it that host",
                plain(id),
                plain(host)
            );
        }
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
