//! What is said about single tools of an agent: on or off, and where its rules differ.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use haft_core::config::Kind;
use haft_runtime::config::{Activation, ChangeError, activation_id, read};
use haft_runtime::runtime::ToolState;
use haft_runtime::toolbox::Overrides;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::listing::cut;
use super::{Listing, Page, Thing};
use crate::api::need;
use crate::body::{self, Params};
use crate::door::Door;
use crate::problem::{Absent, NoKey, NoRole, Problem, Unchanged};
use crate::shapes::{self, ActivationKept, Configurations, Configured};
use crate::who::{Role, Who};

/// What is said about one tool of one agent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ActivationSettings)]
pub(crate) struct Said {
    /// Whether the agent may use it.
    enabled: bool,
    /// Where the agent's rules differ from the contract: `requires_confirmation`,
    /// `allowed_modes`, `latency_budget_ms`, `max_runtime_ms`, `max_result_bytes`, `rate`,
    /// `arguments`. What is left out is as the contract says.
    #[serde(default)]
    #[schema(value_type = Option<shapes::Overrides>)]
    overrides: Overrides,
    /// Takes it on oneself that the overrides are looser than the contract. It goes on record.
    #[serde(default)]
    approve: bool,
}

/// What is said about an agent's tools.
#[utoipa::path(get, path = "/v1/admin/agents/{agent}/activations", tag = "administration",
    operation_id = "list_activations",
    params(("agent" = String, Path, description = "The agent."), Page),
    responses((status = 200, description = "By tool.", body = Configurations<ActivationKept>),
        NoKey, NoRole, Absent))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(agent): Path<String>,
    Params(page): Params<Page>,
) -> Result<Json<Listing>, Problem> {
    known(&door, &who, &agent)?;
    let all = Page { after: None, limit: None };
    let mut after = all;
    let mut items = Vec::new();
    loop {
        let listing = super::list(&door, &who, Kind::Activation, &after).await?;
        items.extend(listing.items.into_iter().filter_map(|one| of_agent(one, &agent)));
        match listing.next {
            Some(next) => after = Page { after: Some(next), limit: Some(1_000) },
            None => return cut(items, &page).map(Json),
        }
    }
}

/// An activation of this agent, under its tool's id.
fn of_agent(thing: Thing, agent: &str) -> Option<Thing> {
    let (its, _) = thing.id.rsplit_once('/')?;
    (its == agent).then(|| by_tool(thing))
}

/// An activation under its tool's id, which is the last part of its address.
fn by_tool(mut thing: Thing) -> Thing {
    if let Some((_, tool)) = thing.id.rsplit_once('/') {
        thing.id = tool.to_owned();
    }
    thing
}

/// What is said about one tool of an agent.
#[utoipa::path(get, path = "/v1/admin/agents/{agent}/activations/{tool}", tag = "administration",
    operation_id = "show_activation",
    params(("agent" = String, Path, description = "The agent."),
        ("tool" = String, Path, description = "The tool's id.")),
    responses((status = 200, description = "With its version as `ETag`.", body = Configured<ActivationKept>),
        NoKey, NoRole, Absent))]
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, tool)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let (id, _) = named(&door, &who, &agent, &tool)?;
    let thing = super::shown(&door, &who, Kind::Activation, &id).await?;
    Ok(by_tool(thing).respond(StatusCode::OK))
}

/// Says something about one tool of an agent, in force for new calls at once.
#[utoipa::path(put, path = "/v1/admin/agents/{agent}/activations/{tool}", tag = "administration",
    operation_id = "put_activation",
    params(("agent" = String, Path, description = "The agent."),
        ("tool" = String, Path, description = "The tool's id."),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read."),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only a new one.")),
    request_body = Said,
    responses((status = 200, description = "Changed.", body = Configured<ActivationKept>),
        (status = 201, description = "New.", body = Configured<ActivationKept>),
        NoKey, NoRole, Absent, Unchanged))]
pub(crate) async fn put(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, tool)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (id, _) = named(&door, &who, &agent, &tool)?;
    let said: Said = body::shape(body::json(&headers, body, &door.limits).await?)?;
    // Who approved the same overrides before has still approved them.
    let before = super::stored(&door, &who, Kind::Activation, &id).await?;
    let before = before.and_then(|entry| read::<Activation>(&entry).ok());
    let kept = before.filter(|one| one.overrides == said.overrides).and_then(|one| one.approved_by);
    let approved_by = if said.approve { Some(who.principal.clone()) } else { kept };
    let to = json!(Activation { enabled: said.enabled, overrides: said.overrides, approved_by });
    let (status, thing) = super::written(&door, &who, Kind::Activation, &id, &headers, to).await?;
    Ok(by_tool(thing).respond(status))
}

/// Takes back what was said about one tool of an agent.
#[utoipa::path(delete, path = "/v1/admin/agents/{agent}/activations/{tool}",
    tag = "administration", operation_id = "remove_activation",
    params(("agent" = String, Path, description = "The agent."),
        ("tool" = String, Path, description = "The tool's id."),
        ("If-Match" = Option<String>, Header, description = "The `ETag` that was read.")),
    responses((status = 204, description = "It is gone."), NoKey, NoRole, Absent, Unchanged))]
pub(crate) async fn remove(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, tool)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    let (id, _) = named(&door, &who, &agent, &tool)?;
    super::remove(&door, &who, Kind::Activation, &id, &headers).await
}

/// On or off.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Switch {
    /// Whether the agent may use the tool.
    enabled: bool,
}

/// Turns a tool on or off for an agent, whatever else is said about it. Says how the tool stands
/// afterwards: one that is on may still lack something.
#[utoipa::path(post, path = "/v1/admin/agents/{agent}/tools/{tool}", tag = "administration",
    operation_id = "switch_tool",
    params(("agent" = String, Path, description = "The agent."),
        ("tool" = String, Path, description = "The tool's id.")),
    request_body = Switch,
    responses((status = 200, description = "How it stands now.", body = shapes::ToolState),
        NoKey, NoRole,
        (status = 404, description = "No such agent or tool.", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json"),))]
pub(crate) async fn switch(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, tool)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    known(&door, &who, &agent)?;
    let said: Switch = body::shape(body::json(&headers, body, &door.limits).await?)?;
    let state = turned(&door, &who, &agent, &tool, said.enabled).await?;
    Ok(Json::<Value>(json!(state)).into_response())
}

/// Turns a tool on or off for an agent.
pub(crate) async fn turned(
    door: &Door,
    who: &Who,
    agent: &str,
    tool: &str,
    enabled: bool,
) -> Result<ToolState, Problem> {
    let (id, tool) = named(door, who, agent, tool)?;
    let set = door.runtime.set_tool(&who.principal, &who.tenant, agent, &tool, enabled).await;
    let mut state = match set {
        // One that the agent lacks for another reason does not stand as if it were turned off.
        Err(ChangeError::Stale) if is_said(door, who, &id, enabled).await? => {
            door.runtime.tool_state(&who.tenant, agent, &tool)
        }
        set => set?,
    };
    state.enabled = enabled;
    Ok(state)
}

/// Whether that is what is stored.
async fn is_said(door: &Door, who: &Who, id: &str, enabled: bool) -> Result<bool, Problem> {
    let entry = super::stored(door, who, Kind::Activation, id).await?;
    let said = entry.and_then(|entry| read::<Activation>(&entry).ok());
    Ok(said.is_some_and(|said| said.enabled == enabled))
}

fn known(door: &Door, who: &Who, agent: &str) -> Result<(), Problem> {
    need(who, Role::Administrator)?;
    match door.runtime.has_agent(&who.tenant, agent) {
        true => Ok(()),
        false => Err(Problem::missing("agent")),
    }
}

/// The id of the activation, and the tool's.
fn named(door: &Door, who: &Who, agent: &str, tool: &str) -> Result<(String, String), Problem> {
    known(door, who, agent)?;
    let tool = door.runtime.canonical_for(&who.tenant, tool);
    let tool = tool.ok_or_else(|| Problem::missing("tool"))?;
    Ok((activation_id(agent, &tool), tool))
}
