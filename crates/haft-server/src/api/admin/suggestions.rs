//! What agents asked for and did not have.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use haft_runtime::runtime::ToolState;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::need;
use crate::body;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, Problem};
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

/// Tools that the tenant's agents asked for and did not have, the most wanted first. Counted since
/// the start of the server.
#[utoipa::path(get, path = "/v1/admin/suggestions", tag = "administration",
    operation_id = "list_suggestions",
    responses((status = 200, description = "At most a thousand.", body = Vec<Wish>),
        NoKey, NoRole))]
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Result<Json<Vec<Wish>>, Problem> {
    Ok(Json(wishes(&door, &who)?))
}

/// The tenant's wishes.
pub(crate) fn wishes(door: &Door, who: &Who) -> Result<Vec<Wish>, Problem> {
    need(who, Role::Administrator)?;
    let wishes = door.runtime.suggestions().of(&who.tenant).into_iter().map(|one| {
        let known = door.runtime.canonical_for(&who.tenant, &one.tool);
        let state =
            known.as_ref().map(|tool| door.runtime.tool_state(&who.tenant, &one.agent, tool));
        Wish {
            known: known.is_some(),
            tool: known.unwrap_or(one.tool),
            why: state.as_ref().and_then(|state| state.why).map(|why| json!(why.as_str())),
            enable: state.and_then(|state| state.enable),
            agent: one.agent,
            calls: one.calls,
        }
    });
    Ok(wishes.collect())
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
    responses((status = 200, description = "How the tool stands now.", body = Object),
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
        runtime.suggestions().settle(&who.tenant, agent, &[wanted, &tool]);
    }
    Ok(state)
}
