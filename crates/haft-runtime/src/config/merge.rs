//! Putting together what is declared and what is stored.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use haft_core::Registry;
use haft_core::config::{Entry, Kind};
use haft_core::contract::Effect;

use super::bodies::{self, Body, read};
use super::declared::Declared;
use crate::policy::{self, Problem, Text};
use crate::toolbox::{Activation, Agent, Definition, Records, Stocks, Tenant};

/// Everything together.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    /// Tenants, agents, delegations and grants.
    pub(crate) records: Records,
    /// Rules of tenants that have some of their own, with where each stands.
    pub(crate) rules: BTreeMap<String, Vec<(String, bodies::PolicyText)>>,
    /// Tools that stored things speak of and that are not there now.
    pub(crate) absent: BTreeSet<String>,
    /// Tenants of which something stored cannot be read.
    pub(crate) broken: BTreeMap<String, String>,
    /// Things that belong to something that is not there.
    pub(crate) strays: BTreeSet<(Kind, String)>,
    pub(crate) problems: Vec<Problem>,
}

/// Puts declared things and entries together. Only entries of one tenant, where one is named.
pub(crate) fn merge(
    declared: &Declared,
    entries: &[Entry],
    stocks: &Stocks<'_>,
    only: Option<&str>,
) -> Merged {
    let mut records = declared.records.clone();
    if let Some(only) = only {
        records.tenants.retain(|one| one.id == only);
        records.agents.retain(|one| one.tenant == only);
        records.delegations.retain(|one| one.tenant == only);
        records.grants.retain(|one| one.tenant == only);
        records.policies.retain(|one| one.tenant == only);
    }
    let mut merging = Merging {
        tenants: records.tenants.iter().map(|one| one.id.clone()).enumerate().map(flip).collect(),
        agents: records.agents.iter().map(name).enumerate().map(flip).collect(),
        merged: Merged { records, ..Merged::default() },
        stocks,
    };
    merging.declared();
    let meant = |one: &&Entry| only.is_none_or(|only| one.tenant == only);
    let counts =
        |one: &&Entry| !declared.has(stocks.of(&one.tenant), one.kind, &one.tenant, &one.id);
    // Tenants before agents before what is said about them: the order of the kinds.
    for entry in entries.iter().filter(meant).filter(counts) {
        merging.take(entry);
    }
    merging.merged
}

fn name(agent: &Agent) -> (String, String) {
    (agent.tenant.clone(), agent.id.clone())
}

fn flip<A, B>((a, b): (A, B)) -> (B, A) {
    (b, a)
}

struct Merging<'a> {
    stocks: &'a Stocks<'a>,
    merged: Merged,
    tenants: HashMap<String, usize>,
    agents: HashMap<(String, String), usize>,
}

impl Merging<'_> {
    /// A declared tool that did not compile is missed by nobody but itself.
    fn declared(&mut self) {
        let tenants = std::mem::take(&mut self.merged.records.tenants);
        for tenant in &tenants {
            let own = tenant.definitions.iter().filter(|one| one.is_own());
            own.for_each(|one| self.note_absent(&tenant.id, std::slice::from_ref(&one.tool)));
        }
        self.merged.records.tenants = tenants;
        for one in &self.merged.records.policies {
            let rules = self.merged.rules.entry(one.tenant.clone()).or_default();
            rules.push((format!("haft.toml:{}", one.id), one.text.clone()));
        }
    }

    fn take(&mut self, entry: &Entry) {
        let taken = match entry.kind {
            Kind::Tenant => self.with(entry, Self::tenant),
            Kind::Agent => self.with(entry, Self::agent),
            Kind::Definition => self.with(entry, Self::definition),
            Kind::Activation => self.with(entry, Self::activation),
            Kind::Delegation => self.with(entry, Self::delegation),
            Kind::Policy => self.with(entry, Self::policy),
            Kind::Grant => self.with(entry, Self::grant),
            Kind::Key | Kind::Connection => Ok(()),
        };
        if let Err(problem) = taken {
            // What cannot be read might be what forbids something.
            self.merged.broken.insert(entry.tenant.clone(), problem.message.clone());
            self.merged.problems.push(problem);
        }
    }

    fn with<T: Body>(
        &mut self,
        entry: &Entry,
        take: impl FnOnce(&mut Self, &Entry, T),
    ) -> Result<(), Problem> {
        if entry.kind != Kind::Tenant && !self.tenants.contains_key(&entry.tenant) {
            self.stray(entry, "its tenant");
            return Ok(());
        }
        take(self, entry, read::<T>(entry)?);
        Ok(())
    }

    /// A thing that belongs to nothing allows nothing and forbids nothing.
    fn stray(&mut self, entry: &Entry, what: &str) {
        self.merged.strays.insert((entry.kind, entry.id.clone()));
        let message = format!(
            "stored {} `{}` of `{}`: {what} is not there",
            entry.kind.as_str(),
            entry.id,
            entry.tenant
        );
        self.merged.problems.push(Problem::warning("store", message));
    }

    fn tenant(&mut self, entry: &Entry, said: bodies::Tenant) {
        let tenants = &mut self.merged.records.tenants;
        self.tenants.insert(entry.id.clone(), tenants.len());
        tenants.push(Tenant {
            id: entry.id.clone(),
            administrators: said.administrators,
            mcp: said.mcp,
            tokens: said.tokens,
            definitions: Vec::new(),
        });
    }

    fn agent(&mut self, entry: &Entry, said: bodies::Agent) {
        for tools in said.tools.iter().chain(said.modes.values()) {
            self.note_absent(&entry.tenant, tools);
        }
        let agents = &mut self.merged.records.agents;
        self.agents.insert((entry.tenant.clone(), entry.id.clone()), agents.len());
        agents.push(Agent {
            id: entry.id.clone(),
            tenant: entry.tenant.clone(),
            description: said.description,
            model: said.model,
            tools: said.tools,
            modes: said.modes,
            connections: said.connections,
            activations: Vec::new(),
        });
    }

    fn definition(&mut self, entry: &Entry, said: bodies::Definition) {
        self.note_absent(&entry.tenant, std::slice::from_ref(&entry.id));
        let place = self.tenants.get(&entry.tenant);
        let tenant = place.and_then(|at| self.merged.records.tenants.get_mut(*at));
        let Some(tenant) = tenant else { return };
        tenant.definitions.push(Definition {
            version: said.version,
            enabled: said.enabled,
            source: said.source,
            // The contract is in the stock; what counts here is that there is one.
            own: said.contract.is_some(),
            ..Definition::of(&entry.id)
        });
    }

    fn activation(&mut self, entry: &Entry, said: bodies::Activation) {
        // A tool's id has no slash.
        let (agent, tool) = entry.id.rsplit_once('/').unwrap_or(("", &entry.id));
        let place = self.agents.get(&(entry.tenant.clone(), agent.to_owned())).copied();
        let Some(agent) = place.and_then(|at| self.merged.records.agents.get_mut(at)) else {
            return self.stray(entry, "its agent");
        };
        agent.activations.push(Activation {
            tool: tool.to_owned(),
            enabled: said.enabled,
            overrides: said.overrides,
            approved_by: said.approved_by.clone(),
        });
        self.note_absent(&entry.tenant, &[tool.to_owned()]);
        // Whoever approved was an administrator when they did: the door asked for the role.
        let place = self.tenants.get(&entry.tenant);
        let tenant = place.and_then(|at| self.merged.records.tenants.get_mut(*at));
        if let (Some(tenant), Some(who)) = (tenant, said.approved_by)
            && !tenant.administrators.contains(&who)
        {
            tenant.administrators.push(who);
        }
    }

    fn delegation(&mut self, entry: &Entry, said: bodies::Delegation) {
        let tools = self.present(&entry.tenant, said.tools);
        if tools.is_empty() {
            return self.stray(entry, "every tool of it");
        }
        self.merged.records.delegations.push(policy::Delegation {
            tenant: entry.tenant.clone(),
            actor: said.actor,
            subject: said.subject,
            tools,
            connections: said.connections,
            until: said.until,
        });
    }

    fn grant(&mut self, entry: &Entry, said: bodies::Grant) {
        let tools = self.present(&entry.tenant, said.tools);
        if tools.is_empty() {
            return self.stray(entry, "every tool of it");
        }
        self.merged.records.grants.push(policy::Grant {
            connection: said.connection,
            provider: said.provider,
            tenant: entry.tenant.clone(),
            principals: said.principals,
            tools,
        });
    }

    fn policy(&mut self, entry: &Entry, mut said: bodies::PolicyText) {
        let tenant = entry.tenant.as_str();
        said.allow = self.present(tenant, said.allow);
        said.deny = self.present(tenant, said.deny);
        said.approve = self.present(tenant, said.approve);
        let rules = self.merged.rules.entry(entry.tenant.clone()).or_default();
        rules.push((format!("store:{}", entry.id), said));
    }

    fn is_absent(&self, tenant: &str, name: &str) -> bool {
        let pattern = name.contains('*');
        !pattern
            && Effect::ALL.iter().all(|effect| effect.as_str() != name)
            && !super::declared::is_listed(self.stocks.of(tenant), name)
    }

    fn note_absent(&mut self, tenant: &str, tools: &[String]) {
        let absent = tools.iter().filter(|name| self.is_absent(tenant, name));
        let absent: Vec<_> = absent.cloned().collect();
        self.merged.absent.extend(absent);
    }

    /// The tools that are there, and patterns. One that is not there needs no rule.
    fn present(&mut self, tenant: &str, mut tools: Vec<String>) -> Vec<String> {
        self.note_absent(tenant, &tools);
        tools.retain(|name| !self.is_absent(tenant, name));
        tools
    }
}

/// What is wrong with the rules of a tenant, each in its place: what they list is read together with the common
/// lists, and stands in rules of its own.
pub(crate) fn placed(
    found: Vec<Problem>,
    own: &[(String, bodies::PolicyText)],
    registries: &[&Registry],
    elsewhere: &[String],
) -> Vec<Problem> {
    let mut all = Vec::new();
    for (file, said) in own {
        let lists = policy::Rules {
            allow: said.allow.clone(),
            deny: said.deny.clone(),
            approve: said.approve.clone(),
            ..policy::Rules::default()
        };
        all.extend(policy::problems_of_lists(&lists, file, registries, elsewhere));
    }
    let is_placed = |one: &Problem| all.iter().any(|own| own.message == one.message);
    let rest: Vec<_> = found.into_iter().filter(|one| !is_placed(one)).collect();
    all.extend(rest);
    all
}

/// The rules of a tenant: those that are declared, and its own.
pub(crate) fn source_of(
    common: &policy::Source,
    records: &Records,
    tenant: &str,
    own: &[(String, bodies::PolicyText)],
) -> policy::Source {
    let mut source = common.clone();
    for (file, said) in own {
        source.rules.allow.extend(said.allow.iter().cloned());
        source.rules.deny.extend(said.deny.iter().cloned());
        source.rules.approve.extend(said.approve.iter().cloned());
        if !said.cedar.trim().is_empty() {
            source.cedar.push(Text { file: file.clone(), text: said.cedar.clone() });
        }
    }
    let theirs = |other: &String| other == tenant;
    let delegations = records.delegations.iter().filter(|one| theirs(&one.tenant));
    source.delegations = delegations.cloned().collect();
    source.grants = records.grants.iter().filter(|one| theirs(&one.tenant)).cloned().collect();
    source
}
