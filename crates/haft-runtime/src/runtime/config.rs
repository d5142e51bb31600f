//! What is configured, put in force and changed while calls go on.

mod brought;
mod drafts;
mod granted;
mod judge;
mod tools;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use haft_core::config::{Change, Edition, Entry, Kind, Snapshot};
use haft_core::port::{Connections, Decide, StoreError};
use haft_core::{Digest, Registry};
use tokio::sync::{Mutex, MutexGuard};

use drafts::{Drafts, Turn, Turns};
pub use tools::ToolState;

use super::{Inner, Rulebook, Runtime, Shelves};
use crate::config::{
    ChangeError, Changed, Configured, Declared, Merged, Workshop, merge, placed, source_of,
};
use crate::policy::{ByTenant, Grant, Policy, Problem};
use crate::toolbox::{Directory, Records};

/// What is declared, what is configured, and whose turn it is to change it.
pub(crate) struct Office {
    declared: Declared,
    configured: ArcSwap<Configured>,
    /// Where connections are kept, and what was granted there when it was last read.
    connections: Option<Arc<dyn Connections>>,
    granted: ArcSwap<Vec<Grant>>,
    /// Where the tools that tenants bring along are made.
    workshop: Workshop,
    /// Other tools have come since things were put together.
    stale: AtomicBool,
    /// Whose turn it is among those of one tenant.
    turns: Turns,
    /// One change at a time: each is judged on what the one before it left.
    desk: Mutex<Desk>,
}

/// What lies ready for whoever changes something.
#[derive(Default)]
pub(crate) struct Desk {
    /// Policies that were compiled before, by tenant, with what they were made from.
    made: HashMap<String, (Digest, Arc<dyn Decide>)>,
    /// Those of the change that is made now, compiled before it was its turn.
    drafts: Drafts,
}

impl Office {
    pub(crate) fn new(
        declared: Declared,
        connections: Option<Arc<dyn Connections>>,
        workshop: Workshop,
    ) -> Self {
        let records = declared.records.clone();
        let configured = Configured::new(Snapshot::default(), records, Vec::new());
        let configured = ArcSwap::from_pointee(configured);
        // Whoever brings tools or rules along has a policy of their own, which the first refresh makes.
        let brings = declared.records.tenants.iter().flat_map(|one| &one.definitions);
        let apart = brings.into_iter().any(crate::toolbox::Definition::is_own)
            || !declared.records.policies.is_empty();
        let stale = AtomicBool::new(apart);
        let (granted, turns, desk) = (ArcSwap::default(), Turns::default(), Mutex::default());
        Self { declared, configured, connections, granted, workshop, stale, turns, desk }
    }

    pub(crate) fn connections(&self) -> Option<&Arc<dyn Connections>> {
        self.connections.as_ref()
    }
}

impl Inner {
    /// Whether a key of the store is still what it was when somebody came in with it.
    pub(crate) fn has_key(&self, key: &Edition) -> bool {
        self.office.configured.load().has_key(key)
    }
}

impl Runtime {
    /// What `haft.toml` declares.
    #[must_use]
    pub fn declared(&self) -> &Declared {
        &self.inner.office.declared
    }

    /// Whether a thing is declared, and so read-only.
    #[must_use]
    pub fn is_declared(&self, kind: Kind, tenant: &str, id: &str) -> bool {
        let shelves = self.inner.shelves.load();
        self.declared().has(shelves.stock(tenant), kind, tenant, id)
    }

    /// How many changes of the store are in force.
    #[must_use]
    pub fn config_changes(&self) -> u64 {
        self.inner.office.configured.load().snapshot.changes
    }

    /// What is configured now: declared and stored, as far as it was read.
    #[must_use]
    pub fn configured(&self) -> Arc<Configured> {
        self.inner.office.configured.load_full()
    }

    /// Reads the store where it has changed since it was last read, and puts what it holds in
    /// force for new calls. To be called at the start, and from time to time where other processes
    /// write to the same store. Returns whether anything was new.
    ///
    /// # Errors
    ///
    /// The store cannot be read; what was in force stays in force.
    pub async fn refresh(&self) -> Result<bool, StoreError> {
        let mut desk = self.inner.office.desk.lock().await;
        let changes = self.inner.store.changes().await?;
        let stale = self.inner.office.stale.load(Ordering::Acquire);
        let granted = self.inner.office.newly_granted().await?;
        if changes == self.config_changes() && !stale && granted.is_none() {
            return Ok(false);
        }
        let snapshot = self.inner.store.snapshot().await?;
        if let Some(granted) = granted {
            self.inner.office.granted.store(Arc::new(granted));
        }
        self.prepare(&snapshot.entries).await;
        let replaced = self.replaced(&snapshot).await;
        self.put_in_force(&mut desk, snapshot, &replaced);
        Ok(true)
    }

    /// Changes one thing: judged against everything else, written on what was read, and in force
    /// for new calls when this returns.
    ///
    /// # Errors
    ///
    /// Why nothing was changed.
    pub async fn change(&self, change: Change) -> Result<Changed, ChangeError> {
        let turn = Arc::new(self.inner.office.turns.of(&change.tenant).await);
        let drafts = self.rehearse(&change, &turn).await?;
        let mut desk = self.inner.office.desk.lock().await;
        desk.drafts = drafts;
        let changed = self.change_at(&mut desk, change).await;
        desk.drafts = Drafts::default();
        changed
    }

    /// Judges a change before it is its turn, and aside: rules are read against every tool, which takes
    /// its time, and nobody else need wait for that. What counts is how it is judged when it is its turn;
    /// the policies are compiled by then, unless something has changed that is for all.
    async fn rehearse(&self, change: &Change, turn: &Arc<Turn>) -> Result<Drafts, ChangeError> {
        if !judge::is_rule(change.kind) || self.declared().source.is_none() {
            return Ok(Drafts::default());
        }
        let snapshot = self.inner.store.snapshot().await?;
        self.try_out(change).await;
        let (runtime, change, turn) = (self.clone(), change.clone(), turn.clone());
        let rehearsed = tokio::task::spawn_blocking(move || {
            // Whoever hangs up does not get another turn before this is done.
            let _turn = turn;
            let mut drafts = Drafts::default();
            // Whatever is wrong with it is found again.
            let _ = runtime.judge(&snapshot.entries, &change, &mut drafts);
            drafts
        });
        Ok(rehearsed.await.unwrap_or_default())
    }

    async fn change_at(
        &self,
        desk: &mut MutexGuard<'_, Desk>,
        change: Change,
    ) -> Result<Changed, ChangeError> {
        let snapshot = self.inner.store.snapshot().await?;
        self.try_out(&change).await;
        let mut warnings = self.judge(&snapshot.entries, &change, &mut desk.drafts)?;
        if matches!(change.kind, Kind::Agent | Kind::Definition) && change.to.is_none() {
            self.forget_activations(&snapshot.entries, &change).await?;
        }
        let stays = change.to.is_some();
        let entry = self.inner.store.change(change).await?;
        let snapshot = self.inner.store.snapshot().await?;
        let replaced = self.replaced(&snapshot).await;
        self.put_in_force(desk, snapshot, &replaced);
        warnings.extend(stays.then(|| self.unused(&entry)).flatten());
        Ok(Changed { entry, warnings })
    }

    /// An agent that comes back under the same name starts without what was said of the old one, and
    /// so does a tool that the tenant brings along: it may be another one.
    async fn forget_activations(
        &self,
        entries: &[Entry],
        gone: &Change,
    ) -> Result<(), ChangeError> {
        if gone.kind == Kind::Definition && !brought::is_own(entries, gone) {
            return Ok(());
        }
        let its = |one: &&Entry| {
            one.kind == Kind::Activation
                && one.tenant == gone.tenant
                && one.id.rsplit_once('/').is_some_and(|(agent, tool)| {
                    gone.id == if gone.kind == Kind::Definition { tool } else { agent }
                })
        };
        for entry in entries.iter().filter(its) {
            let forgotten = Change {
                kind: Kind::Activation,
                tenant: entry.tenant.clone(),
                id: entry.id.clone(),
                from: entry.version,
                to: None,
                by: gone.by.clone(),
            };
            self.inner.store.change(forgotten).await?;
        }
        Ok(())
    }

    /// Other tools are there: what is said about tools is read against them.
    pub(super) fn fit_anew(&self) {
        self.inner.office.stale.store(true, Ordering::Release);
        // Whoever changes something at this moment leaves it to the next refresh.
        if let Ok(mut desk) = self.inner.office.desk.try_lock() {
            let snapshot = self.configured().snapshot.clone();
            self.put_in_force(&mut desk, snapshot, &[]);
        }
    }

    /// Puts together what is declared and what is stored, and swaps it in as one. Of tenants that were
    /// `replaced` by others of their name nothing is kept.
    fn put_in_force(&self, desk: &mut Desk, snapshot: Snapshot, replaced: &[String]) {
        let office = &self.inner.office;
        office.stale.store(false, Ordering::Release);
        let brought = self.bring(&snapshot.entries);
        let shelves = self.inner.shelves.load_full();
        let stocks = shelves.stocks();
        let mut merged = merge(&office.declared, &snapshot.entries, &stocks, None);
        merged.problems.extend(brought);
        granted::add(&mut merged, &office.granted.load(), &stocks);
        let directory = self.directory(&shelves, &mut merged);
        let old = self.inner.rules.load_full();
        let decide = match &office.declared.source {
            None => old.decide.clone(),
            Some(_) => self.policies(desk, &shelves, &mut merged),
        };
        let directory = directory.map_or_else(|| old.directory.clone(), Arc::new);
        let rules = old.rules.clone();
        self.inner.rules.store(Arc::new(Rulebook::new(decide, rules, directory)));
        self.inner.forget_catalogs();
        let Merged { records, problems, .. } = merged;
        self.forget_removed(&records, replaced);
        office.configured.store(Arc::new(Configured::new(snapshot, records, problems)));
    }

    /// The directory; of a tenant whose things do not fit together only what is declared, and its
    /// calls are refused by its policy.
    fn directory(&self, shelves: &Shelves, merged: &mut Merged) -> Option<Directory> {
        let stocks = shelves.stocks();
        let absent = merged.absent.clone();
        let usual = self.inner.settings.limits();
        let load =
            |records: &Records| Directory::load_with(records, &stocks, "store", &absent, &usual);
        let problems = match load(&merged.records) {
            Ok(directory) => {
                merged.problems.extend(directory.warnings().iter().cloned());
                return Some(directory);
            }
            Err(problems) => problems,
        };
        merged.problems.extend(problems);
        let declared = &self.inner.office.declared.records;
        let tenants: Vec<String> =
            merged.records.tenants.iter().map(|one| one.id.clone()).collect();
        for tenant in tenants {
            if let Err(problems) = load(&of_tenant(&merged.records, &tenant)) {
                let why = problems.first().map(ToString::to_string).unwrap_or_default();
                merged.broken.insert(tenant.clone(), why);
                replace(&mut merged.records, &tenant, of_tenant(declared, &tenant));
            }
        }
        load(&merged.records).ok()
    }

    /// The common policy, and one for each tenant that has something of its own.
    fn policies(&self, desk: &mut Desk, shelves: &Shelves, merged: &mut Merged) -> Arc<dyn Decide> {
        let office = &self.inner.office;
        let Some(common) = &office.declared.source else { return deny("there is no policy") };
        let elsewhere = shelves.elsewhere();
        let Desk { made, drafts } = desk;
        let rules = &merged.rules;
        let of = |tenant: &str| rules.get(tenant).map(Vec::as_slice).unwrap_or_default();
        let mut compile = |name: &str, source: &crate::policy::Source, problems: &mut Vec<_>| {
            let registries = registries(shelves, name);
            // For whoever brings nothing along, what others bring is a name at most.
            let others = names_in(source, &elsewhere);
            let made_from = drafts::made_from(&registries, &others, source);
            if let Some((from, policy)) = made.get(name)
                && *from == made_from
            {
                return policy.clone();
            }
            let policy: Arc<dyn Decide> = match drafts.load(source, &registries, &others) {
                Ok(policy) => policy,
                Err(found) => {
                    let why = format!("the policy of `{name}` is broken");
                    problems.extend(placed(found, of(name), &registries, &others));
                    deny(&why)
                }
            };
            made.insert(name.to_owned(), (made_from, policy.clone()));
            policy
        };
        let mut own = HashMap::new();
        let mut problems: Vec<Problem> = Vec::new();
        let is_declared = &office.declared.records;
        for tenant in merged.records.tenants.iter().map(|one| &one.id) {
            if let Some(why) = merged.broken.get(tenant) {
                own.insert(tenant.clone(), deny(why));
                continue;
            }
            let source = source_of(common, &merged.records, tenant, of(tenant));
            let plain = source_of(common, is_declared, tenant, &[]);
            if source != plain || shelves.brought(tenant).is_some() {
                own.insert(tenant.clone(), compile(tenant, &source, &mut problems));
            }
        }
        let common = compile("", common, &mut problems);
        // What is wrong with the common rules is wrong with those of every tenant that has its own.
        for problem in problems {
            if !merged.problems.contains(&problem) {
                merged.problems.push(problem);
            }
        }
        Arc::new(ByTenant::new(common, own))
    }
}

/// What a tenant's rules are read against: every registry that is loaded, and what it brings along.
fn registries<'a>(shelves: &'a Shelves, tenant: &str) -> Vec<&'a Registry> {
    let mut all = loaded(shelves);
    all.extend(shelves.brought(tenant));
    all
}

/// Every registry that is loaded, always in the same order.
fn loaded(shelves: &Shelves) -> Vec<&Registry> {
    let mut loaded: Vec<_> = shelves.by_version.values().map(|one| &*one.registry).collect();
    loaded.sort_by(|one, other| one.version.cmp(&other.version));
    loaded
}

/// Which of some tools the lists of a policy name.
fn names_in(source: &crate::policy::Source, tools: &[String]) -> Vec<String> {
    let rules = &source.rules;
    let recall = rules.recall.iter().flat_map(|rule| &rule.tools);
    let lists = rules.allow.iter().chain(&rules.deny).chain(&rules.approve).chain(recall);
    let given = source.delegations.iter().flat_map(|one| &one.tools);
    let given = given.chain(source.grants.iter().flat_map(|one| &one.tools));
    let named: BTreeSet<&String> = lists.chain(given).collect();
    tools.iter().filter(|tool| named.contains(tool)).cloned().collect()
}

fn deny(why: &str) -> Arc<dyn Decide> {
    Arc::new(Policy::deny_all(why))
}

/// What is on record of one tenant.
fn of_tenant(records: &Records, tenant: &str) -> Records {
    let mut own = records.clone();
    own.tenants.retain(|one| one.id == tenant);
    own.agents.retain(|one| one.tenant == tenant);
    own.delegations.retain(|one| one.tenant == tenant);
    own.grants.retain(|one| one.tenant == tenant);
    own.policies.retain(|one| one.tenant == tenant);
    own
}

/// Other records of one tenant. It stays known, so that it can be told that it is broken.
fn replace(records: &mut Records, tenant: &str, other: Records) {
    for one in records.tenants.iter_mut().filter(|one| one.id == tenant) {
        let declared = other.tenants.iter().find(|other| other.id == tenant);
        *one = declared.cloned().unwrap_or_else(|| crate::toolbox::Tenant {
            id: tenant.to_owned(),
            ..Default::default()
        });
    }
    records.agents.retain(|one| one.tenant != tenant);
    records.delegations.retain(|one| one.tenant != tenant);
    records.grants.retain(|one| one.tenant != tenant);
    records.agents.extend(other.agents);
    records.delegations.extend(other.delegations);
    records.grants.extend(other.grants);
}
