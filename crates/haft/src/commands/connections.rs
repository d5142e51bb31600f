//! `haft connections`

mod browser;
mod fits;
mod secret;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use haft_core::connection::{Account, ClientAuth, Credentials, Grant, OAuth, OAuthGrant};
use haft_core::port::{Broker as _, Connections as _, Expect, StoreError, Want};
use haft_core::secret::SecretText;
use haft_exec::http::Client;
use haft_runtime::redact::Secret;
use haft_store::vault::{Key, KeyPlace, Keyring};
use haft_store::{Sqlite, Vault};
use serde_json::json;

use crate::assembly::{block_on, open_store, plain, said};
use crate::cli::{
    AddConnection, Connections as Options, ConnectionsCommand, GrantConnection, KindName,
    RotateConnection, TestConnection,
};
use crate::commands::lint::counted;
use crate::config::Config;
use crate::output::{Exit, Given as _, Output, misuse};
use crate::source::Place;

/// A program that has renewed a token gives its store this long to take it.
const STORED_WITHIN: Duration = Duration::from_secs(25);

pub(crate) fn run(at: &Place, options: &Options, out: &mut Output) -> anyhow::Result<Exit> {
    let config = at.config()?;
    let store = Arc::new(open_store(&config)?);
    let desk = Desk { store, config, tenant: options.tenant.clone() };
    block_on(async {
        match &options.what {
            ConnectionsCommand::Add(add) => desk.add(add, out).await,
            ConnectionsCommand::List { json } => desk.list(*json, out).await,
            ConnectionsCommand::Grant(grant) => desk.grant(at, grant, out).await,
            ConnectionsCommand::Revoke { id, from } => {
                let count = desk.vault()?.revoke(&desk.tenant, id, from.as_deref()).await?;
                let count = counted(usize::try_from(count).unwrap_or(usize::MAX), "grant");
                out.line(&format!("{count} of `{}` taken back", plain(id)));
                Ok(())
            }
            ConnectionsCommand::Test(test) => desk.test(test, out).await,
            ConnectionsCommand::Rotate(rotate) => desk.rotate(rotate, out).await,
            ConnectionsCommand::Remove { id } => {
                desk.vault()?.remove(&desk.tenant, id).await.map_err(|why| no_such(why, id))?;
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

    fn client(&self) -> Arc<Client> {
        Arc::new(Client::new(self.config.outside.http.clone()))
    }

    async fn add(&self, add: &AddConnection, out: &mut Output) -> anyhow::Result<()> {
        check_id(&add.id)?;
        for host in &add.hosts {
            if host.contains(['/', ':', '*', '@']) || host.is_empty() {
                return Err(misuse(format!(
                    "--host: `{}` is not the name of one host",
                    plain(host)
                )));
            }
        }
        let mut credentials = credentials(add, out)?;
        if let (Credentials::OAuth(oauth), KindName::AuthorizationCode) = (&credentials, add.kind) {
            let agreed = browser::consent(&self.client(), oauth, add, out).await?;
            credentials = Credentials::OAuth(Box::new(agreed));
        }
        check_secrets(&add.id, &credentials, out)?;
        let account = Account {
            tenant: self.tenant.clone(),
            id: add.id.clone(),
            provider: add.provider.clone(),
            kind: credentials.kind(),
            hosts: add.hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            revision: 0,
            made_ms: 0,
            changed_ms: 0,
        };
        let vault = self.sealing(out)?;
        let kept = vault.put(account, &credentials, Expect::Nothing).await;
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
        let vault = Vault::new(self.store.clone(), Keyring::default());
        let accounts = vault.accounts(&self.tenant).await?;
        let grants = vault.grants().await?;
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
            out.line(&plain(&format!("{}  {}  {kind}  {hosts}", account.id, account.provider)));
            for grant in of(&account.id) {
                let (to, tools) = (grant.principals.join(", "), grant.tools.join(", "));
                out.line(&plain(&format!("    {to} with {tools}")));
            }
        }
        Ok(())
    }

    async fn grant(
        &self,
        at: &Place,
        grant: &GrantConnection,
        out: &mut Output,
    ) -> anyhow::Result<()> {
        let vault = Vault::new(self.store.clone(), Keyring::default());
        for who in &grant.to {
            let all = matches!(who.as_str(), "*" | "user:*" | "agent:*" | "service:*");
            if !all {
                haft_core::Principal::parse(who).given("--to")?;
            }
        }
        for tool in &grant.tools {
            let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*".contains(&byte);
            if tool.is_empty() || !tool.bytes().all(good) {
                let why = format!("--tools: `{}` is not a tool or a pattern", plain(tool));
                return Err(misuse(why));
            }
        }
        let granted = Grant {
            tenant: self.tenant.clone(),
            connection: grant.id.clone(),
            principals: grant.to.clone(),
            tools: grant.tools.clone(),
        };
        vault.grant(granted).await.map_err(|why| no_such(why, &grant.id))?;
        let (to, tools) = (grant.to.join(", "), grant.tools.join(", "));
        out.line(&plain(&format!("`{}` may be used by {to} with {tools}", grant.id)));
        let accounts = vault.accounts(&self.tenant).await?;
        let account = accounts.iter().find(|one| one.id == grant.id);
        for doubt in
            account.map_or_else(Vec::new, |one| fits::doubts(at, &one.provider, &grant.tools))
        {
            out.note(&plain(&format!("warning: {doubt}")));
        }
        Ok(())
    }

    async fn test(&self, test: &TestConnection, out: &mut Output) -> anyhow::Result<()> {
        let vault = Arc::new(self.vault()?);
        let (account, _) =
            vault.open(&self.tenant, &test.id).await.map_err(|why| no_such(why, &test.id))?;
        let broker = haft_exec::Broker::new(vault, self.client());
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
        let vault = self.vault()?;
        let (account, before) =
            vault.open(&self.tenant, id).await.map_err(|why| no_such(why, id))?;
        let new = secret::read(&rotate.secret, "the new secret", out)?;
        let credentials = match before {
            Credentials::Bearer(_) => Credentials::Bearer(new),
            Credentials::Header { name, .. } => Credentials::Header { name, key: new },
            Credentials::Query { name, .. } => Credentials::Query { name, key: new },
            Credentials::Basic { user, .. } => Credentials::Basic { user, password: new },
            Credentials::OAuth(mut oauth) => {
                oauth.client_secret = Some(new);
                oauth.access = None;
                Credentials::OAuth(oauth)
            }
        };
        check_secrets(id, &credentials, out)?;
        let expect = Expect::Revision(account.revision);
        let account = vault.put(account, &credentials, expect).await?;
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
            (None, KeyPlace::File(_)) => Key::random()?,
            (None, KeyPlace::Env(_)) => {
                bail!(
                    "the key is in the environment; name the new one's variable with `--new-key-env`"
                )
            }
        };
        let both = before.led_by(new);
        if let KeyPlace::File(path) = &place {
            both.write(path).with_context(|| format!("`{}`", path.display()))?;
        }
        let count = Vault::new(self.store.clone(), both.clone()).reseal().await?;
        let id = both.current()?.id().to_owned();
        match &place {
            KeyPlace::File(path) => {
                both.first_only().write(path).with_context(|| format!("`{}`", path.display()))?;
                out.line(&format!("{} sealed with the new key {id}", connections(count)));
            }
            KeyPlace::Env(name) => out.line(&format!(
                "{} sealed with the new key {id}; put it into `{name}` now, and restart whatever \
                 runs with the old one alone",
                connections(count)
            )),
        }
        Ok(())
    }
}

fn connections(count: usize) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count, "connection"))
}

fn check_id(id: &str) -> anyhow::Result<()> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    match !id.is_empty() && id.len() <= 64 && id.bytes().all(good) {
        true => Ok(()),
        false => Err(misuse(format!(
            "`{}` is not an id: use up to 64 letters, digits and `_.:-`",
            plain(id)
        ))),
    }
}

/// A secret that could not be kept out of texts is not taken, and of one that can be found by trying
/// its owner is told.
fn check_secrets(id: &str, credentials: &Credentials, out: &Output) -> anyhow::Result<()> {
    for secret in credentials.secrets() {
        Secret::new(id, secret.expose())?;
        if secret.expose().chars().any(char::is_control) {
            bail!("the secret holds control characters; is it the right one?");
        }
    }
    if credentials.secrets().iter().any(|secret| Secret::is_guessable(secret.expose())) {
        out.note(&format!(
            "warning: the secret of `{}` can be found by trying, so it is taken out of the texts of calls \
             that use it alone; use a longer one where the service takes it (docs/connections.md)",
            plain(id)
        ));
    }
    Ok(())
}

/// Headers that say where a request goes, or where it ends.
const FRAMING: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

fn check_header(name: &str) -> anyhow::Result<()> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || !name.bytes().all(good) {
        return Err(misuse("--name: a header's name has letters, digits and `-`"));
    }
    if FRAMING.contains(&name.to_ascii_lowercase().as_str()) {
        return Err(misuse(format!(
            "--name: `{name}` is a header that haft writes itself; name the one that the service reads \
             the secret from, such as `X-Api-Key`"
        )));
    }
    Ok(())
}

fn credentials(add: &AddConnection, out: &Output) -> anyhow::Result<Credentials> {
    let secret = || secret::read(&add.secret, "the secret", out);
    let needs = |value: &Option<String>, flag: &str| {
        value.clone().ok_or_else(|| misuse(format!("this kind needs `{flag}`")))
    };
    Ok(match add.kind {
        KindName::Bearer => Credentials::Bearer(secret()?),
        KindName::Header => {
            let name = needs(&add.name, "--name")?;
            check_header(&name)?;
            Credentials::Header { name, key: secret()? }
        }
        KindName::Query => Credentials::Query { name: needs(&add.name, "--name")?, key: secret()? },
        KindName::Basic => {
            let user = needs(&add.user, "--user")?;
            if user.contains(':') {
                return Err(misuse("--user: a name cannot hold `:`"));
            }
            Credentials::Basic { user, password: secret()? }
        }
        KindName::ClientCredentials | KindName::AuthorizationCode => {
            let client_secret: Option<SecretText> = if add.public { None } else { Some(secret()?) };
            Credentials::OAuth(Box::new(OAuth {
                grant: match add.kind == KindName::ClientCredentials {
                    true => OAuthGrant::ClientCredentials,
                    false => OAuthGrant::AuthorizationCode,
                },
                token_url: needs(&add.token_url, "--token-url")?,
                client_id: needs(&add.client_id, "--client-id")?,
                client_secret,
                client_auth: match add.secret_in_body {
                    true => ClientAuth::Body,
                    false => ClientAuth::Basic,
                },
                scopes: add.scopes.clone(),
                audience: add.audience.clone(),
                refresh: None,
                access: None,
            }))
        }
    })
}

fn no_such(why: StoreError, id: &str) -> anyhow::Error {
    match why == StoreError::Missing {
        true => anyhow!("there is no connection `{}`; see `haft connections list`", plain(id)),
        false => why.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_into_a_header_that_is_not_ours() {
        for (name, good) in [
            ("X-Api-Key", true),
            ("Authorization", true),
            ("Host", false),
            ("content-length", false),
            ("Transfer-Encoding", false),
            ("CONNECTION", false),
            ("a b", false),
            ("", false),
        ] {
            assert_eq!(check_header(name).is_ok(), good, "{name}");
        }
    }
}
