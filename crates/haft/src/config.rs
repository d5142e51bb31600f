//! `haft.toml`: which toolset, which registries are trusted, where things are remembered, and who
//! may do what.

mod accounts;
mod calendar;
mod definitions;
mod explain;
mod kb;
mod mcp;
mod model;
mod otlp;
mod outside;
mod policies;
mod reading;
mod rules;
mod runtime;
pub(crate) mod sections;
mod server;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use haft_core::Digest;
use haft_core::names::{PLAIN_ID, is_plain_id};
use haft_core::registry::{Pin, PublicKey, Trust, is_version, version_of};
use haft_exec::http::Range;
use haft_runtime::Settings;
use haft_runtime::policy::{Delegation, Grant, Rules};
use haft_runtime::toolbox::{Agent, Records, Tenant};
use haft_server::who::Key;
use haft_server::who::jwt::Issuer;
use serde::Deserialize;

pub(crate) use kb::Kb;
use kb::RawKb;
pub(crate) use model::Model;
use otlp::Otlp;
pub(crate) use outside::Outside;
pub(crate) use reading::Checked;
use runtime::RawRuntime;
pub(crate) use sections::LeftOut;
pub(crate) use server::Logging;
use server::{RawServer, Serving};
use store::RawStore;

/// The file's name.
pub(crate) const FILE: &str = "haft.toml";

/// The file as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawConfig {
    toolset: Option<PathBuf>,
    #[serde(default)]
    registry: RawRegistry,
    #[serde(default)]
    store: RawStore,
    #[serde(default)]
    runtime: RawRuntime,
    #[serde(default)]
    policy: Rules,
    #[serde(default)]
    policies: Vec<policies::RawPolicy>,
    #[serde(default)]
    tenants: Vec<Tenant>,
    #[serde(default)]
    agents: Vec<Agent>,
    #[serde(default)]
    delegations: Vec<Delegation>,
    #[serde(default)]
    grants: Vec<Grant>,
    #[serde(default)]
    server: RawServer,
    #[serde(default)]
    mcp: mcp::RawMcp,
    #[serde(default)]
    keys: Vec<Key>,
    #[serde(default)]
    issuers: Vec<Issuer>,
    #[serde(default)]
    otlp: Otlp,
    #[serde(default)]
    kb: RawKb,
    #[serde(default)]
    http: outside::RawHttp,
    #[serde(default)]
    connections: outside::RawConnections,
    #[serde(default)]
    images: outside::RawImages,
    #[serde(default)]
    calendar: calendar::RawCalendar,
    #[serde(default)]
    definitions: definitions::RawDefinitions,
    #[serde(default)]
    model: Model,
    #[serde(default)]
    models: BTreeMap<String, Model>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRegistry {
    version: Option<String>,
    digest: Option<Digest>,
    key: Option<PublicKey>,
}

/// Every question answered.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The folder that it is in.
    pub(crate) folder: Option<PathBuf>,
    /// The toolset, where it names one.
    pub(crate) toolset: Option<PathBuf>,
    /// What a registry must prove.
    pub(crate) trust: Trust,
    /// The database.
    store: Option<PathBuf>,
    /// How much of the audit trail is checked when the store is opened.
    pub(crate) verify: haft_store::Verify,
    /// The numbers of the runtime.
    pub(crate) settings: Settings,
    /// Addresses that tools of tenants may reach although they are not public.
    pub(crate) tenants_reach: Vec<Range>,
    /// What is allowed.
    pub(crate) rules: Rules,
    /// Tenants, agents, delegations and grants.
    pub(crate) records: Records,
    /// The server.
    pub(crate) server: Serving,
    /// Where traces go.
    pub(crate) otlp: Otlp,
    /// The knowledge base.
    kb: RawKb,
    /// People, and where their meetings are written.
    calendar: calendar::RawCalendar,
    /// The server's door for MCP clients.
    pub(crate) mcp: haft_server::mcp::Settings,
    /// Calls to the outside.
    pub(crate) outside: Outside,
    /// The model of agents that have none of their own.
    model: Model,
    /// Models by tenant and agent.
    models: BTreeMap<(String, String), Model>,
    /// What it is called in messages.
    file: String,
}

impl RawRegistry {
    /// What a registry is pinned to.
    fn pin(&self) -> anyhow::Result<Option<Pin>> {
        match (&self.digest, &self.version) {
            // The whole digest says more than its first eight digits.
            (Some(digest), version) => {
                let its = version_of(digest);
                if version.as_ref().is_some_and(|version| *version != its) {
                    bail!("`registry.version`: the pinned digest is that of version `{its}`");
                }
                Ok(Some(Pin::Digest(digest.clone())))
            }
            (None, Some(version)) if !is_version(version) => bail!(
                "`registry.version`: `{version}` is the version of no registry; one looks like `1.0.4f1c02aa`, \
                 and `haft verify` tells that of a file"
            ),
            (None, Some(version)) => Ok(Some(Pin::Version(version.clone()))),
            (None, None) => Ok(None),
        }
    }
}

/// What was found, or nothing and why.
fn or_default<T: Default>(found: anyhow::Result<T>, wrong: &mut Vec<anyhow::Error>) -> T {
    found.unwrap_or_else(|why| {
        wrong.push(why);
        T::default()
    })
}

/// What was made, where nothing is wrong with it; else the first mistake.
fn sound<T>(made: Option<T>, wrong: Vec<anyhow::Error>) -> anyhow::Result<T> {
    match (wrong.into_iter().next(), made) {
        (Some(first), _) => Err(first),
        (None, Some(made)) => Ok(made),
        (None, None) => bail!("it cannot be read"),
    }
}

/// Refuses numbers of which 0 would mean that nothing works.
fn none_of(section: &str, numbers: &[(&str, Option<u64>)], wrong: &mut Vec<anyhow::Error>) {
    for (name, _) in numbers.iter().filter(|(_, number)| *number == Some(0)) {
        wrong.push(anyhow!("`{section}.{name}` must be at least 1: with 0, nothing would work"));
    }
}

/// Refuses durations that nobody can mean: what is counted from them would have no end.
fn at_most(section: &str, most: &[(&str, Option<u64>, u64)], wrong: &mut Vec<anyhow::Error>) {
    for (name, given, most) in most {
        if given.is_some_and(|given| given > *most) {
            wrong.push(anyhow!("`{section}.{name}` must be at most {most}"));
        }
    }
}

/// A count, as [`none_of`] takes it.
fn number(count: Option<usize>) -> Option<u64> {
    count.and_then(|count| u64::try_from(count).ok())
}

/// Ranges of addresses.
fn ranges(name: &str, texts: &[String], wrong: &mut Vec<anyhow::Error>) -> Vec<Range> {
    let parse = |text: &String| text.parse().map_err(|why| anyhow!("`{name}`: {why}"));
    let mut good = Vec::new();
    for range in texts.iter().map(parse) {
        match range {
            Ok(range) => good.push(range),
            Err(why) => wrong.push(why),
        }
    }
    good
}

/// Tenants and agents stand in addresses and records: those that could not are refused.
fn ids(raw: &RawConfig, wrong: &mut Vec<anyhow::Error>) {
    let tenants = raw.tenants.iter().map(|one| ("tenants", &one.id));
    let agents = raw.agents.iter().map(|one| ("agents", &one.id));
    for (what, id) in tenants.chain(agents).filter(|(_, id)| !is_plain_id(id)) {
        wrong.push(anyhow!("`{what}`, `{id}`: {PLAIN_ID}"));
    }
}

/// Files of keys are named from where the configuration is.
fn beside(mut issuers: Vec<Issuer>, folder: &Path) -> Vec<Issuer> {
    for issuer in &mut issuers {
        issuer.jwks_file = issuer.jwks_file.take().map(|file| folder.join(file));
    }
    issuers
}

impl Config {
    /// Answers every question, and says what makes no sense: one mistake does not hide the others.
    fn resolve(mut raw: RawConfig, file: &Path) -> (Self, Vec<anyhow::Error>) {
        let mut wrong = Vec::new();
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        let home = raw.tenants.first().map_or_else(|| "default".to_owned(), |one| one.id.clone());
        let agents: Vec<(String, String)> =
            raw.agents.iter().map(|one| (one.tenant.clone(), one.id.clone())).collect();
        ids(&raw, &mut wrong);
        definitions::folders(&mut raw.tenants, &folder, &mut wrong);
        let mut settings = raw.runtime.resolve(&raw.store, &mut wrong);
        let tenants_reach = raw.definitions.resolve(&mut settings, &mut wrong);
        let pin = or_default(raw.registry.pin(), &mut wrong);
        let policies = policies::resolve(raw.policies, &home, &folder, &mut wrong);
        let places = (home.as_str(), folder.as_path());
        let outside = outside::resolve(raw.http, raw.connections, raw.images, places, &mut wrong);
        let server = raw.server.resolve(raw.keys, beside(raw.issuers, &folder), &mut wrong);
        for (name, model) in raw.models.iter().map(|(name, one)| (format!("models.{name}"), one)) {
            none_of(&name, &model.numbers(), &mut wrong);
        }
        none_of("model", &raw.model.numbers(), &mut wrong);
        let models = model::by_agent(raw.models, &agents, &home, &mut wrong);
        let config = Self {
            toolset: raw.toolset.map(|toolset| folder.join(toolset)),
            trust: Trust { pin, key: raw.registry.key, last: None },
            settings,
            store: raw.store.path.map(|path| folder.join(path)),
            verify: raw.store.verify,
            tenants_reach,
            rules: raw.policy,
            server,
            otlp: raw.otlp,
            mcp: raw.mcp.resolve(&mut wrong),
            records: Records {
                tenants: raw.tenants,
                agents: raw.agents,
                delegations: raw.delegations,
                grants: raw.grants,
                policies,
            },
            kb: raw.kb,
            calendar: raw.calendar,
            outside,
            models,
            model: raw.model,
            file: file.display().to_string(),
            folder: Some(folder),
        };
        (config, wrong)
    }

    /// The file, where there is one.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// The database: the one that is named, else one beside the configuration.
    pub(crate) fn database(&self) -> PathBuf {
        let folder = self.folder.clone().unwrap_or_default();
        self.store.clone().unwrap_or_else(|| folder.join(".haft").join("haft.db"))
    }

    /// Tenants and agents; where none are named there is one of each, both called `default`.
    pub(crate) fn records(&self) -> Records {
        match self.records.tenants.is_empty() && self.records.agents.is_empty() {
            true => Records {
                delegations: self.records.delegations.clone(),
                grants: self.records.grants.clone(),
                policies: self.records.policies.clone(),
                ..Records::of_one("default", "default")
            },
            false => self.records.clone(),
        }
    }

    /// The tenant of an agent.
    pub(crate) fn tenant_of(&self, agent: &str) -> String {
        let found = self.records.agents.iter().find(|one| one.id == agent);
        found.map_or_else(|| self.first_tenant(), |one| one.tenant.clone())
    }

    /// The model of an agent: its own settings, and the common ones for what those leave open.
    pub(crate) fn model(&self, tenant: &str, agent: &str) -> Model {
        let key = (tenant.to_owned(), agent.to_owned());
        let own = self.models.get(&key).cloned().unwrap_or_default();
        own.or(&self.model)
    }

    /// The model of agents that have none of their own.
    pub(crate) fn common_model(&self) -> &Model {
        &self.model
    }

    /// Whose connection has the key of an agent's model: the tenant's where the agent's own settings
    /// name it, else that of the first tenant, whose the common ones are.
    pub(crate) fn pays(&self, tenant: &str, agent: &str) -> String {
        let own = self.models.get(&(tenant.to_owned(), agent.to_owned()));
        match own.is_some_and(|one| one.connection.is_some()) {
            true => tenant.to_owned(),
            false => self.first_tenant(),
        }
    }

    /// Whether a connection is declared here.
    pub(crate) fn declares(&self, tenant: &str, connection: &str) -> bool {
        self.outside.accounts.iter().any(|one| one.is(tenant, connection))
    }

    /// The tenant whose things are the server's own.
    pub(crate) fn first_tenant(&self) -> String {
        self.records().tenants.first().map_or_else(|| "default".into(), |one| one.id.clone())
    }

    /// The tenant, where this file declares no other.
    fn only_tenant(&self) -> Option<String> {
        let records = self.records();
        let all = records.tenants.iter().map(|one| &one.id);
        let mut all = all.chain(records.agents.iter().map(|one| &one.tenant));
        let first = all.next()?;
        all.all(|one| one == first).then(|| first.clone())
    }

    /// The agents that have a model of their own.
    pub(crate) fn agents_with_models(&self) -> impl Iterator<Item = &(String, String)> {
        self.models.keys()
    }

    /// The knowledge base.
    pub(crate) fn kb(&self) -> anyhow::Result<Kb> {
        let mut wrong = Vec::new();
        let kb = self.kb_noting(&mut wrong);
        sound(kb, wrong).with_context(|| format!("`{}`", self.file))
    }

    fn kb_noting(&self, wrong: &mut Vec<anyhow::Error>) -> Option<Kb> {
        let folder = self.folder.clone().unwrap_or_default();
        self.kb.resolve(&folder, self.only_tenant(), wrong)
    }

    /// What the knowledge base is made from, whatever else is wrong with it.
    pub(crate) fn kb_sources(&self) -> Vec<PathBuf> {
        self.kb.sources(&self.folder.clone().unwrap_or_default())
    }

    /// People's calendars.
    pub(crate) fn calendar(&self) -> anyhow::Result<haft_tools::calendar::Setup> {
        let mut wrong = Vec::new();
        let setup = self.calendar.resolve(&self.first_tenant(), &mut wrong);
        sound(Some(setup), wrong).with_context(|| format!("`{}`", self.file))
    }

    /// Everything that is wrong with what is looked at only when it is used.
    pub(crate) fn faults(&self) -> Vec<anyhow::Error> {
        let mut wrong = Vec::new();
        let _ = self.kb_noting(&mut wrong);
        let _ = self.calendar.resolve(&self.first_tenant(), &mut wrong);
        wrong
    }

    /// Where the last accepted registry is remembered. Only a project with a configuration has
    /// such a place.
    pub(crate) fn mark(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(".haft").join("accepted.json"))
    }
}
