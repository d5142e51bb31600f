//! What an agent may use, in any dialect, and what it may not and why.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_core::Digest;
use haft_core::contract::Mode;
use haft_runtime::toolbox::{Catalog, EffectiveTool};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::{best, document, fitting, found, shown};
use crate::api::{ModeName, caller, looked_at};
use crate::body::Params;
use crate::door::Door;
use crate::problem::{NoKey, NoSession, Problem};
use crate::shapes;
use crate::shown::target;
use crate::who::{Role, Who};

/// In which words.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// `openai`, `openai-responses`, `openai-realtime`, `anthropic`, `gemini`, `gemini-live`,
    /// `mcp` or `adm`: exactly what goes into the provider's request. Our own words where absent.
    format: Option<String>,
    /// How model and user talk: `text` (as when absent) or `voice`.
    #[serde(default)]
    #[param(inline)]
    mode: ModeName,
    /// Have the provider hold the model to the schemas.
    #[serde(default)]
    strict: bool,
    /// Only tools that fit these words, the best first, at most 50.
    q: Option<String>,
    /// The tools of this session: its mode, and the registry that it is pinned to.
    session: Option<String>,
}

/// The tools of an agent, in a stable order.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tools {
    /// Changes whenever the list might.
    version: String,
    /// The tools: a list of `Tool`, or what the named format takes as its `tools`.
    tools: Value,
    /// What the format could not say, tool by tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<shapes::Loss>>)]
    losses: Option<Value>,
    /// Tools that the format cannot express, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<shapes::Quarantined>>)]
    quarantined: Option<Value>,
}

/// The tools that an agent may use, in any dialect.
#[utoipa::path(get, path = "/v1/agents/{agent}/tools", tag = "tools",
    operation_id = "list_agent_tools",
    params(("agent" = String, Path, description = "The agent."), Which),
    responses(
        (status = 200, description = "Its tools.", body = Tools),
        (status = 304, description = "Unchanged since the ETag that was sent."),
        (status = 400, description = "No such format.", body = Problem,
            content_type = "application/problem+json"),
        NoKey,
        NoSession))]
pub(crate) async fn of_agent(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(agent): Path<String>,
    Params(which): Params<Which>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let (catalog, session) =
        super::catalog(&door, &caller, which.session.as_deref(), which.mode.into()).await?;
    let mut listed: Vec<&Arc<EffectiveTool>> = catalog.list().collect();
    if let Some(words) = &which.q {
        let registry = session.as_ref().map(|session| session.registry_version.as_str());
        let found = fitting(&door, &who.tenant, registry, words);
        best(&mut listed, &found, |one| &one.tool.id);
    }
    let tag = tag(&catalog, &listed, &which);
    let unchanged = has(&headers, &tag);
    let cache = (header::CACHE_CONTROL, "private, no-cache".to_owned());
    let head = [(header::ETAG, tag), cache];
    if unchanged {
        return Ok((StatusCode::NOT_MODIFIED, head).into_response());
    }
    let body = render(&door, &catalog, &listed, &which)?;
    Ok((head, Json(body)).into_response())
}

fn render(
    door: &Door,
    catalog: &Catalog,
    listed: &[&Arc<EffectiveTool>],
    which: &Which,
) -> Result<Tools, Problem> {
    let version = catalog.version().to_string();
    let Some(format) = &which.format else {
        let tools: Vec<Value> = listed.iter().map(|one| shown(one)).collect();
        return Ok(Tools { version, tools: json!(tools), losses: None, quarantined: None });
    };
    let target = target(format, which.strict)?;
    let rendering = match which.q {
        None => door.renderings.of(catalog, target),
        // Few will search for the same: not worth keeping.
        Some(_) => Arc::new(target.render(listed.iter().map(|one| &*one.tool))),
    };
    Ok(Tools {
        version,
        losses: Some(json!(rendering.report)),
        quarantined: Some(json!(rendering.quarantined)),
        tools: rendering.tools.clone(),
    })
}

/// Whether the client has what this tag stands for: `If-None-Match` is a list or `*`, and a tag in it
/// may be a weak one, as a proxy makes it that packs answers.
fn has(headers: &HeaderMap, tag: &str) -> bool {
    let seen = headers.get_all(header::IF_NONE_MATCH).into_iter();
    let mut seen = seen.filter_map(|seen| seen.to_str().ok()).flat_map(|seen| seen.split(','));
    seen.any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag
    })
}

fn tag(catalog: &Catalog, listed: &[&Arc<EffectiveTool>], which: &Which) -> String {
    let seen = json!([
        catalog.version(),
        which.format,
        Mode::from(which.mode),
        which.strict,
        listed.iter().map(|one| one.tool.id.as_str()).collect::<Vec<_>>(),
    ]);
    format!("\"{}\"", Digest::of_json(&seen).hex())
}

/// A tool that an agent cannot use.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NotThere {
    /// The tool.
    id: String,
    /// What it is for.
    description: String,
    /// A stable word.
    why: &'static str,
    /// In words.
    in_words: &'static str,
    /// What would enable it.
    enable: String,
    /// The rule that decided, for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

/// The mode that is asked about.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InMode {
    /// How model and user talk: `text` (as when absent) or `voice`.
    #[serde(default)]
    #[param(inline)]
    mode: ModeName,
}

/// The tools of the tenant that an agent cannot use, why, and what would enable each.
#[utoipa::path(get, path = "/v1/agents/{agent}/unavailable", tag = "tools",
    operation_id = "list_unavailable_tools",
    params(("agent" = String, Path, description = "The agent."), InMode),
    responses(
        (status = 200, description = "What is missing.", body = Vec<NotThere>),
        NoKey,
        (status = 404, description = "No such agent.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn unavailable(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(agent): Path<String>,
    Params(asked): Params<InMode>,
) -> Result<Json<Vec<NotThere>>, Problem> {
    let caller = looked_at(&door, &who, &agent)?;
    let missing = door.runtime.catalog(&caller, asked.mode.into()).unavailable();
    let operator = who.is(Role::Operator);
    let shown = missing.into_iter().map(|one| NotThere {
        id: one.tool.id.clone(),
        description: one.tool.contract.description.clone(),
        why: one.why.as_str(),
        in_words: one.why.in_words(),
        enable: one.enable,
        rule: operator.then_some(one.rule),
    });
    Ok(Json(shown.collect()))
}

/// One tool as an agent has it, by canonical id or short name.
#[utoipa::path(get, path = "/v1/agents/{agent}/tools/{tool}", tag = "tools",
    operation_id = "show_agent_tool",
    params(("agent" = String, Path, description = "The agent."),
        ("tool" = String, Path, description = "The tool's id."), InMode),
    responses(
        (status = 200, description = "The tool.", body = shapes::Tool),
        NoKey,
        (status = 404, description = "No such tool for this agent.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn one(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, tool)): Path<(String, String)>,
    Params(asked): Params<InMode>,
) -> Result<Json<Value>, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let catalog = door.runtime.catalog(&caller, asked.mode.into());
    let tool = found(&catalog, &tool)?;
    Ok(Json(shown(tool)))
}

/// The document of a tool, in Markdown.
#[utoipa::path(get, path = "/v1/agents/{agent}/tools/{tool}/doc", tag = "tools",
    operation_id = "show_agent_tool_doc",
    params(("agent" = String, Path, description = "The agent."),
        ("tool" = String, Path, description = "The tool's id."), InMode),
    responses(
        (status = 200, description = "Its document.", body = String, content_type = "text/markdown"),
        NoKey,
        (status = 404, description = "No such tool for this agent.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn doc(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path((agent, tool)): Path<(String, String)>,
    Params(asked): Params<InMode>,
) -> Result<Response, Problem> {
    let caller = caller(&door, &who, &agent)?;
    let catalog = door.runtime.catalog(&caller, asked.mode.into());
    let tool = found(&catalog, &tool)?;
    Ok(document(&tool.tool))
}
