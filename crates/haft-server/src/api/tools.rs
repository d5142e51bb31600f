//! What an agent may use, what it may not and why, and what a tool is.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_core::contract::Mode;
use haft_core::session::Session;
use haft_core::{Caller, Digest, Tool};
use haft_runtime::toolbox::{Catalog, EffectiveTool, Found, Unavailable};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::{ModeName, caller, looked_at, need};
use crate::body::Params;
use crate::door::Door;
use crate::problem::{NoKey, NoRole, NoSession, Problem};
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
    /// The tools: objects of ours, or what the named format takes as its `tools`.
    #[schema(value_type = Vec<Object>)]
    tools: Value,
    /// What the format could not say, tool by tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    losses: Option<Value>,
    /// Tools that the format cannot express, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    quarantined: Option<Value>,
}

/// The tools that an agent may use, in any dialect.
#[utoipa::path(get, path = "/v1/agents/{agent}/tools", tag = "tools",
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
        self::catalog(&door, &caller, which.session.as_deref(), which.mode.into()).await?;
    let mut listed: Vec<&Arc<EffectiveTool>> = catalog.list().collect();
    if let Some(words) = &which.q {
        let registry = session.as_ref().map(|session| session.registry_version.as_str());
        let found = fitting(&door, &who.tenant, registry, words);
        let place = |one: &Arc<EffectiveTool>| found.iter().position(|id| *id == one.tool.id);
        listed.retain(|one| place(one).is_some());
        listed.sort_by_key(|one| place(one));
    }
    let tag = tag(&catalog, &listed, &which);
    if has(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response());
    }
    let body = render(&door, &catalog, &listed, &which)?;
    let cache = (header::CACHE_CONTROL, "private, no-cache".to_owned());
    Ok(([(header::ETAG, tag), cache], Json(body)).into_response())
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

/// The tools of a caller: now, or as a session has them, and that session.
pub(crate) async fn catalog(
    door: &Door,
    caller: &Caller,
    session: Option<&str>,
    mode: Mode,
) -> Result<(Catalog, Option<Session>), Problem> {
    let Some(id) = session else { return Ok((door.runtime.catalog(caller, mode), None)) };
    let session = door.runtime.session(caller, id).await?;
    let catalog = door.runtime.catalog_in(caller, &session);
    let catalog = catalog.ok_or_else(|| Problem::missing("registry"))?;
    Ok((catalog, Some(session)))
}

/// The most that a search gives.
const FOUND: usize = 50;

/// The ids of a tenant's tools that fit some words, the best first, by the index that models search.
pub(crate) fn fitting(
    door: &Door,
    tenant: &str,
    registry: Option<&str>,
    words: &str,
) -> Vec<String> {
    let mut words = words.to_owned();
    words.truncate(words.floor_char_boundary(1_000.min(words.len())));
    door.runtime.search(tenant, registry, &words, FOUND)
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

/// A tool in our own words, as an agent has it.
fn shown(one: &EffectiveTool) -> Value {
    let mut said = described(&one.tool);
    if let Some(said) = said.as_object_mut() {
        said.insert("requiresConfirmation".into(), json!(one.requires_confirmation));
        said.insert("allowedModes".into(), json!(one.allowed_modes));
        said.insert("latencyBudgetMs".into(), json!(one.latency_budget_ms));
        said.insert("own".into(), json!(one.of_tenant));
    }
    said
}

/// A tool in our own words, as its contract has it.
fn described(tool: &Tool) -> Value {
    let contract = &tool.contract;
    json!({
        "id": tool.id,
        "version": contract.version,
        "digest": tool.digest,
        "description": contract.description,
        "summary": tool.summary,
        "category": contract.category,
        "effect": contract.effect,
        "sideEffectPolicy": contract.side_effect_policy,
        "requiresConfirmation": contract.requires_confirmation,
        "allowedModes": contract.allowed_modes,
        "latencyBudgetMs": contract.latency_budget_ms,
        "parameters": contract.parameters,
        "output": contract.output,
        "typedParameters": tool.parameters,
        "tags": contract.tags,
        "deprecated": contract.deprecated,
    })
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
        rule: one.rule.filter(|_| operator),
    });
    Ok(Json(shown.collect()))
}

/// One tool as an agent has it, by canonical id or short name.
#[utoipa::path(get, path = "/v1/agents/{agent}/tools/{tool}", tag = "tools",
    params(("agent" = String, Path, description = "The agent."),
        ("tool" = String, Path, description = "The tool's id."), InMode),
    responses(
        (status = 200, description = "The tool.", body = Object),
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
    let markdown = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    Ok((markdown, tool.tool.doc.clone()).into_response())
}

pub(crate) fn found<'a>(
    catalog: &'a Catalog,
    name: &str,
) -> Result<&'a Arc<EffectiveTool>, Problem> {
    match catalog.find(name) {
        Found::Tool(tool) | Found::Narrowed(tool) => Ok(tool),
        Found::Unavailable(_) | Found::Ambiguous(_) | Found::Unknown => {
            Err(Problem::missing("tool"))
        }
    }
}

/// Whose view of the tenant's tools.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct View {
    /// The agent that is asked about: where absent, the key's own, or else the tenant's first.
    agent: Option<String>,
    /// How model and user talk: `text` (as when absent) or `voice`.
    #[serde(default)]
    #[param(inline)]
    mode: ModeName,
    /// Only tools that fit these words, the best first, at most 50.
    q: Option<String>,
}

/// Every tool of the tenant, as one agent stands to it.
#[derive(Serialize, ToSchema)]
pub(crate) struct Stock {
    /// The agent that was asked about.
    agent: String,
    /// Changes whenever the list might.
    version: String,
    /// The tools: those that the agent may use, and then the others.
    #[schema(value_type = Vec<Object>)]
    tools: Vec<Value>,
}

/// A tool in one of the tiers.
enum Tiered {
    /// The agent may use it.
    Enabled(Arc<EffectiveTool>),
    /// The tenant has it, and the agent may not use it.
    OfTenant(Unavailable),
    /// The tenant could take it.
    Known(Unavailable),
}

impl Tiered {
    fn tool(&self) -> &Tool {
        match self {
            Self::Enabled(one) => &one.tool,
            Self::OfTenant(one) | Self::Known(one) => &one.tool,
        }
    }

    /// The tool with its tier: 3 is the agent's, 2 the tenant's, 1 what could be taken.
    fn shown(&self, who: &Who) -> Value {
        let (mut said, tier, missing) = match self {
            Self::Enabled(one) => (shown(one), 3, None),
            Self::OfTenant(one) => (described(&one.tool), 2, Some(one)),
            Self::Known(one) => (described(&one.tool), 1, Some(one)),
        };
        if let Some(said) = said.as_object_mut() {
            said.insert("tier".into(), json!(tier));
            if let Some(missing) = missing {
                said.insert("why".into(), json!(missing.why.as_str()));
                said.insert("inWords".into(), json!(missing.why.in_words()));
                said.insert("enable".into(), json!(missing.enable));
                let rule = missing.rule.as_ref().filter(|_| who.is(Role::Operator));
                said.extend(rule.map(|rule| ("rule".to_owned(), json!(rule))));
            }
        }
        said
    }
}

/// The tools of a tenant in the view of one agent, and that agent. What could be taken is for
/// administrators.
fn tiers(door: &Door, who: &Who, view: &View) -> Result<(String, Catalog, Vec<Tiered>), Problem> {
    let agents = door.runtime.agents(&who.tenant);
    let first = || agents.iter().find(|agent| who.may_call(agent)).map(String::as_str);
    let agent = view.agent.as_deref().or_else(|| who.only_agent()).or_else(first);
    let agent = agent.ok_or_else(|| Problem::missing("agent"))?;
    let catalog = door.runtime.catalog(&looked_at(door, who, agent)?, view.mode.into());
    let mut all: Vec<Tiered> = catalog.list().cloned().map(Tiered::Enabled).collect();
    all.extend(catalog.unavailable().into_iter().map(Tiered::OfTenant));
    if who.is(Role::Administrator) {
        all.extend(door.runtime.offers(&who.tenant).into_iter().map(Tiered::Known));
    }
    if let Some(words) = &view.q {
        let found = fitting(door, &who.tenant, None, words);
        let place = |one: &Tiered| found.iter().position(|id| *id == one.tool().id);
        all.retain(|one| place(one).is_some());
        all.sort_by_key(|one| place(one));
    }
    Ok((agent.to_owned(), catalog, all))
}

/// Every tool that the tenant has: its tier, and where the agent may not use it, why and what would
/// enable it. Administrators also see what the tenant could take.
#[utoipa::path(get, path = "/v1/tools", tag = "tools", params(View),
    responses(
        (status = 200, description = "The tools.", body = Stock),
        NoKey,
        (status = 404, description = "No such agent.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn of_tenant(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Params(view): Params<View>,
) -> Result<Json<Stock>, Problem> {
    let (agent, catalog, all) = tiers(&door, &who, &view)?;
    let tools = all.iter().map(|one| one.shown(&who)).collect();
    Ok(Json(Stock { agent, version: catalog.version().to_string(), tools }))
}

/// One tool of the tenant by canonical id or short name, with its tier.
#[utoipa::path(get, path = "/v1/tools/{tool}", tag = "tools",
    params(("tool" = String, Path, description = "The tool's id."), View),
    responses(
        (status = 200, description = "The tool.", body = Object),
        NoKey,
        (status = 404, description = "No such tool or agent.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn one_of_tenant(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(tool): Path<String>,
    Params(view): Params<View>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(tiered(&door, &who, &view, &tool)?.shown(&who)))
}

/// The document of a tool of the tenant, in Markdown, whoever may use it.
#[utoipa::path(get, path = "/v1/tools/{tool}/doc", tag = "tools",
    params(("tool" = String, Path, description = "The tool's id."), View),
    responses(
        (status = 200, description = "Its document.", body = String, content_type = "text/markdown"),
        NoKey,
        (status = 404, description = "No such tool or agent.", body = Problem,
            content_type = "application/problem+json")))]
pub(crate) async fn doc_of_tenant(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
    Path(tool): Path<String>,
    Params(view): Params<View>,
) -> Result<Response, Problem> {
    let found = tiered(&door, &who, &view, &tool)?;
    let markdown = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    Ok((markdown, found.tool().doc.clone()).into_response())
}

fn tiered(door: &Door, who: &Who, view: &View, name: &str) -> Result<Tiered, Problem> {
    let (_, catalog, all) = tiers(door, who, view)?;
    let id = match catalog.find(name) {
        Found::Tool(one) | Found::Narrowed(one) => one.tool.id.clone(),
        Found::Unavailable(one) => one.tool.id.clone(),
        Found::Ambiguous(_) | Found::Unknown => name.to_owned(),
    };
    all.into_iter().find(|one| one.tool().id == id).ok_or_else(|| Problem::missing("tool"))
}

/// Which tools there are, at which version, with which digests.
#[derive(Serialize, ToSchema)]
pub(crate) struct Registry {
    /// From its content; behind a `+` what stands for the tools that the tenant has defined.
    version: String,
    /// Over its content.
    digest: String,
    /// Whose tools these are.
    namespace: String,
    /// When it was built.
    built: String,
    /// Each tool with its digest.
    tools: Vec<Listed>,
}

/// A tool of the registry.
#[derive(Serialize, ToSchema)]
pub(crate) struct Listed {
    /// Its canonical id.
    id: String,
    /// Its contract's version.
    version: String,
    /// Over contract, documents and handler.
    digest: String,
    /// Whether the tenant has defined it itself.
    own: bool,
}

/// The registry in use.
#[utoipa::path(get, path = "/v1/registry", tag = "tools",
    responses(
        (status = 200, description = "What new sessions use.", body = Registry),
        NoKey,
        NoRole))]
pub(crate) async fn registry(
    State(door): State<Arc<Door>>,
    Extension(who): Extension<Who>,
) -> Result<Json<Registry>, Problem> {
    need(&who, Role::Operator)?;
    let registry = door.runtime.current();
    let own = door.runtime.own_tools(&who.tenant);
    let listed = |tool: &haft_core::Tool, own: bool| Listed {
        id: tool.id.clone(),
        version: tool.contract.version.to_string(),
        digest: tool.digest.to_string(),
        own,
    };
    let own = own.iter().map(|tool| listed(tool, true));
    let listed = registry.tools.iter().map(|tool| listed(tool, false)).chain(own);
    Ok(Json(Registry {
        version: door.runtime.version_for(&who.tenant).to_string(),
        digest: registry.digest.to_string(),
        namespace: registry.namespace.to_string(),
        built: registry.build.at.clone(),
        tools: listed.collect(),
    }))
}
