//! What agents asked for and did not have.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
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
    agent: String,
    /// The tool's id, or a name that stands for none.
    tool: String,
    /// How often it was refused.
    calls: u64,
    /// Whether there is such a tool, so that the wish can be granted.
    known: bool,
    /// Why it was refused, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    why: Option<Value>,
    /// What would enable it.
    #[serde(skip_serializing_if = "Option::is_none")]
    enable: Option<String>,
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
    need(&who, Role::Administrator)?;
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
    Ok(Json(wishes.collect()))
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
        (status = 400, description = "Not a body that is read here.", body = Problem,
            content_type = "application/problem+json"),
        NoKey, NoRole,
        (status = 404, description = "No such agent or tool.", body = Problem,
            content_type = "application/problem+json"),
        (status = 409, description = "Declared in `haft.toml`.", body = Problem,
            content_type = "application/problem+json"),
        (status = 413, description = "Too large.", body = Problem,
            content_type = "application/problem+json"),
        (status = 415, description = "Not JSON.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn accept(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    need(&who, Role::Administrator)?;
    let which: Which = body::shape(body::json(&headers, body, &door.limits).await?)?;
    let runtime = &door.runtime;
    if !runtime.has_agent(&who.tenant, &which.agent) {
        return Err(Problem::missing("agent"));
    }
    let tool = runtime.canonical_for(&who.tenant, &which.tool);
    let tool = tool.ok_or_else(|| Problem::missing("tool"))?;
    let state = runtime.set_tool(&who.principal, &who.tenant, &which.agent, &tool, true).await?;
    if state.available {
        runtime.suggestions().settle(&who.tenant, &which.agent, &[&which.tool, &tool]);
    }
    Ok(Json(json!(state)))
}
