//! Tools: what an agent may use, what its tenant has, and the registry that they come from. Here is
//! what the lists have in common.

pub(crate) mod of_agent;
pub(crate) mod of_tenant;
pub(crate) mod registry;

use std::sync::Arc;

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use haft_core::contract::Mode;
use haft_core::session::Session;
use haft_core::{Caller, Tool};
use haft_runtime::toolbox::{Catalog, EffectiveTool, Found};
use serde_json::{Value, json};

use crate::door::Door;
use crate::problem::Problem;

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

/// Of a list those that were found, the best first.
fn best<T>(list: &mut Vec<T>, found: &[String], id: impl Fn(&T) -> &str) {
    let place = |one: &T| found.iter().position(|found| found == id(one));
    list.retain(|one| place(one).is_some());
    list.sort_by_key(|one| place(one));
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

/// A tool's document, in Markdown.
fn document(tool: &Tool) -> Response {
    let markdown = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    (markdown, tool.doc.clone()).into_response()
}

/// The tool that a name means, of those that an agent may use.
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
