//! Names on the command line that nothing has: an empty list would be taken for an answer.

use haft_core::config::Kind;
use haft_core::port::{Configs as _, Sessions as _, StoreError};
use haft_core::{Principal, nearest};
use haft_server::who::looks_like_another;
use haft_store::Sqlite;

use crate::assembly::plain;
use crate::config::Config;
use crate::output::{Given as _, misuse};

/// Somebody who acts, by the name that this option has.
pub(crate) fn principal(text: &str, option: &str) -> anyhow::Result<Principal> {
    let named = Principal::parse(text).given(option)?;
    match looks_like_another(&named) {
        Some(why) => Err(misuse(format!("{option}: `{}` {why}", text.escape_debug()))),
        None => Ok(named),
    }
}

/// Says so where there is no such tenant, declared or stored.
pub(crate) async fn tenant(store: &Sqlite, config: &Config, named: &str) -> anyhow::Result<()> {
    let mut known: Vec<String> = config.records().tenants.into_iter().map(|one| one.id).collect();
    known.extend(store.entries(Kind::Tenant, None).await?.into_iter().map(|one| one.id));
    known.extend(config.records().agents.into_iter().map(|one| one.tenant));
    among("--tenant", "tenant", named, &mut known)
}

/// Says so where a tenant has no such agent.
pub(crate) async fn agent(
    store: &Sqlite,
    config: &Config,
    tenant: &str,
    named: Option<&str>,
) -> anyhow::Result<()> {
    let Some(named) = named else { return Ok(()) };
    let declared = config.records().agents.into_iter().filter(|one| one.tenant == tenant);
    let mut known: Vec<String> = declared.map(|one| one.id).collect();
    let stored = store.entries(Kind::Agent, Some(tenant)).await?;
    known.extend(stored.into_iter().map(|one| one.id));
    let what = format!("agent of tenant `{}` called", plain(tenant));
    among("--agent", &what, named, &mut known)
}

/// Says so where a tenant has no such session.
pub(crate) async fn session(
    store: &Sqlite,
    tenant: &str,
    named: Option<&str>,
) -> anyhow::Result<()> {
    let Some(named) = named else { return Ok(()) };
    match store.session(tenant, named).await {
        Err(StoreError::Missing) => {
            let (tenant, named) = (plain(tenant), plain(named));
            let why = format!("--session: tenant `{tenant}` has no session `{named}`");
            Err(misuse(format!("{why}; `--tenant` says whose")))
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

fn among(option: &str, what: &str, named: &str, known: &mut Vec<String>) -> anyhow::Result<()> {
    if known.iter().any(|one| one == named) {
        return Ok(());
    }
    known.sort();
    known.dedup();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let fix = nearest::suggest(named, &known);
    Err(misuse(format!("{option}: there is no {what} `{}`; {fix}", plain(named))))
}
