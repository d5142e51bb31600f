//! The registries that are loaded, and what tenants have beside them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use haft_core::Registry;

use crate::shelf::{Shelf, version_beside, version_of_registry};
use crate::toolbox::{Stock, Stocks};

/// So many sets of a tenant's own tools are kept for sessions that began with them.
const KEPT: usize = 16;

/// The registries, and which one new sessions and single calls use.
#[derive(Clone)]
pub(crate) struct Shelves {
    pub(super) current: Arc<Shelf>,
    pub(super) by_version: HashMap<Arc<str>, Arc<Shelf>>,
    /// Of tenants that bring tools along, or did.
    own: foldhash::HashMap<Arc<str>, Sets>,
}

/// What one tenant brings along.
#[derive(Clone, Default)]
struct Sets {
    /// What new sessions and single calls use; none where nothing is left.
    current: Option<Arc<Shelf>>,
    /// Oldest first, the current one among them.
    kept: VecDeque<Arc<Shelf>>,
}

impl Shelves {
    pub(super) fn new(current: Arc<Shelf>) -> Self {
        let by_version = HashMap::from([(current.version.clone(), current.clone())]);
        Self { current, by_version, own: foldhash::HashMap::default() }
    }

    /// With another registry, which is used from now on.
    pub(super) fn with(&self, shelf: Arc<Shelf>) -> Self {
        let mut new = self.clone();
        new.by_version.insert(shelf.version.clone(), shelf.clone());
        new.current = shelf;
        new
    }

    /// With another registry beside the current one, for sessions that are pinned to it; of a tenant
    /// that brings tools along with those beside it.
    pub(super) fn and(&self, shelf: &Arc<Shelf>) -> Self {
        let mut new = self.clone();
        new.by_version.insert(shelf.version.clone(), shelf.clone());
        for (tenant, sets) in &mut new.own {
            if let Some(own) = sets.current.as_ref().and_then(|current| current.own()) {
                sets.kept.push_front(Arc::new(Shelf::beside(shelf, own.clone(), tenant)));
            }
        }
        new
    }

    /// What new sessions and single calls of a tenant use.
    pub(super) fn of(&self, tenant: &str) -> &Arc<Shelf> {
        // Nobody brings anything along, as a rule: then nothing is looked up.
        if self.own.is_empty() {
            return &self.current;
        }
        let own = self.own.get(tenant).and_then(|sets| sets.current.as_ref());
        own.unwrap_or(&self.current)
    }

    /// The shelf of a version, as one tenant has it.
    pub(super) fn find(&self, tenant: &str, version: &str) -> Option<&Arc<Shelf>> {
        if let Some(shelf) = self.by_version.get(version) {
            return Some(shelf);
        }
        let mut kept = self.own.get(tenant)?.kept.iter().rev();
        kept.find(|shelf| *shelf.version == *version)
    }

    /// The registry that a version speaks of, whatever a tenant has beside it.
    pub(super) fn registry(&self, version: &str) -> Option<Arc<Registry>> {
        let shelf = self.by_version.get(version_of_registry(version))?;
        Some(shelf.registry.clone())
    }

    /// What a tenant's names are read against.
    pub(super) fn stock(&self, tenant: &str) -> &Stock {
        &self.of(tenant).stock
    }

    /// The same for all tenants.
    pub(super) fn stocks(&self) -> Stocks<'_> {
        let own = self.own.iter().filter_map(|(id, sets)| Some((id, sets.current.as_ref()?)));
        own.fold(Stocks::common(&self.current.stock), |all, (tenant, shelf)| {
            all.with(tenant, &shelf.stock)
        })
    }

    /// What a tenant brings along now.
    pub(super) fn brought(&self, tenant: &str) -> Option<&Registry> {
        self.own.get(tenant)?.current.as_ref()?.own()
    }

    /// The ids of everything that tenants bring along.
    pub(super) fn elsewhere(&self) -> Vec<String> {
        let all = self.own.keys().filter_map(|tenant| self.brought(tenant));
        all.flat_map(|own| &own.tools).map(|tool| tool.id.clone()).collect()
    }

    /// Puts on what tenants bring along now. What they had before stays for who began with it.
    pub(super) fn bring(&mut self, all: impl Iterator<Item = (String, Registry)>) {
        for sets in self.own.values_mut() {
            sets.current = None;
        }
        for (tenant, tools) in all.filter(|(_, tools)| !tools.tools.is_empty()) {
            let sets = self.own.entry(tenant.as_str().into()).or_default();
            sets.put(&self.current, tools, &tenant);
        }
    }
}

impl Sets {
    fn put(&mut self, common: &Arc<Shelf>, tools: Registry, tenant: &str) {
        let version = version_beside(&common.version, &tools);
        let known = self.kept.iter().position(|one| one.version == version);
        let known = known.and_then(|at| self.kept.remove(at));
        // The same version on another copy of the registry would keep that copy for ever.
        let shelf = known
            .filter(|shelf| shelf.stands_on(common))
            .unwrap_or_else(|| Arc::new(Shelf::beside(common, tools, tenant)));
        if self.kept.len() >= KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(shelf.clone());
        self.current = Some(shelf);
    }
}
