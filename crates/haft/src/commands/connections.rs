//! `haft connections`

mod browser;
mod secret;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use haft_build::build::Reuse;
use haft_core::connection::{Credentials, Grant, Origin};
use haft_core::port::{Broker as _, Connections, Expect, StoreError, Want};
use haft_core::{Principal, Tool};
use haft_exec::http::Client;
use haft_runtime::connections::{Proof, Wanted, Wrong, check_grant, doubt, with_secret};
use haft_store::vault::{Key, KeyPlace, Keyring, Resealed};
use haft_store::{Sqlite, Vault};
use serde_json::json;

use crate::assembly::{block_on, open_store, plain, said};
use crate::cli::{
    AddConnection, Connections as Options, ConnectionsCommand, GrantConnection, KindName,
    RotateConnection, TestConnection,
};
use crate::commands::lint::counted;
use crate::config::Config;
use crate::links;
use crate::named;
use crate::output::{Exit, Output, misuse};
use crate::source::{Place, checked};

/// A program that has renewed a token gives its store this long to take it.
const STORED_WITHIN: Duration = Duration::from_secs(25);

pub(crate) fn run(at: &Place, options: &Options, out: &mut Output) -> anyhow::Result<Exit> {
    let config = at.config()?;
    let store = Arc::new(open_store(&config)?);
    let by = named::principal(&options.operator.actor, "--as")?;
    let desk = Desk { store, config, tenant: options.operator.tenant.clone(), by };
    block_on(async {
        match &options.what {
            ConnectionsCommand::Add(add) => desk.add(add, out).await,
            ConnectionsCommand::List { json } => desk.list(*json, out).await,
            ConnectionsCommand::Grant(grant) => desk.grant(at, grant, out).await,
            ConnectionsCommand::Revoke { id, from } => {
                desk.changeable(id)?;
                let count =
                    desk.vault()?.revoke(&desk.tenant, id, from.as_deref(), &desk.by).await?;
                let count = counted(usize::try_from(count).unwrap_or(usize::MAX), "grant");
                out.line(&format!("{count} of `{}` taken back", plain(id)));
                Ok(())
            }
            ConnectionsCommand::Test(test) => desk.test(test, out).await,
            ConnectionsCommand::Rotate(rotate) => desk.rotate(rotate, out).await,
            ConnectionsCommand::Remove { id } => {
                desk.changeable(id)?;
                let removed = desk.vault()?.remove(&desk.tenant, id, &desk.by).await;
                removed.map_err(|why| no_such(why, id))?;
                out.line(&format!("`{}` is forgotten, and so are its grants", plain(id)));
                Ok(())
            }
        }
    })?;
    Ok(Exit::Done)
}

struct Desk {
    store: Arc<Sqlite>,
    config: Config,
    tenant: String,
    /// Who does it, for the audit trail.
    by: Principal,
}

impl Desk {
    fn place(&self) -> KeyPlace {
        self.config.outside.key_place(&self.config.database())
    }

    fn vault(&self) -> anyhow::Result<Vault> {
        Ok(Vault::at(self.store.clone(), self.place())?)
    }

    /// The same, with a key that is made where there is none yet.
    fn sealing(&self, out: &Output) -> anyhow::Result<Vault> {
        let vault = self.vault()?;
        if let Some(path) = vault.prepare()? {
            out.note(&format!(
                "a key was made: `{}`; keep a copy where the store is not",
                path.display()
            ));
        }
        Ok(vault)
    }

    /// Refuses what `haft.toml` declares: it is changed there.
    fn changeable(&self, id: &str) -> anyhow::Result<()> {
        if self.config.declares(&self.tenant, id) {
            let (id, file) = (plain(id), plain(self.config.file()));
            bail!("the connection `{id}` is declared in `{file}`, and changed there alone");
        }
        Ok(())
    }

    fn client(&self) -> Arc<Client> {
        Arc::new(Client::new(self.config.outside.http.clone()))
    }

    async fn add(&self, add: &AddConnection, out: &mut Output) -> anyhow::Result<()> {
        let wanted = wanted(add);
        wanted.check().map_err(|wrong| mistaken(&wrong))?;
        self.changeable(&add.id)?;
        let secret = match wanted.needs_secret() {
            true => Some(secret::read(&add.secret, "the secret", out)?),
            false => None,
        };
        let mut credentials = wanted.credentials(secret).map_err(|wrong| mistaken(&wrong))?;
        if let (Credentials::OAuth(oauth), KindName::AuthorizationCode) = (&credentials, add.kind) {
            let agreed = browser::consent(&self.client(), oauth, add, out).await?;
            credentials = Credentials::OAuth(Box::new(agreed));
        }
        warn(&add.id, &credentials, out);
        let account = wanted.account(&self.tenant, Origin::Operator);
        let vault = self.sealing(out)?;
        let kept = vault.put(account, &credentials, Expect::Nothing, Some(&self.by)).await;
        if matches!(kept, Err(StoreError::Stale)) {
            let id = plain(&add.id);
            bail!(
                "there is a connection `{id}` already; `haft connections rotate {id}` replaces its secret"
            );
        }
        kept?;
        let id = plain(&add.id);
        out.line(&format!("`{id}` is kept, sealed; nobody may use it yet"));
        out.line(&format!("next: haft connections grant {id} --to 'agent:*' --tools '<tools>'"));
        Ok(())
    }

    async fn list(&self, as_json: bool, out: &mut Output) -> anyhow::Result<()> {
        let vault = Arc::new(Vault::new(self.store.clone(), Keyring::default()));
        let kept = links::accounts(&self.config, vault);
        let accounts = kept.accounts(&self.tenant).await?;
        if accounts.is_empty() {
            crate::named::tenant(&self.store, &self.config, &self.tenant).await?;
        }
        let grants = self.granted(&*kept).await?;
        let of = |id: &str| -> Vec<&Grant> {
            grants.iter().filter(|one| one.tenant == self.tenant && one.connection == id).collect()
        };
        if as_json {
            let all: Vec<_> = accounts
                .iter()
                .map(|account| json!({ "account": account, "grants": of(&account.id) }))
                .collect();
            return out.json(&json!(all));
        }
        if accounts.is_empty() {
            out.line("there are no connections; `haft connections add --help` says how to add one");
        }
        for account in &accounts {
            let hosts = match account.hosts.as_slice() {
                [] => "the hosts of each tool".to_owned(),
                hosts => hosts.join(", "),
            };
            let kind = account.kind.as_str();
            let declared = match self.config.declares(&self.tenant, &account.id) {
                true => "  (declared in haft.toml)",
                false => "",
            };
            let (id, provider) = (&account.id, &account.provider);
            out.line(&plain(&format!("{id}  {provider}  {kind}  {hosts}{declared}")));
            for grant in of(&account.id) {
                let (to, tools) = (grant.principals.join(", "), grant.tools.join(", "));
                out.line(&plain(&format!("    {to} with {tools}")));
            }
        }
        Ok(())
    }

    /// Grants of both kinds: those that are kept, and those that are declared.
    async fn granted(&self, kept: &dyn Connections) -> anyhow::Result<Vec<Grant>> {
        let mut all = kept.grants().await?;
        let declared = self.config.records.grants.iter().map(|one| Grant {
            tenant: one.tenant.clone(),
            connection: one.connection.clone(),
            principals: one.principals.clone(),
            tools: one.tools.clone(),
        });
        all.extend(declared);
        Ok(all)
    }

    async fn grant(
        &self,
        at: &Place,
        grant: &GrantConnection,
        out: &mut Output,
    ) -> anyhow::Result<()> {
        let vault = Vault::new(self.store.clone(), Keyring::default());
        check_grant(&grant.to, &grant.tools).map_err(|wrong| mistaken(&wrong))?;
        self.changeable(&grant.id)?;
        let granted = Grant {
            tenant: self.tenant.clone(),
            connection: grant.id.clone(),
            principals: grant.to.clone(),
            tools: grant.tools.clone(),
        };
        vault.grant(granted, &self.by).await.map_err(|why| no_such(why, &grant.id))?;
        let (to, tools) = (grant.to.join(", "), grant.tools.join(", "));
        out.line(&plain(&format!("`{}` may be used by {to} with {tools}", grant.id)));
        let accounts = vault.accounts(&self.tenant).await?;
        let account = accounts.iter().find(|one| one.id == grant.id);
        for doubt in account.map_or_else(Vec::new, |one| doubts(at, &one.provider, &grant.tools)) {
            out.note(&plain(&format!("warning: {doubt}")));
        }
        Ok(())
    }

    async fn test(&self, test: &TestConnection, out: &mut Output) -> anyhow::Result<()> {
        let vault = links::accounts(&self.config, Arc::new(self.vault()?));
        let (account, _) =
            vault.open(&self.tenant, &test.id).await.map_err(|why| no_such(why, &test.id))?;
        let (client, tenants) = (self.client(), links::tenants_client(&self.config));
        let broker = haft_exec::Broker::with_tenants(vault, client, tenants);
        let want = Want {
            tenant: self.tenant.clone(),
            connection: test.id.clone(),
            provider: account.provider.clone(),
        };
        let lease = broker.lease(&want).await.map_err(said)?;
        // What was renewed is stored before the program ends, where that can be done at all.
        let _ = tokio::time::timeout(STORED_WITHIN, broker.rest()).await;
        out.line(&format!("`{}`: its credentials are there", plain(&test.id)));
        let Some(url) = &test.url else { return Ok(()) };
        let status = haft_exec::http::ask_with(&self.client(), url, &lease).await.map_err(said)?;
        match status {
            200..=299 => out.line(&format!("the service takes them ({status})")),
            401 | 403 => bail!("the service refuses them ({status})"),
            _ => out.line(&format!("the service answers {status}, which says nothing about them")),
        }
        Ok(())
    }

    async fn rotate(&self, rotate: &RotateConnection, out: &mut Output) -> anyhow::Result<()> {
        let Some(id) = &rotate.id else { return self.rotate_key(rotate, out).await };
        self.changeable(id)?;
        let vault = self.vault()?;
        let (account, before) =
            vault.open(&self.tenant, id).await.map_err(|why| no_such(why, id))?;
        let new = secret::read(&rotate.secret, "the new secret", out)?;
        let credentials = with_secret(id, before, new).map_err(|wrong| mistaken(&wrong))?;
        warn(id, &credentials, out);
        let expect = Expect::Revision(account.revision);
        let account = vault.put(account, &credentials, expect, Some(&self.by)).await?;
        let id = plain(id);
        out.line(&format!(
            "`{id}` has a new secret (revision {}); the next call uses it",
            account.revision
        ));
        Ok(())
    }

    /// The new key is known before anything is sealed with it, and the old one until nothing is:
    /// whatever happens in between, every record can be opened.
    async fn rotate_key(&self, rotate: &RotateConnection, out: &mut Output) -> anyhow::Result<()> {
        let place = self.place();
        let before = place.read()?;
        let new = match (&rotate.new_key_env, &place) {
            (Some(name), _) => KeyPlace::Env(name.clone()).read()?.current()?.clone(),
            (None, KeyPlace::File(_) | KeyPlace::Named(_)) => Key::random()?,
            (None, KeyPlace::Env(_)) => {
                bail!(
                    "the key is in the environment; name the new one's variable with `--new-key-env`"
                )
            }
        };
        let both = before.led_by(new);
        if let Some(path) = place.file() {
            both.write(path).with_context(|| format!("`{}`", path.display()))?;
        }
        let sealed = resealed(Vault::new(self.store.clone(), both.clone()).reseal().await?);
        let id = both.current()?.id().to_owned();
        match &place {
            KeyPlace::File(path) | KeyPlace::Named(path) => {
                both.first_only().write(path).with_context(|| format!("`{}`", path.display()))?;
                out.line(&format!("{sealed} sealed with the new key {id}"));
            }
            KeyPlace::Env(name) => out.line(&format!(
                "{sealed} sealed with the new key {id}; put it into `{name}` now, and restart whatever \
                 runs with the old one alone"
            )),
        }
        Ok(())
    }
}

/// Its owner is told of a secret that can be found by trying.
fn warn(id: &str, credentials: &Credentials, out: &Output) {
    if let Some(doubt) = doubt(id, credentials) {
        out.note(&format!("warning: {}", plain(&doubt)));
    }
}

fn resealed(all: Resealed) -> String {
    let tenants = counted(all.tenants, "tenant");
    format!("{} and the keys of {tenants} are", counted(all.connections, "connection"))
}

/// What is wanted, as every other way in says it.
fn wanted(add: &AddConnection) -> Wanted {
    Wanted {
        id: add.id.clone(),
        provider: add.provider.clone(),
        kind: add.kind.into(),
        hosts: add.hosts.clone(),
        name: add.name.clone(),
        user: add.user.clone(),
        token_url: add.token_url.clone(),
        client_id: add.client_id.clone(),
        proof: match (add.public, add.secret_in_body) {
            (true, _) => Proof::None,
            (false, true) => Proof::Body,
            (false, false) => Proof::Header,
        },
        scopes: add.scopes.clone(),
        audience: add.audience.clone(),
    }
}

/// What is wrong, by the name of the flag.
fn mistaken(wrong: &Wrong) -> anyhow::Error {
    let flag = match wrong.part {
        "id" | "secret" => return misuse(plain(&wrong.why)),
        "hosts" => "--host".to_owned(),
        "principals" => "--to".to_owned(),
        "scopes" => "--scope".to_owned(),
        part => format!("--{}", part.replace('_', "-")),
    };
    misuse(format!("{flag}: {}", plain(&wrong.why)))
}

/// What there is to say about a grant. Where there is no toolset, nobody can know.
fn doubts(at: &Place, provider: &str, tools: &[String]) -> Vec<String> {
    let toolset = at.toolset().and_then(|toolset| checked(&toolset, Reuse::Unchanged));
    let Some(registry) = toolset.ok().and_then(|checked| checked.registry().ok()) else {
        return Vec::new();
    };
    let known: Vec<&Tool> = registry.tools.iter().collect();
    haft_runtime::connections::doubts(&known, provider, tools)
}

fn no_such(why: StoreError, id: &str) -> anyhow::Error {
    match why == StoreError::Missing {
        true => anyhow!("there is no connection `{}`; see `haft connections list`", plain(id)),
        false => why.into(),
    }
}
