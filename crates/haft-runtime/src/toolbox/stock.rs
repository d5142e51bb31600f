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
}

impl Stocked {
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
    by_id: HashMap<String, usize>,
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
            if let Some(other) = alike.insert(id.to_ascii_lowercase().replace('-', "_"), id) {
                let message = format!("{} cannot be told apart", nearest::list(&[other, id]));
                problems.push(Problem::error("registry", message).help("rename one of them"));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let by_id = tools.iter().enumerate().map(|(at, one)| (one.tool.id.clone(), at)).collect();
        let all: Vec<_> = tools
            .iter()
            .map(|one| json!([one.tool.id, one.tool.digest, one.origin, one.tenant.as_deref()]))
            .collect();
        Ok(Self { tools, by_id, version: Digest::of_json(&json!(all)) })
    }

    /// All tools, in stable order.
    #[must_use]
    pub fn tools(&self) -> &[Stocked] {
        &self.tools
    }

    /// One tool, by canonical id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Stocked> {
        self.by_id.get(id).and_then(|at| self.tools.get(*at))
    }

    /// Changes with every tool.
    #[must_use]
    pub fn version(&self) -> &Digest {
        &self.version
    }
}

fn stocked<'a>(shelf: &'a Shelf<'_>) -> impl Iterator<Item = Stocked> + 'a {
    shelf.registry.tools.iter().map(|tool| {
        let upstream = matches!(tool.contract.gateway, Some(Gateway::Mcp { .. }));
        // An upstream server's tool is discovered, whatever registry it stands in.
        let origin = if upstream { Origin::Discovered } else { shelf.origin };
        Stocked { tool: Arc::new(tool.clone()), origin, tenant: shelf.tenant.clone() }
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
