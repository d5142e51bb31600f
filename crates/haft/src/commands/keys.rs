//! `haft keys`

use anyhow::{Context as _, anyhow};
use haft_core::Principal;
use haft_server::who::{Key, Keys, Role, mint};
use serde::Serialize;

use crate::cli::{Keys as Options, KeysCommand, NewKey, RoleName};
use crate::output::{Exit, Output};

pub(crate) fn run(options: &Options, out: &mut Output) -> anyhow::Result<Exit> {
    match &options.what {
        KeysCommand::New(new) => make(new, out),
    }
}

#[derive(Serialize)]
struct Declared {
    keys: Vec<Key>,
}

fn make(new: &NewKey, out: &mut Output) -> anyhow::Result<Exit> {
    let principal = Principal::parse(&new.principal).map_err(anyhow::Error::msg).context("--as")?;
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
    };
    Keys::load(std::slice::from_ref(&key))?;
    out.line(&text);
    out.note("this is shown once; put the following into `haft.toml` (it holds no secret):\n");
    out.note(&toml::to_string(&Declared { keys: vec![key] })?);
    Ok(Exit::Done)
}

fn role(name: RoleName) -> Role {
    match name {
        RoleName::Agent => Role::Agent,
        RoleName::Approver => Role::Approver,
        RoleName::Operator => Role::Operator,
        RoleName::Administrator => Role::Administrator,
    }
}
