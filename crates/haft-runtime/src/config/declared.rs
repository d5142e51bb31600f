//! What `haft.toml` says, and what it thereby keeps others from changing.

use haft_core::config::Kind;

use super::bodies::activation_id;
use crate::policy::Source;
use crate::toolbox::{Records, Stock};

/// Everything that is declared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Declared {
    /// Tenants, agents, delegations and grants.
    pub records: Records,
    /// The rules; none where a program brought a policy of its own.
    pub source: Option<Source>,
}

impl Declared {
    /// Whether a thing is declared, and so cannot be changed anywhere else. Common policy files have
    /// no ids, so that nothing stored can stand in their place; declared delegations and grants are
    /// counted, and what counts them is theirs alone.
    #[must_use]
    pub fn has(&self, stock: &Stock, kind: Kind, tenant: &str, id: &str) -> bool {
        let records = &self.records;
        let is = |name: &str, tool: &str| canonical(stock, name).as_deref().unwrap_or(name) == tool;
        match kind {
            Kind::Tenant => records.tenants.iter().any(|one| one.id == id),
            Kind::Agent => records.agents.iter().any(|one| one.tenant == tenant && one.id == id),
            Kind::Definition => {
                let theirs = records.tenants.iter().filter(|one| one.id == tenant);
                theirs.flat_map(|one| &one.definitions).any(|one| is(&one.tool, id))
            }
            Kind::Activation => {
                let theirs = records.agents.iter().filter(|one| one.tenant == tenant);
                let said = |tool: &str, agent: &str| {
                    let tool = canonical(stock, tool).unwrap_or_else(|| tool.to_owned());
                    activation_id(agent, &tool) == id
                };
                theirs
                    .flat_map(|agent| agent.activations.iter().map(move |one| (agent, one)))
                    .any(|(agent, one)| said(&one.tool, &agent.id))
            }
            Kind::Policy => records.policies.iter().any(|one| one.tenant == tenant && one.id == id),
            Kind::Delegation => {
                let theirs = records.delegations.iter().filter(|one| one.tenant == tenant);
                theirs.enumerate().any(|(place, _)| counted_id(place) == id)
            }
            Kind::Grant => {
                let theirs = records.grants.iter().filter(|one| one.tenant == tenant);
                theirs.enumerate().any(|(place, _)| counted_id(place) == id)
            }
            Kind::Key | Kind::Connection => false,
        }
    }
}

const COUNTED: &str = "declared-";

/// What a declared delegation or grant is called, which has no id of its own: by its place among
/// those of its tenant, from 0.
#[must_use]
pub fn counted_id(place: usize) -> String {
    format!("{COUNTED}{}", place.saturating_add(1))
}

/// Whether an id is of those. All are kept free, however many are declared now.
pub(crate) fn is_counted(id: &str) -> bool {
    id.starts_with(COUNTED)
}

/// Whether lists and rules may call a tool so.
pub(crate) fn is_listed(stock: &Stock, name: &str) -> bool {
    let mut called = stock.tools().iter().filter(|one| one.names().1 == name);
    stock.get(name).is_some() || matches!((called.next(), called.next()), (Some(_), None))
}

/// The id of a tool that is named by its id or by a short name of its own.
pub(crate) fn canonical(stock: &Stock, name: &str) -> Option<String> {
    if stock.get(name).is_some() {
        return Some(name.to_owned());
    }
    let mut own = stock.tools().iter().filter(|one| one.tool.contract.tool_id == name);
    match (own.next(), own.next()) {
        (Some(one), None) => Some(one.tool.id.clone()),
        (Some(_), Some(_)) | (None, _) => None,
    }
}
