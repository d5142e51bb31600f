//! Tenants and agents, checked against the stock and ready to be asked.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;
use haft_core::Digest;
use haft_core::call::{Principal, PrincipalKind};
use haft_core::contract::{Limits, Mode};
use haft_core::nearest;
use semver::VersionReq;
use serde_json::{Value, json};

use super::overrides::Overrides;
use super::records::{Activation, Agent, McpAccess, Origin, Records, Tenant};
use super::stock::{Stock, Stocked, Stocks};
use super::why::{Unavailable, Why};
use crate::policy::{Globs, Grant, Grants, Known, Problem, divide};
use crate::settings::Settings;

/// All tenants and agents.
#[derive(Debug)]
pub struct Directory {
    tenants: HashMap<String, Taken>,
    pub(crate) grants: Grants,
    versions: HashMap<String, Digest>,
    warnings: Vec<Problem>,
}

#[derive(Debug, Default)]
struct Taken {
    administrators: Vec<Principal>,
    definitions: HashMap<String, Said>,
    agents: HashMap<String, Equipped>,
    mcp: McpAccess,
}

/// What a tenant says about a tool.
#[derive(Debug)]
struct Said {
    version: Option<VersionReq>,
    enabled: Option<bool>,
    source: Origin,
    own: bool,
}

/// An agent, checked.
#[derive(Debug)]
pub(crate) struct Equipped {
    pub(crate) tools: Globs,
    pub(crate) modes: HashMap<Mode, Globs>,
    /// Provider → connection.
    pub(crate) connections: BTreeMap<String, String>,
    pub(crate) activations: HashMap<String, (bool, Overrides)>,
}

impl Equipped {
    /// An agent of which nothing is on record but its tenant.
    pub(crate) fn plain() -> Self {
        Self {
            tools: Globs::everything(),
            modes: HashMap::default(),
            connections: BTreeMap::new(),
            activations: HashMap::default(),
        }
    }
}

impl Directory {
    /// Checks what is on record.
    ///
    /// # Errors
    ///
    /// Every problem that was found. Nothing of a record with errors is used: an activation that is
    /// left out might be the one that turns a tool off.
    pub fn load(records: &Records, stock: &Stock, file: &str) -> Result<Self, Vec<Problem>> {
        let usual = Settings::default().limits();
        Self::load_with(records, &Stocks::common(stock), file, &BTreeSet::new(), &usual)
    }

    /// The same, with names of tools that are not there now and are no mistake: what is said about
    /// them holds again as soon as they are back; and with the limits that hold where a contract sets
    /// none.
    pub(crate) fn load_with(
        records: &Records,
        stocks: &Stocks<'_>,
        file: &str,
        absent: &BTreeSet<String>,
        usual: &Limits,
    ) -> Result<Self, Vec<Problem>> {
        let (problems, tenants) = (Vec::new(), HashMap::default());
        let names = Names::new(records, stocks, absent);
        let mut reader = Reader { stocks, names: &names, file, usual, problems, tenants };
        records.tenants.iter().for_each(|tenant| reader.tenant(tenant));
        records.agents.iter().for_each(|agent| reader.agent(agent));
        let of_nobody = |tenant: &String| !reader.tenants.contains_key(tenant);
        let lost = records.delegations.iter().map(|one| ("delegation", &one.tenant));
        let lost = lost.chain(records.grants.iter().map(|one| ("grant", &one.tenant)));
        let lost: Vec<_> = lost
            .filter(|(_, tenant)| of_nobody(tenant))
            .map(|(what, tenant)| {
                format!("a {what} names the tenant `{tenant}`, which is not there")
            })
            .collect();
        reader.problems.extend(lost.into_iter().map(|message| Problem::error(file, message)));
        let mut grants = Grants::default();
        for (tenant, theirs) in by_tenant(&records.grants) {
            let known = names.of(tenant);
            grants.extend(Grants::read(&theirs, known, file, &mut reader.problems));
        }
        let Reader { problems, tenants, .. } = reader;
        let versions = versions(records);
        Ok(Self { tenants, grants, versions, warnings: divide(problems)? })
    }

    /// Changes with everything that is on record of a tenant, and with nothing of others: nobody is
    /// to notice what they do. None for whom nothing is on record.
    #[must_use]
    pub fn version_for(&self, tenant: &str) -> Option<&Digest> {
        self.versions.get(tenant)
    }

    /// What is probably not what was meant.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// How many tenants there are.
    pub(crate) fn tenants(&self) -> usize {
        self.tenants.len()
    }

    /// Whether there is such a tenant.
    pub(crate) fn has(&self, tenant: &str) -> bool {
        self.tenants.contains_key(tenant)
    }

    pub(crate) fn agents(&self, tenant: &str) -> Vec<String> {
        let all = self.tenants.get(tenant).map(|taken| taken.agents.keys().cloned());
        let mut all: Vec<String> = all.into_iter().flatten().collect();
        all.sort();
        all
    }

    pub(crate) fn agent(&self, tenant: &str, agent: &str) -> Option<&Equipped> {
        self.tenants.get(tenant)?.agents.get(agent)
    }

    /// A tenant that is not there uses nothing.
    pub(crate) fn mcp_access(&self, tenant: &str) -> McpAccess {
        self.tenants.get(tenant).map_or(McpAccess::Off, |taken| taken.mcp)
    }

    /// Whether a tenant has taken a tool, or why not.
    pub(crate) fn taken(&self, tenant: &str, stocked: &Stocked) -> Result<(), Why> {
        let definition =
            self.tenants.get(tenant).and_then(|taken| taken.definitions.get(&stocked.tool.id));
        let is_discovered = stocked.origin == Origin::Discovered
            || definition.is_some_and(|said| said.source == Origin::Discovered);
        // Gone, or turned into something else: sessions that have known it do not keep it.
        if stocked.defined && !definition.is_some_and(|said| said.own) {
            return Err(Why::NeedsDefinition);
        }
        match definition.and_then(|said| said.enabled) {
            Some(true) => Ok(()),
            Some(false) => Err(Why::DisabledForTenant),
            None if is_discovered => Err(Why::NeedsDefinition),
            None => Ok(()),
        }
    }

    /// Whether the version at hand is one that the tenant has taken.
    pub(crate) fn takes_version(&self, tenant: &str, stocked: &Stocked) -> bool {
        let definitions = self.tenants.get(tenant).map(|taken| &taken.definitions);
        definitions
            .and_then(|all| all.get(&stocked.tool.id))
            .and_then(|said| said.version.as_ref())
            .is_none_or(|range| range.matches(&stocked.tool.contract.version))
    }

    /// Tier 1 without tier 2, for a tenant's administrators: what could be taken, and how.
    #[must_use]
    pub fn offers(&self, stock: &Stock, tenant: &str) -> Vec<Unavailable> {
        if !self.has(tenant) {
            return Vec::new();
        }
        let known = stock.tools().iter().filter(|one| one.is_known_to(tenant));
        known
            .filter_map(|one| {
                let why = self.taken(tenant, one).err()?;
                let enable = format!("add a definition of `{}` with `enabled = true`", one.tool.id);
                Some(Unavailable::new(&one.tool, why, enable))
            })
            .collect()
    }
}

/// The names that tenants may use, each in its own lists.
struct Names<'a> {
    common: Known<'a>,
    own: HashMap<&'a str, Known<'a>>,
}

impl<'a> Names<'a> {
    fn new(records: &'a Records, stocks: &Stocks<'a>, absent: &'a BTreeSet<String>) -> Self {
        let read = |stock: &'a Stock| {
            let ids = stock.tools().iter().map(Stocked::names);
            Known::from_ids(ids.chain(absent.iter().map(|id| (id.as_str(), id.as_str()))))
        };
        let tenants = records.tenants.iter().map(|one| one.id.as_str());
        let tenants = tenants.filter(|id| stocks.is_own(id));
        // Nobody has this name: it stands for all who bring nothing along.
        Self {
            common: read(stocks.of("")),
            own: tenants.map(|id| (id, read(stocks.of(id)))).collect(),
        }
    }

    fn of(&self, tenant: &str) -> &Known<'a> {
        self.own.get(tenant).unwrap_or(&self.common)
    }
}

/// Grants of each tenant.
/// What is on record of each tenant.
fn versions(records: &Records) -> HashMap<String, Digest> {
    let mut all: HashMap<&str, Vec<Value>> = HashMap::default();
    let said = records.tenants.iter().map(|one| (&one.id, json!(one)));
    let said = said.chain(records.agents.iter().map(|one| (&one.tenant, json!(one))));
    let said = said.chain(records.delegations.iter().map(|one| (&one.tenant, json!(one))));
    let said = said.chain(records.grants.iter().map(|one| (&one.tenant, json!(one))));
    said.for_each(|(tenant, one)| all.entry(tenant).or_default().push(one));
    all.into_iter().map(|(tenant, of)| (tenant.to_owned(), Digest::of_json(&json!(of)))).collect()
}

fn by_tenant(grants: &[Grant]) -> BTreeMap<&str, Vec<Grant>> {
    let mut all: BTreeMap<&str, Vec<Grant>> = BTreeMap::new();
    for grant in grants {
        all.entry(&grant.tenant).or_default().push(grant.clone());
    }
    all
}

struct Reader<'a> {
    stocks: &'a Stocks<'a>,
    names: &'a Names<'a>,
    file: &'a str,
    /// The limits that hold where a contract sets none.
    usual: &'a Limits,
    problems: Vec<Problem>,
    tenants: HashMap<String, Taken>,
}

impl Reader<'_> {
    fn wrong(&mut self, message: String) {
        self.problems.push(Problem::error(self.file, message));
    }

    /// One tool by its id or its short name.
    fn tool(&mut self, tenant: &str, place: &str, name: &str) -> Option<String> {
        let before = self.problems.len();
        let globs = self.globs(tenant, place, &[name.to_owned()]);
        if self.problems.len() > before {
            return None;
        }
        let exact = globs.iter().next().filter(|glob| glob.is_exact());
        let id = exact.map(|glob| glob.as_str().to_owned());
        if id.is_none() {
            self.wrong(format!("{place}: `{name}` stands for many tools; name one"));
        }
        id
    }

    fn tenant(&mut self, tenant: &Tenant) {
        let place = format!("tenant `{}`", tenant.id);
        if tenant.id.is_empty() || self.tenants.contains_key(&tenant.id) {
            return self.wrong(format!("{place} is there twice, or has no id"));
        }
        for who in tenant.administrators.iter().filter(|who| who.kind == PrincipalKind::Agent) {
            self.wrong(format!("{place}: `{who}` is an agent and cannot be an administrator"));
        }
        let mut definitions = HashMap::default();
        for definition in &tenant.definitions {
            let Some(id) = self.tool(&tenant.id, &place, &definition.tool) else { continue };
            let stocked = self.stocks.of(&tenant.id).get(&id);
            if let (Some(range), Some(stocked)) = (&definition.version, stocked)
                && !range.matches(&stocked.tool.contract.version)
            {
                let version = &stocked.tool.contract.version;
                let message = format!("{place}: `{id}` is here as {version}, outside of `{range}`");
                self.problems.push(Problem::warning(self.file, message));
            }
            let said = Said {
                version: definition.version.clone(),
                enabled: definition.enabled,
                source: definition.source,
                own: definition.is_own(),
            };
            if definitions.insert(id.clone(), said).is_some() {
                self.wrong(format!("{place}: `{id}` is defined twice"));
            }
        }
        let administrators = tenant.administrators.clone();
        let taken =
            Taken { administrators, definitions, agents: HashMap::default(), mcp: tenant.mcp };
        self.tenants.insert(tenant.id.clone(), taken);
    }

    fn agent(&mut self, agent: &Agent) {
        let place = format!("agent `{}`", agent.id);
        let tools = match &agent.tools {
            Some(tools) => self.globs(&agent.tenant, &place, tools),
            None => Globs::everything(),
        };
        let modes = agent.modes.iter();
        let modes =
            modes.map(|(mode, tools)| (*mode, self.globs(&agent.tenant, &place, tools))).collect();
        let mut activations = HashMap::default();
        for activation in &agent.activations {
            let Some(id) = self.tool(&agent.tenant, &place, &activation.tool) else { continue };
            self.activation(&place, &agent.tenant, &id, activation);
            let said = (activation.enabled, activation.overrides.clone());
            if activations.insert(id.clone(), said).is_some() {
                self.wrong(format!("{place}: `{id}` is activated twice"));
            }
        }
        self.connections(&place, agent);
        let connections = agent.connections.clone();
        let equipped = Equipped { tools, modes, connections, activations };
        let Some(taken) = self.tenants.get_mut(&agent.tenant) else {
            return self.wrong(format!("{place}: there is no tenant `{}`", agent.tenant));
        };
        if agent.id.is_empty() || taken.agents.insert(agent.id.clone(), equipped).is_some() {
            self.wrong(format!("{place} is there twice, or has no id"));
        }
    }

    /// A provider that no tool uses is one that is spelt otherwise there.
    fn connections(&mut self, place: &str, agent: &Agent) {
        let tools = self.stocks.of(&agent.tenant).tools();
        let used = tools.iter().filter_map(|one| one.tool.contract.connection.as_ref());
        let used: BTreeSet<&str> = used.map(|needed| needed.provider.as_str()).collect();
        let used: Vec<&str> = used.into_iter().collect();
        for (provider, id) in &agent.connections {
            if id.is_empty() {
                self.wrong(format!("{place}: the connection to `{provider}` has no id"));
            }
            if !used.contains(&provider.as_str()) {
                let message = format!(
                    "{place}: no tool uses a connection to `{provider}`; {}",
                    nearest::suggest(provider, &used)
                );
                self.problems.push(Problem::warning(self.file, message));
            }
        }
    }

    fn globs(&mut self, tenant: &str, place: &str, written: &[String]) -> Globs {
        self.names.of(tenant).globs(self.file, place, written, &mut self.problems)
    }

    /// Looser rules need an administrator's approval on record.
    fn activation(&mut self, place: &str, tenant: &str, id: &str, activation: &Activation) {
        if let Some(senseless) = activation.overrides.senseless() {
            self.wrong(format!("{place}: `{id}`: {senseless}"));
        }
        let Some(stocked) = self.stocks.of(tenant).get(id) else { return };
        let loosened = activation.overrides.loosened(&stocked.tool.contract, self.usual);
        let administrators = self.tenants.get(tenant).map(|taken| taken.administrators.as_slice());
        let is_approved = activation
            .approved_by
            .as_ref()
            .is_some_and(|who| administrators.unwrap_or_default().contains(who));
        if loosened.is_empty() || is_approved {
            return;
        }
        let message = format!(
            "{place}: the overrides of `{id}` are looser than its contract: {}",
            haft_core::nearest::list(&loosened)
        );
        let help = match &activation.approved_by {
            Some(who) => format!("`{who}` is not an administrator of the tenant"),
            None => "have an administrator of the tenant approve it: `approved_by`".into(),
        };
        self.problems.push(Problem::error(self.file, message).help(help));
    }
}
