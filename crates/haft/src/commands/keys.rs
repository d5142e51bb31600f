//! `haft keys`

use anyhow::{Context as _, anyhow};
use haft_core::Principal;
use haft_core::config::{Entry, Kind};
use haft_core::port::Configs as _;
use haft_runtime::policy::Instant;
use haft_server::who::stored::{self, StoredKey, Wanted};
use haft_server::who::{Key, Keys, Role, mint};
use serde::Serialize;
use serde_json::{Value, json};

use crate::assembly::{Desk, block_on, open_store};
use crate::cli::{Keys as Options, KeysCommand, NewKey, Operator, RoleName};
use crate::named;
use crate::output::{Exit, Given as _, Output, instant};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Options, out: &mut Output) -> anyhow::Result<Exit> {
    match &options.what {
        KeysCommand::New(new) if new.store => block_on(keep(at, new, out)),
        KeysCommand::New(new) => make(new, out),
        KeysCommand::List { operator, json } => block_on(list(at, operator, *json, out)),
        KeysCommand::Revoke { id, operator } => block_on(revoke(at, id, operator, out)),
    }
}

#[derive(Serialize)]
struct Declared {
    keys: Vec<Key>,
}

fn make(new: &NewKey, out: &mut Output) -> anyhow::Result<Exit> {
    let principal = named::principal(&new.principal, "--as")?;
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|why| anyhow!("no random numbers: {why}"))?;
    let (text, sha256) = mint(&new.id, &random);
    let key = Key {
        id: new.id.clone(),
        sha256,
        tenant: new.tenant.clone(),
        principal,
        subject: None,
        roles: new.roles.iter().map(|name| role(*name)).collect(),
        agents: None,
        name: None,
        expires: expires(new)?,
        user: crate::facts::read(new.user.as_deref())?,
    };
    Keys::load(std::slice::from_ref(&key))?;
    out.line(&text);
    out.note("this is shown once; put the following into `haft.toml` (it holds no secret):\n");
    out.note(&toml::to_string(&Declared { keys: vec![key] })?);
    Ok(Exit::Done)
}

/// Makes a key that the store keeps.
async fn keep(at: &Place, new: &NewKey, out: &mut Output) -> anyhow::Result<Exit> {
    let desk = Desk::open(at, None, out)?;
    let principal = named::principal(&new.principal, "--as")?;
    let wanted = Wanted {
        name: Some(new.id.clone()),
        principal,
        subject: None,
        roles: new.roles.iter().map(|name| role(*name)).collect(),
        agents: None,
        user: crate::facts::read(new.user.as_deref())?,
        expires_at_ms: expires(new)?.map(|at| at.0),
    };
    let known = desk.runtime.configured();
    if !known.records.tenants.iter().any(|one| one.id == new.tenant) {
        return Err(anyhow!("there is no tenant `{}`", new.tenant));
    }
    let by = Principal::user("cli");
    let (text, entry) = stored::mint(&desk.runtime, &by, &new.tenant, wanted).await?;
    out.line(&text);
    out.note(&format!("this is shown once; the store keeps its hash as `{}`", entry.id));
    Ok(Exit::Done)
}

fn expires(new: &NewKey) -> anyhow::Result<Option<Instant>> {
    let read = |text: &str| serde_json::from_value::<Instant>(Value::from(text));
    new.expires.as_deref().map(|text| read(text).given("--expires")).transpose()
}

async fn list(
    at: &Place,
    operator: &Operator,
    as_json: bool,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    let config = at.config()?;
    let store = open_store(&config)?;
    let entries = store.entries(Kind::Key, Some(&operator.tenant)).await?;
    let declared = config.server.keys.iter().filter(|key| key.tenant == operator.tenant);
    let mut rows: Vec<Value> = declared
        .map(|key| {
            json!({ "id": key.id, "source": "declared", "name": key.name,
                    "principal": key.principal, "roles": key.roles, "ends": key.expires })
        })
        .collect();
    rows.extend(entries.iter().map(shown));
    if rows.is_empty() {
        crate::named::tenant(&store, &config, &operator.tenant).await?;
    }
    if as_json {
        out.json(&rows)?;
        return Ok(Exit::Done);
    }
    let cell = |row: &Value, name: &str| match row.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Some(_) | None => String::new(),
    };
    let names = ["id", "principal", "roles", "ends", "source", "name"];
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| names.iter().map(|name| cell(row, name)).collect()).collect();
    out.table(&["ID", "PRINCIPAL", "ROLES", "ENDS", "SOURCE", "NAME"], 4, &rows);
    Ok(Exit::Done)
}

fn shown(entry: &Entry) -> Value {
    let Ok(key) = serde_json::from_value::<StoredKey>(entry.body.clone()) else {
        return json!({ "id": entry.id, "source": "stored", "ends": "cannot be read" });
    };
    let ends = match (key.revoked_at_ms, key.expires_at_ms) {
        (Some(at), _) => format!("revoked {}", instant(at)),
        (None, Some(at)) => instant(at),
        (None, None) => String::new(),
    };
    json!({ "id": entry.id, "source": "stored", "name": key.name, "principal": key.principal,
            "roles": key.roles, "ends": ends })
}

async fn revoke(
    at: &Place,
    id: &str,
    operator: &Operator,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    let desk = Desk::open(at, None, out)?;
    if desk.config.server.keys.iter().any(|key| key.id == id) {
        return Err(anyhow!("`{id}` is declared in `haft.toml`; take it out there"));
    }
    let by = named::principal(&operator.actor, "--as")?;
    let revoked = stored::revoke(&desk.runtime, &by, &operator.tenant, id).await;
    revoked.with_context(|| format!("key `{id}` of tenant `{}`", operator.tenant))?;
    out.line(&format!("`{id}` opens nothing any more"));
    Ok(Exit::Done)
}

fn role(name: RoleName) -> Role {
    match name {
        RoleName::Agent => Role::Agent,
        RoleName::Approver => Role::Approver,
        RoleName::Operator => Role::Operator,
        RoleName::Administrator => Role::Administrator,
        RoleName::Metrics => Role::Metrics,
    }
}
