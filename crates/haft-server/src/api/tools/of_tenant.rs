//! What a tenant has, as one agent stands to it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use haft_core::Tool;
use haft_runtime::toolbox::{Catalog, EffectiveTool, Found, Unavailable};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::{best, described, document, fitting, shown};
use crate::api::{ModeName, calls_somebody, looked_at};
use crate::body::Params;
use crate::door::Door;
use crate::problem::{NoKey, Problem};
use crate::shapes;
use crate::who::{Role, Who};

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
    #[schema(value_type = Vec<shapes::Tool>)]
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
                if who.is(Role::Operator) {
                    said.insert("rule".into(), json!(missing.rule));
                }
            }
        }
        said
    }
}

/// The tools of a tenant in the view of one agent, and that agent. What could be taken is for
/// administrators.
fn tiers(door: &Door, who: &Who, view: &View) -> Result<(String, Catalog, Vec<Tiered>), Problem> {
    calls_somebody(who)?;
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
        best(&mut all, &found, |one| &one.tool().id);
    }
    Ok((agent.to_owned(), catalog, all))
}

/// Every tool that the tenant has: its tier, and where the agent may not use it, why and what would
/// enable it. Administrators also see what the tenant could take.
#[utoipa::path(get, path = "/v1/tools", tag = "tools",
    operation_id = "list_tools", params(View),
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
    operation_id = "show_tool",
    params(("tool" = String, Path, description = "The tool's id."), View),
    responses(
        (status = 200, description = "The tool.", body = shapes::Tool),
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
    operation_id = "show_tool_doc",
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
    Ok(document(found.tool()))
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
