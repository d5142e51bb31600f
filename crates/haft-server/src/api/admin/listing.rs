//! Lists of what is configured, a page at a time.

use haft_core::config::Kind;
use haft_runtime::config::counted_id;
use haft_runtime::toolbox::Agent;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::Thing;
use crate::api::need;
use crate::api::paging::most;
use crate::door::Door;
use crate::problem::Problem;
use crate::who::{Role, Who};

/// Which part of a list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Page {
    /// Only those after this id: `next` of the page before.
    pub(crate) after: Option<String>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<usize>,
}

/// A part of a list.
#[derive(Serialize)]
pub(crate) struct Listing {
    /// By id.
    pub(crate) items: Vec<Thing>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// The things of one kind.
pub(crate) async fn list(
    door: &Door,
    who: &Who,
    kind: Kind,
    page: &Page,
) -> Result<Listing, Problem> {
    need(who, Role::Administrator)?;
    let declared = declared(door, kind, &who.tenant);
    let entries = door.runtime.store().entries(kind, Some(&who.tenant)).await;
    let entries = entries.map_err(crate::api::confirmations::unreadable)?;
    // What is declared counts, whatever is stored under the same name.
    let shadowed = |id: &String| declared.iter().any(|(one, _)| one == id);
    let stored = entries.iter().filter(|one| !shadowed(&one.id)).map(Thing::stored);
    let mut items: Vec<Thing> = stored.collect();
    items.extend(declared.into_iter().map(|(id, value)| Thing::declared(id, value)));
    cut(items, page)
}

/// One page of things.
pub(crate) fn cut(mut items: Vec<Thing>, page: &Page) -> Result<Listing, Problem> {
    let most = most(page.limit)?;
    items.sort_by(|one, other| one.id.cmp(&other.id));
    if let Some(after) = &page.after {
        items.retain(|one| one.id > *after);
    }
    let more = items.len() > most;
    items.truncate(most);
    let next = items.last().filter(|_| more).map(|one| one.id.clone());
    Ok(Listing { items, next })
}

/// What `haft.toml` declares of one kind for a tenant, by id.
pub(crate) fn declared(door: &Door, kind: Kind, tenant: &str) -> Vec<(String, Value)> {
    let records = &door.runtime.declared().records;
    let canonical =
        |name: &str| door.runtime.canonical_for(tenant, name).unwrap_or_else(|| name.to_owned());
    let agents = records.agents.iter().filter(|one| one.tenant == tenant);
    match kind {
        Kind::Tenant => {
            let own = records.tenants.iter().filter(|one| one.id == tenant);
            own.map(|one| (one.id.clone(), without(json!(one), &["id", "definitions"]))).collect()
        }
        Kind::Agent => agents.map(|one| (one.id.clone(), agent(one))).collect(),
        Kind::Definition => {
            let own = records.tenants.iter().filter(|one| one.id == tenant);
            own.flat_map(|one| &one.definitions)
                .map(|one| (canonical(&one.tool), without(json!(one), &["tool"])))
                .collect()
        }
        Kind::Activation => agents
            .flat_map(|agent| agent.activations.iter().map(move |one| (agent, one)))
            .map(|(agent, one)| {
                let id = haft_runtime::config::activation_id(&agent.id, &canonical(&one.tool));
                (id, without(json!(one), &["tool"]))
            })
            .collect(),
        Kind::Delegation => {
            let own = records.delegations.iter().filter(|one| one.tenant == tenant);
            own.enumerate()
                .map(|(at, one)| (counted_id(at), without(json!(one), &["tenant"])))
                .collect()
        }
        Kind::Policy => {
            let own = records.policies.iter().filter(|one| one.tenant == tenant);
            let own = own.map(|one| (one.id.clone(), json!(one.text)));
            own.chain(common(door, tenant)).collect()
        }
        Kind::Grant => {
            let own = records.grants.iter().filter(|one| one.tenant == tenant);
            own.enumerate()
                .map(|(at, one)| (counted_id(at), without(json!(one), &["tenant"])))
                .collect()
        }
        // Those have lists of their own.
        Kind::Key | Kind::Connection => Vec::new(),
    }
}

/// The id of the common rules. Nothing that is stored can be called so.
const COMMON: &str = "[policy]";

/// The common rules, for those who run the server: they hold for every tenant and may speak of others.
fn common(door: &Door, tenant: &str) -> Option<(String, Value)> {
    let source = door.runtime.declared().source.as_ref().filter(|_| door.is_home_of(tenant))?;
    let cedar: Vec<&str> = source.cedar.iter().map(|one| one.text.as_str()).collect();
    let rules = &source.rules;
    let value = json!({
        "cedar": cedar.join("\n"), "allow": rules.allow, "deny": rules.deny, "approve": rules.approve,
    });
    Some((COMMON.to_owned(), value))
}

fn agent(one: &Agent) -> Value {
    without(json!(one), &["id", "tenant", "activations"])
}

/// An object without what the entry says itself.
fn without(mut value: Value, names: &[&str]) -> Value {
    if let Some(object) = value.as_object_mut() {
        names.iter().for_each(|name| drop(object.shift_remove(*name)));
    }
    value
}
