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
pub(crate) mod sections;
mod server;
mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::assembly::plain;
use anyhow::{Context as _, anyhow, bail};
use haft_core::names::{PLAIN_ID, is_plain_id};
use haft_core::registry::{Pin, PublicKey, Trust, version_of};
use haft_core::{Digest, Registry};
use haft_exec::http::Range;
use haft_runtime::Settings;
use haft_runtime::policy::{Delegation, Grant, Policy, Problem, Rules, Source, Text};
use haft_runtime::toolbox::{Agent, Records, Tenant};
use haft_server::who::Key;
use haft_server::who::jwt::Issuer;
use serde::Deserialize;

pub(crate) use kb::Kb;
use kb::RawKb;
pub(crate) use model::Model;
use otlp::Otlp;
pub(crate) use outside::Outside;
use sections::Mistake;
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

/// Milliseconds, unless the name says otherwise.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RawRuntime {
    default_timeout_ms: Option<u64>,
    default_result_bytes: Option<u64>,
    attach_ms: Option<u64>,
    confirmation_ttl_s: Option<u64>,
    request_max_age_s: Option<u64>,
    keep_results_s: Option<u64>,
    keep_keys_s: Option<u64>,
    lease_grace_ms: Option<u64>,
    backoff_ms: Option<u64>,
    undo_attempts: Option<u32>,
    max_batch: Option<usize>,
    max_depth: Option<usize>,
    max_pending_confirmations: Option<usize>,
}

impl RawRuntime {
    fn resolve(self, store: &RawStore, wrong: &mut Vec<anyhow::Error>) -> Settings {
        let mut settings = Settings::default();
        settings.keep_records = store.keep(settings.keep_records);
        let ms = |given: Option<u64>, kept| given.map_or(kept, Duration::from_millis);
        let s = |given: Option<u64>, kept| given.map_or(kept, Duration::from_secs);
        settings.default_timeout = ms(self.default_timeout_ms, settings.default_timeout);
        settings.attach_for = ms(self.attach_ms, settings.attach_for);
        settings.confirmation_ttl = s(self.confirmation_ttl_s, settings.confirmation_ttl);
        settings.request_max_age = s(self.request_max_age_s, settings.request_max_age);
        settings.keep_results = s(self.keep_results_s, settings.keep_results);
        settings.keep_keys = s(self.keep_keys_s, settings.keep_keys);
        settings.lease_grace = ms(self.lease_grace_ms, settings.lease_grace);
        settings.backoff = ms(self.backoff_ms, settings.backoff);
        settings.undo_attempts = self.undo_attempts.unwrap_or(settings.undo_attempts);
        settings.default_result_bytes =
            self.default_result_bytes.unwrap_or(settings.default_result_bytes);
        settings.max_batch = self.max_batch.unwrap_or(settings.max_batch);
        settings.max_depth = self.max_depth.unwrap_or(settings.max_depth);
        settings.max_pending_confirmations =
            self.max_pending_confirmations.unwrap_or(settings.max_pending_confirmations);
        none_of(
            "runtime",
            &[
                ("default_timeout_ms", self.default_timeout_ms),
                ("default_result_bytes", self.default_result_bytes),
                ("confirmation_ttl_s", self.confirmation_ttl_s),
                ("request_max_age_s", self.request_max_age_s),
                ("max_batch", self.max_batch.and_then(|most| u64::try_from(most).ok())),
            ],
            wrong,
        );
        if settings.request_max_age >= settings.keep_idempotent_keys {
            wrong.push(anyhow!(
                "`runtime.request_max_age_s` must be below the day for which keys are kept"
            ));
        }
        if settings.request_max_age >= settings.keep_keys {
            wrong.push(anyhow!(
                "`runtime.keep_keys_s` must be above `runtime.request_max_age_s`: a request that is \
                   sent again must find its key"
            ));
        }
        if settings.undo_attempts == 0 {
            wrong.push(anyhow!("`runtime.undo_attempts` must be at least 1"));
        }
        settings
    }
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
            (None, Some(version)) => Ok(Some(Pin::Version(version.clone()))),
            (None, None) => Ok(None),
        }
    }
}

/// What [`Config::check`] finds.
pub(crate) struct Checked {
    /// What can be read; none where the parts of the file cannot be told apart.
    pub(crate) config: Option<Config>,
    /// Whether nothing had to be left out of that.
    pub(crate) is_whole: bool,
    /// What is wrong.
    pub(crate) mistakes: Vec<Mistake>,
}

/// What was found, or nothing and why.
fn or_default<T: Default>(found: anyhow::Result<T>, wrong: &mut Vec<anyhow::Error>) -> T {
    found.unwrap_or_else(|why| {
        wrong.push(why);
        T::default()
    })
}

/// Refuses numbers of which 0 would mean that nothing works.
fn none_of(section: &str, numbers: &[(&str, Option<u64>)], wrong: &mut Vec<anyhow::Error>) {
    for (name, _) in numbers.iter().filter(|(_, number)| *number == Some(0)) {
        wrong.push(anyhow!("`{section}.{name}` must be at least 1: with 0, nothing would work"));
    }
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
    /// Reads the file that is named, or the nearest one above `from`. No file is an empty one.
    pub(crate) fn find(named: Option<&Path>, from: &Path) -> anyhow::Result<Self> {
        match Self::nearest(named, from) {
            Some(file) => Self::read(&file),
            None => Ok(Self::default()),
        }
    }

    /// The file that is named, or the nearest one above `from`.
    pub(crate) fn nearest(named: Option<&Path>, from: &Path) -> Option<PathBuf> {
        match named {
            Some(file) => Some(file.to_owned()),
            None => from.ancestors().map(|folder| folder.join(FILE)).find(|file| file.is_file()),
        }
    }

    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("`{}` cannot be read", file.display()))?;
        let raw: RawConfig = toml::from_str(&text).map_err(|error| {
            // The line itself is not repeated: a key may stand on it.
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let why = explain::mistake(error.message(), before);
            anyhow!("`{}`, line {line}: {}", file.display(), plain(&why))
        })?;
        let (config, wrong) = Self::resolve(raw, file);
        match wrong.into_iter().next() {
            Some(first) => Err(first.context(format!("`{}`", file.display()))),
            None => Ok(config),
        }
    }

    /// Everything that is wrong with a file, and the configuration of what can be read of it.
    pub(crate) fn check(file: &Path) -> anyhow::Result<Checked> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("`{}` cannot be read", file.display()))?;
        let (mut mistakes, readable) = sections::mistakes(&text);
        let is_whole = mistakes.is_empty();
        let Some(raw) = readable.and_then(|rest| toml::from_str::<RawConfig>(&rest).ok()) else {
            return Ok(Checked { config: None, is_whole, mistakes });
        };
        let (config, wrong) = Self::resolve(raw, file);
        mistakes.extend(wrong.iter().map(|why| {
            let why = format!("{why:#}");
            let (line, column) = sections::place(&text, &why).unwrap_or((1, 1));
            Mistake { line, column, why }
        }));
        Ok(Checked { config: Some(config), is_whole, mistakes })
    }

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
            none_of(&name, &model.times(), &mut wrong);
        }
        none_of("model", &raw.model.times(), &mut wrong);
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
            mcp: or_default(raw.mcp.resolve(), &mut wrong),
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
        found.map_or_else(|| "default".to_owned(), |one| one.tenant.clone())
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
        let folder = self.folder.clone().unwrap_or_default();
        self.kb.resolve(&folder, self.only_tenant()).with_context(|| format!("`{}`", self.file))
    }

    /// People's calendars.
    pub(crate) fn calendar(&self) -> anyhow::Result<haft_tools::calendar::Setup> {
        self.calendar.resolve(&self.first_tenant()).with_context(|| format!("`{}`", self.file))
    }

    /// The policy, checked against the tools that there are.
    pub(crate) fn policy(&self, registry: &Registry) -> Result<Policy, Vec<Problem>> {
        self.policy_of(&self.source()?, registry)
    }

    /// The same, of what it is made from.
    pub(crate) fn policy_of(
        &self,
        source: &Source,
        registry: &Registry,
    ) -> Result<Policy, Vec<Problem>> {
        // Tools that tenants bring along are named by nobody's mistake.
        let own = self.records.tenants.iter().flat_map(|one| &one.definitions);
        let own: Vec<String> = own.filter(|one| one.is_own()).map(|one| one.tool.clone()).collect();
        Policy::load_among(source, &[registry], &own)
    }

    /// What the policy is made from.
    pub(crate) fn source(&self) -> Result<Source, Vec<Problem>> {
        match self.readable_source() {
            (source, missing) if missing.is_empty() => Ok(source),
            (_, missing) => Err(missing),
        }
    }

    /// The same as far as it can be read, and what cannot.
    pub(crate) fn readable_source(&self) -> (Source, Vec<Problem>) {
        let folder = self.folder.clone().unwrap_or_default();
        let (mut cedar, mut missing) = (Vec::new(), Vec::new());
        for file in &self.rules.cedar {
            match std::fs::read_to_string(folder.join(file)) {
                Ok(text) => cedar.push(Text { file: file.clone(), text }),
                Err(error) => {
                    let why = crate::output::in_words(&error);
                    let message = format!("`policy.cedar`: `{file}` cannot be read: {why}");
                    missing.push(Problem::error(&self.file, message));
                }
            }
        }
        let mut rules = self.rules.clone();
        rules.cedar.retain(|file| cedar.iter().any(|one| one.file == *file));
        let source = Source {
            file: self.file.clone(),
            rules,
            cedar,
            delegations: self.records.delegations.clone(),
            grants: self.records.grants.clone(),
        };
        (source, missing)
    }

    /// Where the last accepted registry is remembered. Only a project with a configuration has
    /// such a place.
    pub(crate) fn mark(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(".haft").join("accepted.json"))
    }
}
