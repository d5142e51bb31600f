//! What agents asked for and did not have.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use haft_runtime::runtime::ToolState;
use haft_runtime::toolbox::Suggestion;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use crate::api::need;
use crate::api::paging::Paging;
use crate::body::{self, Params};
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
use crate::shapes;
use crate::who::{Role, Who};

/// A tool that an agent asked for.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Wish {
    /// The agent.
    pub(crate) agent: String,
    /// The tool's id, or a name that stands for none.
    pub(crate) tool: String,
    /// How often it was refused.
    pub(crate) calls: u64,
    /// Whether there is such a tool, so that the wish can be granted.
    pub(crate) known: bool,
    /// Why it was refused, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    why: Option<Value>,
    /// What would enable it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enable: Option<String>,
}

impl Wish {
    /// Why it was refused, in a word.
    pub(crate) fn reason(&self) -> &str {
        self.why.as_ref().and_then(Value::as_str).unwrap_or_default()
    }
}

/// Which of them.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Part {
    /// After this place in the list: `Link` says the address of the next page.
    pub(crate) after: Option<String>,
    /// At most so many, up to 1,000; 100 where absent.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl Part {
    /// As many as there are, after this place.
    pub(crate) fn after(after: Option<String>) -> Self {
        Self { after, limit: None }
    }
}

/// Tools that the tenant's agents asked for and did not have, the most wanted first. Counted since
/// the start of the server. While one is asked for again it moves up, so that it may be on two pages
/// or on none.
#[utoipa::path(get, path = "/v1/admin/suggestions", tag = "administration",
    operation_id = "list_suggestions", params(Part),
    responses(
        (status = 200, description = "Some of them.", body = Vec<Wish>,
            headers(("Link" = Option<String>, description = "The next page, as `rel=\"next\"`."))),
        (status = 400, description = "Not a place in the list.", body = Problem,
            content_type = "application/problem+json"),
        NoKey, NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(part): Params<Part>,
    uri: Uri,
) -> Result<Response, Problem> {
    let page = Paging::new(part.limit)?;
    let found = wishes(&door, &who, &part, page.wanted())?;
    Ok(page.respond(&uri, "after", found, |(place, _)| place.clone(), |(_, wish)| json!(wish)))
}

/// Some of the tenant's wishes, each with its place in the list. What an agent has got in some other
/// way, or had all along in another mode, it does not wish for.
pub(crate) fn wishes(
    door: &Door,
    who: &Who,
    part: &Part,
    most: usize,
) -> Result<Vec<(String, Wish)>, Problem> {
    need(who, Role::Administrator)?;
    let mut all = by_tool(door, who);
    if let Some(place) = &part.after {
        let after = parse(place).ok_or_else(|| Problem::malformed("`after` is no such place"))?;
        all.retain(|one| order(one) > order(&after));
    }
    let wishes = all.into_iter().filter_map(|one| Some((place(&one), wish(door, who, one)?)));
    Ok(wishes.take(most).collect())
}

/// What was asked for, by the ids of tools: a short name and the whole one are one wish.
fn by_tool(door: &Door, who: &Who) -> Vec<Suggestion> {
    let mut counts: HashMap<(String, String), u64> = HashMap::new();
    for one in door.runtime.suggestions().of(&who.tenant) {
        let tool = door.runtime.canonical_for(&who.tenant, &one.tool).unwrap_or(one.tool);
        let calls = counts.entry((one.agent, tool)).or_default();
        *calls = calls.saturating_add(one.calls);
    }
    let wish = |((agent, tool), calls)| Suggestion { agent, tool, calls };
    let mut all: Vec<Suggestion> = counts.into_iter().map(wish).collect();
    all.sort_by(|one, other| order(one).cmp(&order(other)));
    all
}

/// What the list is in order of.
fn order(one: &Suggestion) -> (Reverse<u64>, &str, &str) {
    (Reverse(one.calls), &one.tool, &one.agent)
}

/// Neither calls nor the names of tools have a colon.
fn place(one: &Suggestion) -> String {
    format!("{}:{}:{}", one.calls, one.tool, one.agent)
}

fn parse(place: &str) -> Option<Suggestion> {
    let mut parts = place.splitn(3, ':');
    let calls = parts.next()?.parse().ok()?;
    let (tool, agent) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    Some(Suggestion { agent, tool, calls })
}

/// A wish as it stands now; none where it is fulfilled.
fn wish(door: &Door, who: &Who, one: Suggestion) -> Option<Wish> {
    let known = door.runtime.canonical_for(&who.tenant, &one.tool);
    let state = known.as_ref().map(|tool| door.runtime.tool_state(&who.tenant, &one.agent, tool));
    if state.as_ref().is_some_and(|state| state.available) {
        return None;
    }
    Some(Wish {
        known: known.is_some(),
        tool: known.unwrap_or(one.tool),
        why: state.as_ref().and_then(|state| state.why).map(|why| json!(why.as_str())),
        enable: state.and_then(|state| state.enable),
        agent: one.agent,
        calls: one.calls,
    })
}

/// Which wish.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Which {
    /// The agent.
    agent: String,
    /// The tool.
    tool: String,
}

/// Grants a wish: the tool is turned on for the agent. Says how it stands afterwards; where it
/// still lacks something, the wish stays.
#[utoipa::path(post, path = "/v1/admin/suggestions/accept", tag = "administration",
    operation_id = "accept_suggestion", request_body = Which,
    responses((status = 200, description = "How the tool stands now.", body = shapes::ToolState),
        NoKey, NoRole,
        (status = 404, description = "No such agent or tool.", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json"),))]
pub(crate) async fn accept(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Administrator)?;
    let which: Which = body::shape(body::json(&headers, body, &door.limits).await?)?;
    Ok(Json(json!(granted(&door, &who, &which.agent, &which.tool).await?)))
}

/// Turns a tool on that was asked for.
pub(crate) async fn granted(
    door: &Door,
    who: &Who,
    agent: &str,
    wanted: &str,
) -> Result<ToolState, Problem> {
    need(who, Role::Administrator)?;
    let runtime = &door.runtime;
    if !runtime.has_agent(&who.tenant, agent) {
        return Err(Problem::missing("agent"));
    }
    let tool = runtime.canonical_for(&who.tenant, wanted);
    let tool = tool.ok_or_else(|| Problem::missing("tool"))?;
    let state = runtime.set_tool(&who.principal, &who.tenant, agent, &tool, true).await?;
    if state.available {
        // Under whatever name it was asked for.
        let all = runtime.suggestions().of(&who.tenant);
        let is_it = |name: &&str| runtime.canonical_for(&who.tenant, name).as_ref() == Some(&tool);
        let names: Vec<&str> = all.iter().map(|one| one.tool.as_str()).filter(is_it).collect();
        runtime.suggestions().settle(&who.tenant, agent, &names);
    }
    Ok(state)
}
