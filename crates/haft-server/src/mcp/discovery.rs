//! What tools there are: for a tenant, for an agent, and what an agent could have. The addresses and
//! shapes are those of the Toolbox specification, under `haft://` and under its own `focal://`.

use haft_core::Caller;
use haft_core::call::PrincipalKind;
use haft_core::contract::{Confirmation, Mode};
use haft_core::registry::Tool;
use haft_runtime::toolbox::{EffectiveTool, Unavailable};
use serde_json::{Value, json};

use super::Seat;
use super::extra::Resource;
use crate::door::Door;

/// Ours, and the specification's.
const SCHEMES: [&str; 2] = ["haft://", "focal://"];
pub(super) const JSON: &str = "application/json";

/// What can be asked.
enum Asked<'u> {
    OfTenant(&'u str),
    Enabled(&'u str),
    Unavailable(&'u str),
}

fn read_uri(uri: &str) -> Option<Asked<'_>> {
    let rest = SCHEMES.iter().find_map(|scheme| uri.strip_prefix(scheme))?;
    let mut parts = rest.strip_prefix("tools/")?.split('/');
    let asked = (parts.next()?, parts.next()?, parts.next()?, parts.next());
    match asked {
        ("tenant", tenant, "available", None) => Some(Asked::OfTenant(tenant)),
        ("agent", agent, "enabled", None) => Some(Asked::Enabled(agent)),
        ("agent", agent, "unavailable", None) => Some(Asked::Unavailable(agent)),
        _ => None,
    }
}

/// What a seat may look up by itself.
pub(super) fn list(seat: &Seat) -> Vec<Resource> {
    let (tenant, agent) = (&seat.caller.tenant, &seat.caller.agent);
    [
        (format!("haft://tools/tenant/{tenant}/available"), "Tools of the tenant", AVAILABLE),
        (format!("haft://tools/agent/{agent}/enabled"), "Tools of the agent", ENABLED),
        (format!("haft://tools/agent/{agent}/unavailable"), "Tools it could have", UNAVAILABLE),
    ]
    .map(|(uri, name, description)| resource(uri, name, description))
    .into()
}

pub(super) fn templates() -> Vec<Resource> {
    let of = |scheme: &str| {
        [
            (format!("{scheme}tools/tenant/{{tenant}}/available"), "Tools of a tenant", AVAILABLE),
            (format!("{scheme}tools/agent/{{agent}}/enabled"), "Tools of an agent", ENABLED),
            (
                format!("{scheme}tools/agent/{{agent}}/unavailable"),
                "Tools an agent could have",
                UNAVAILABLE,
            ),
        ]
    };
    let all = SCHEMES.iter().flat_map(|scheme| of(scheme));
    all.map(|(uri, name, description)| resource(uri, name, description)).collect()
}

const AVAILABLE: &str = "every tool that the tenant has, with its parameters and what it does";
const ENABLED: &str = "the tools that the agent may use now";
const UNAVAILABLE: &str = "the tools that the agent may not use, why, and what would enable them";

fn resource(uri: String, name: &str, description: &str) -> Resource {
    let (name, description) = (name.to_owned(), description.to_owned());
    Resource { uri, name, description, mime_type: JSON.to_owned() }
}

/// Looks up; none where there is no such thing for this seat.
pub(super) fn read(door: &Door, seat: &Seat, uri: &str) -> Option<Value> {
    let (asked, caller) = sought(door, seat, uri)?;
    let catalog = door.runtime.catalog(&caller, Mode::Text);
    let tools: Vec<Value> = match asked {
        Asked::OfTenant(_) => {
            let mut all: Vec<(String, Value)> =
                catalog.list().map(|one| (one.tool.id.clone(), of_tenant(one))).collect();
            let rest = catalog.unavailable().into_iter();
            all.extend(rest.map(|one| (one.tool.id.clone(), of_contract(&one.tool))));
            all.sort_by(|a, b| a.0.cmp(&b.0));
            all.into_iter().map(|(_, shown)| shown).collect()
        }
        Asked::Enabled(_) => catalog.list().map(|one| enabled(&one.tool)).collect(),
        Asked::Unavailable(_) => catalog.unavailable().iter().map(unavailable).collect(),
    };
    Some(json!({ "tools": tools }))
}

/// Whether there is something to look up for this seat, without looking it up.
pub(super) fn is_there(door: &Door, seat: &Seat, uri: &str) -> bool {
    sought(door, seat, uri).is_some()
}

/// What is asked, and in whose name it is looked up. The tenant is the credential's own: any other is
/// as good as none.
fn sought<'u>(door: &Door, seat: &Seat, uri: &'u str) -> Option<(Asked<'u>, Caller)> {
    let asked = read_uri(uri)?;
    let caller = match &asked {
        Asked::OfTenant(tenant) => (*tenant == &*seat.caller.tenant).then(|| seat.caller.clone()),
        Asked::Enabled(agent) | Asked::Unavailable(agent) => caller(door, seat, agent),
    };
    Some((asked, caller?))
}

/// What fits one of our templates, of which there is so much already: what this seat may look up.
pub(super) fn complete(
    door: &Door,
    seat: &Seat,
    uri: &str,
    name: &str,
    begun: &str,
) -> Vec<String> {
    let slot = format!("{{{name}}}");
    let is_ours = templates().iter().any(|one| one.uri == uri && one.uri.contains(&slot));
    let tenant = &*seat.caller.tenant;
    let mut all = match name {
        "tenant" if is_ours => vec![tenant.to_owned()],
        "agent" if is_ours => door.runtime.agents(tenant),
        _ => Vec::new(),
    };
    all.retain(|id| id.starts_with(begun) && (name == "tenant" || seat.may_look_up(id)));
    all
}

/// Whose tools are looked up: those of an agent of the same tenant.
fn caller(door: &Door, seat: &Seat, agent: &str) -> Option<Caller> {
    let tenant = &seat.caller.tenant;
    let known = seat.may_look_up(agent) && door.runtime.has_agent(tenant, agent);
    // Whoever looks after agents sees what those have, and not what they might call themselves.
    let looks_after = seat.agents.is_none() && seat.caller.actor.kind != PrincipalKind::Agent;
    known.then(|| match looks_after {
        true => Caller::agent(tenant, agent),
        false => Caller { agent: agent.into(), ..seat.caller.clone() },
    })
}

fn categories(tool: &Tool) -> Vec<&str> {
    let category = tool.contract.category.as_str();
    let tags = tool.contract.tags.iter().map(String::as_str);
    std::iter::once(category).chain(tags.filter(|tag| *tag != category)).collect()
}

fn of_tenant(one: &EffectiveTool) -> Value {
    described(&one.tool, &one.requires_confirmation)
}

fn of_contract(tool: &Tool) -> Value {
    described(tool, &tool.contract.requires_confirmation)
}

fn described(tool: &Tool, confirmation: &Confirmation) -> Value {
    let contract = &tool.contract;
    let gateway = contract.gateway.as_ref().map(|gateway| json!(gateway));
    let kind = gateway.as_ref().and_then(|gateway| gateway.get("kind")).and_then(Value::as_str);
    let asks = match confirmation {
        Confirmation::Always(always) => *always,
        Confirmation::When { .. } => true,
    };
    json!({
        "name": tool.id,
        "description": contract.description,
        "categories": categories(tool),
        // What runs here has no gateway, whatever it is made of: the same word as that of the metrics.
        "gateway": kind.unwrap_or("internal"),
        "requires_confirmation": asks,
        "side_effect_policy": contract.side_effect_policy,
        "parameter_schema": contract.parameters,
    })
}

fn enabled(tool: &Tool) -> Value {
    json!({
        "name": tool.id,
        "description": tool.contract.description,
        "categories": categories(tool),
        "parameter_schema": tool.contract.parameters,
    })
}

fn unavailable(one: &Unavailable) -> Value {
    json!({
        "name": one.tool.id,
        "description": one.tool.contract.description,
        "categories": categories(&one.tool),
        "why_unavailable": one.why.as_str(),
        "why_in_words": one.why.in_words(),
        "what_would_enable_it": one.enable,
    })
}
