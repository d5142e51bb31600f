//! Tier 1: every tool that is known, of all registries.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::contract::Gateway;
use haft_core::names::{Namespace, SEPARATOR, canonical_id};
use haft_core::registry::{Registry, Tool};
use haft_core::{Digest, nearest};
use serde_json::json;

use super::records::Origin;
use crate::policy::Problem;

/// A registry, and whose it is.
#[derive(Clone, Debug)]
pub struct Shelf<'a> {
    /// The registry.
    pub registry: &'a Registry,
    /// Where its tools came from.
    pub origin: Origin,
    /// The one tenant that may know of it; all when absent.
    pub tenant: Option<Arc<str>>,
}

impl<'a> Shelf<'a> {
    /// A toolset for all tenants.
    #[must_use]
    pub fn own(registry: &'a Registry) -> Self {
        Self { registry, origin: Origin::Own, tenant: None }
    }

    /// What was found elsewhere.
    #[must_use]
    pub fn discovered(registry: &'a Registry) -> Self {
        Self { registry, origin: Origin::Discovered, tenant: None }
    }

    /// For one tenant only.
    #[must_use]
    pub fn of(mut self, tenant: &str) -> Self {
        self.tenant = Some(tenant.into());
        self
    }
}

/// A tool, and where it came from.
#[derive(Clone, Debug)]
pub struct Stocked {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Where it came from.
    pub origin: Origin,
    /// The one tenant that may know of it; all when absent.
    pub tenant: Option<Arc<str>>,
    /// Whether that tenant has defined it, and so brought it along.
    pub defined: bool,
}

impl Stocked {
    /// What lists and rules may call it: its id, and its short name unless a tenant brought it
    /// along. So no list changes its meaning when a toolset gains a tool of that short name.
    pub(crate) fn names(&self) -> (&str, &str) {
        let id = self.tool.id.as_str();
        (id, if self.defined { id } else { &self.tool.contract.tool_id })
    }

    /// Whether a tenant may know of it.
    #[must_use]
    pub fn is_known_to(&self, tenant: &str) -> bool {
        self.tenant.as_deref().is_none_or(|owner| owner == tenant)
    }
}

/// Every tool that is known, sorted by id.
#[derive(Clone, Debug)]
pub struct Stock {
    tools: Vec<Stocked>,
    version: Digest,
}

impl Stock {
    /// Puts registries together.
    ///
    /// # Errors
    ///
    /// Ids that are taken twice, that look like another, or that are none.
    pub fn new(shelves: &[Shelf<'_>]) -> Result<Self, Vec<Problem>> {
        let mut tools: Vec<Stocked> = shelves.iter().flat_map(stocked).collect();
        tools.sort_by(|one, other| one.tool.id.cmp(&other.tool.id));
        let mut problems = Vec::new();
        let mut alike: HashMap<String, &str> = HashMap::new();
        for stocked in &tools {
            let id = stocked.tool.id.as_str();
            if !is_canonical(&stocked.tool) {
                let message = format!("`{}` is not the id of a tool", id.escape_debug());
                problems.push(Problem::error("registry", message));
            }
            if let Some(other) = alike.insert(looks(id), id) {
                let message = format!("{} cannot be told apart", nearest::list(&[other, id]));
                problems.push(Problem::error("registry", message).help("rename one of them"));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let all: Vec<_> = tools
            .iter()
            .map(|one| json!([one.tool.id, one.tool.digest, one.origin, one.tenant.as_deref()]))
            .collect();
        Ok(Self { tools, version: Digest::of_json(&json!(all)) })
    }

    /// These tools, and beside them those that one tenant brings along. Whoever calls this has seen
    /// to it that none [cannot be told apart](Stock::alike) from another.
    pub(crate) fn beside(&self, own: &Registry, tenant: &str) -> Self {
        let shelf = Shelf::own(own).of(tenant);
        let mut tools = self.tools.clone();
        tools.extend(stocked(&shelf).map(|one| Stocked { defined: true, ..one }));
        tools.sort_by(|one, other| one.tool.id.cmp(&other.tool.id));
        let version = Digest::of_json(&json!([self.version, tenant, own.digest]));
        Self { tools, version }
    }

    /// The tool here that an id cannot be told apart from.
    pub(crate) fn alike(&self, id: &str) -> Option<&Stocked> {
        let looks = looks(id);
        self.tools.iter().find(|one| looks_like(&one.tool.id, &looks))
    }

    /// All tools, in stable order.
    #[must_use]
    pub fn tools(&self) -> &[Stocked] {
        &self.tools
    }

    /// One tool, by canonical id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Stocked> {
        let at = self.tools.binary_search_by(|one| one.tool.id.as_str().cmp(id)).ok()?;
        self.tools.get(at)
    }

    /// Changes with every tool.
    #[must_use]
    pub fn version(&self) -> &Digest {
        &self.version
    }
}

/// How an id looks to somebody in a hurry.
fn looks(id: &str) -> String {
    id.to_ascii_lowercase().replace('-', "_")
}

fn looks_like(id: &str, looks: &str) -> bool {
    let plain = |byte: u8| if byte == b'-' { b'_' } else { byte.to_ascii_lowercase() };
    id.len() == looks.len() && id.bytes().map(plain).eq(looks.bytes())
}

/// What names are read against: the tools that are there for everybody, and for tenants that bring
/// tools along those as well.
#[derive(Clone, Debug)]
pub struct Stocks<'a> {
    common: &'a Stock,
    own: HashMap<&'a str, &'a Stock>,
}

impl<'a> Stocks<'a> {
    /// The same for everybody.
    #[must_use]
    pub fn common(common: &'a Stock) -> Self {
        Self { common, own: HashMap::new() }
    }

    /// With what one tenant has instead.
    pub(crate) fn with(mut self, tenant: &'a str, stock: &'a Stock) -> Self {
        self.own.insert(tenant, stock);
        self
    }

    /// What a tenant's names are read against.
    #[must_use]
    pub fn of(&self, tenant: &str) -> &'a Stock {
        self.own.get(tenant).copied().unwrap_or(self.common)
    }

    /// Whether a tenant brings tools along.
    pub(crate) fn is_own(&self, tenant: &str) -> bool {
        self.own.contains_key(tenant)
    }
}

fn stocked<'a>(shelf: &'a Shelf<'_>) -> impl Iterator<Item = Stocked> + 'a {
    shelf.registry.tools.iter().map(|tool| {
        let upstream = matches!(tool.contract.gateway, Some(Gateway::Mcp { .. }));
        // An upstream server's tool is discovered, whatever registry it stands in.
        let origin = if upstream { Origin::Discovered } else { shelf.origin };
        let (tool, tenant) = (Arc::new(tool.clone()), shelf.tenant.clone());
        Stocked { tool, origin, tenant, defined: false }
    })
}

/// `<namespace>__<toolId>`, and nothing that only looks like it.
fn is_canonical(tool: &Tool) -> bool {
    let own = &tool.contract.tool_id;
    tool.id
        .strip_suffix(own.as_str())
        .and_then(|rest| rest.strip_suffix(SEPARATOR))
        .and_then(|namespace| Namespace::parse(namespace).ok())
        .is_some_and(|namespace| canonical_id(&namespace, own).is_ok_and(|id| id == tool.id))
}
