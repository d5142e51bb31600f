//! One tool: what it is, its documents, and a form that calls it.

mod calling;
mod tried;

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use haft_core::call::Call;
use haft_core::parameters::Parameter;
use haft_core::port::Invoke as _;
use haft_core::{Caller, Tool};
use haft_runtime::toolbox::{EffectiveTool, Found, Unavailable, Why};
use maud::{Markup, html};
use serde::Deserialize;

use self::calling::{Usable, calling, usable};
use self::tried::{Came, Other, Tried, outcome};
use super::catalog::{OWN, Sought, approval, list_of, switch};
use super::clicks::Aimed;
use super::guard::Failed;
use super::guard::Params;
use super::made_for::MadeFor;
use super::page::{self, Visitor};
use super::posted::Posted;
use super::visible::{visible, written};
use super::{form, markdown, words};
use crate::api::dialects::connect;
use crate::api::{self, ModeName, effects, records};
use crate::door::Door;
use crate::problem::Problem;
use crate::who::Role;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    mode: ModeName,
    q: String,
}

/// A tool as an agent has it.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path((agent, tool)): Path<(String, String)>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, &agent, &tool, (asked.mode, &asked.q), None).await
}

/// Calls a tool, or only decides everything. The form's own key sees to it that a form which is
/// sent twice is carried out once.
pub(crate) async fn call(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Posted>,
    Path((agent, tool)): Path<(String, String)>,
) -> Result<Response, Failed> {
    let who = &visitor.who;
    api::need(who, Role::Operator)?;
    let caller = api::caller(&door, who, &agent)?;
    let mode = mode(&form);
    let catalog = door.runtime.catalog(&caller, mode.into());
    let found = api::tools::found(&catalog, &tool)?;
    let came = came(&door, caller, found, &form).await;
    let words = form.one("q").unwrap_or_default();
    let effect = match &came {
        Came::Ended(envelope) => effects::one(&door, who, &envelope.meta.record_id).await.ok(),
        Came::Wrong(_) | Came::Other(_) => None,
    };
    let is_other = matches!(came, Came::Other(_));
    let effect = effect.map(|one| one.effect.call.to_string());
    let tried = Tried { form: &form, came, effect };
    let mut page = shown(&door, &visitor, &agent, &tool, (mode, words), Some(tried)).await?;
    if is_other {
        *page.status_mut() = StatusCode::CONFLICT;
    }
    Ok(page)
}

/// What comes of a form. The tool that it was made for is the one that its fields are read by.
async fn came(door: &Door, caller: Caller, found: &EffectiveTool, form: &Posted) -> Came {
    if let Some(other) = other(door, &caller, &found.tool, form).await {
        return Came::Other(other);
    }
    let (parameters, schema) = (&found.tool.parameters, &found.tool.contract.parameters);
    let arguments = match form::said(parameters, schema, form) {
        Ok(arguments) => arguments,
        Err(wrong) => return Came::Wrong(wrong),
    };
    let mut call = Call::new(caller, found.tool.id.clone(), arguments);
    call.mode = mode(form).into();
    call.key = form.filled("key").map(str::to_owned);
    call.dry_run = form.one("do") != Some("call");
    call.sees_rules = true;
    connect(door, &mut call, found, form.filled("connection"));
    Came::Ended(Box::new(door.runtime.invoke(call).await))
}

/// What is another by now than when the form was made.
async fn other(door: &Door, caller: &Caller, tool: &Tool, form: &Posted) -> Option<Other> {
    if !MadeFor::tool(tool).is_in(form) {
        return Some(Other::Tool);
    }
    let chosen = form.filled("connection")?;
    let is_it = |one: &Usable| one.id == chosen && one.made_for.is_chosen_in(form, chosen);
    let is_there = usable(door, caller, tool).await.iter().any(is_it);
    (!is_there).then(|| Other::Account(chosen.to_owned()))
}

fn mode(form: &Posted) -> ModeName {
    match form.one("mode") {
        Some("voice") => ModeName::Voice,
        Some(_) | None => ModeName::Text,
    }
}

async fn shown(
    door: &Door,
    visitor: &Visitor,
    agent: &str,
    name: &str,
    (mode, words): (ModeName, &str),
    tried: Option<Tried<'_>>,
) -> Result<Response, Failed> {
    let who = &visitor.who;
    let sought = Sought { mode: mode.into(), words };
    api::need(who, Role::Operator)?;
    let catalog = door.runtime.catalog(&api::looked_at(door, who, agent)?, mode.into());
    let caller = api::caller(door, who, agent)?;
    let own = door.runtime.catalog(&caller, mode.into());
    let (tool, state) = match catalog.find(name) {
        Found::Tool(found) | Found::Narrowed(found) => (found.tool.clone(), Ok(found)),
        Found::Unavailable(missing) => (missing.tool.clone(), Err(missing)),
        Found::Ambiguous(_) | Found::Unknown => return Err(Problem::missing("tool").into()),
    };
    let filter = records::Filter {
        tool: Some(tool.id.clone()),
        agent: Some(agent.to_owned()),
        limit: Some(10),
        ..records::Filter::default()
    };
    let recent = records::found(door, who, filter).await?;
    let aimed = who.is(Role::Administrator).then(|| Aimed::at(door, visitor, &list_of(agent)));
    let is_off = state.is_err_and(|one| one.why == Why::DisabledForAgent);
    let connections = usable(door, &caller, &tool).await;
    let content = html! {
        p .path { a href=(sought.list(agent)) { "Tools of " (visible(agent)) } }
        div .head {
            h1 { (page::id(&tool.id)) }
            @if let Some(aimed) = aimed.filter(|_| state.is_ok() || is_off) {
                (switch(visitor, &aimed, (agent, &tool.id), is_off, sought))
            }
        }
        p .lead { (visible(&tool.contract.description)) }
        @if let Some(tried) = &tried { (outcome(tried, who)) }
        @match state {
            Ok(found) => (facts(found)),
            Err(missing) => { (why_not(missing)) (elsewhere(agent, &tool, sought)) }
        }
        h2 { "Call it as yourself" }
        @match own.find(name) {
            Found::Tool(_) | Found::Narrowed(_) => {
                (calling(visitor, (agent, &tool), &connections, sought, tried.as_ref()))
            }
            Found::Unavailable(missing) => p .nothing {
                "You cannot: " (missing.why.in_words()) ". What would enable it: " (visible(&missing.enable)) "."
            },
            Found::Ambiguous(_) | Found::Unknown => (page::nothing("You cannot.")),
        }
        h2 { "Parameters" }
        (parameters(&tool.parameters))
        h2 { "Document" }
        div .doc { (markdown::render(&tool.doc)) }
        h2 { "Last calls" }
        (super::events::calls(&recent))
    };
    Ok(page::page(visitor, "/tools", &tool.id, &content))
}

fn why_not(missing: &Unavailable) -> Markup {
    html! {
        p .notice.wait {
            "Not enabled: " (missing.why.in_words())
            " (" code .id { (visible(&missing.rule)) } ")"
            ". What would enable it: " (visible(&missing.enable)) "."
        }
    }
}

/// A tool of another mode is called there.
fn elsewhere(agent: &str, tool: &Tool, sought: Sought<'_>) -> Markup {
    let modes = &tool.contract.allowed_modes;
    if modes.contains(&sought.mode) {
        return page::empty();
    }
    html! {
        @for mode in modes {
            p { a href=(Sought { mode: *mode, ..sought }.tool(agent, &tool.id)) { "Look at it in " (mode.as_str()) " mode" } }
        }
    }
}

fn facts(found: &EffectiveTool) -> Markup {
    let contract = &found.tool.contract;
    let modes: Vec<&str> = found.allowed_modes.iter().map(|mode| mode.as_str()).collect();
    html! {
        dl .facts {
            div { dt { "Version" } dd { (contract.version.to_string()) } }
            @if found.of_tenant { div { dt { "Whose" } dd { (OWN) } } }
            div { dt { "Side effects" } dd { (contract.side_effect_policy.as_str()) span .about { (words::class(contract.side_effect_policy)) } } }
            div { dt { "Approval" } dd { (approval(&found.requires_confirmation)) } }
            div { dt { "Modes" } dd { (modes.join(", ")) } }
            div { dt { "Should take" } dd { (found.latency_budget_ms) " ms" } }
            @if let Some(undo) = &contract.compensation { div { dt { "Undone by" } dd { (page::id(&undo.tool)) } } }
            @if let Some(probe) = &contract.probe { div { dt { "Probed by" } dd { (page::id(&probe.tool)) } } }
            @if !contract.tags.is_empty() { div { dt { "Tags" } dd { (visible(&contract.tags.join(", "))) } } }
        }
    }
}

/// The typed view, members below what they belong to.
fn parameters(all: &[Parameter]) -> Markup {
    if all.is_empty() {
        return page::nothing("It takes none.");
    }
    let mut rows = Vec::new();
    listed(all, "", 0, &mut rows);
    page::table("Parameters", &["Name", "Kind", "How many", "Meaning", "Default or example"], rows)
}

fn listed(all: &[Parameter], before: &str, depth: usize, rows: &mut Vec<Markup>) {
    for one in all {
        let name = format!("{before}{}", one.name);
        let value = one.default.as_ref().or(one.example.as_ref());
        let allowed: Vec<String> = one.allowed.iter().map(ToString::to_string).collect();
        rows.push(html! {
            tr role="row" {
                th scope="row" role="rowheader" data-label="Name" { code .id { (visible(&name)) } @if one.required { span .must { " required" } } }
                td role="cell" data-label="Kind" { (one.kind.as_str()) }
                td role="cell" data-label="How many" { (one.cardinality.as_str()) }
                td role="cell" data-label="Meaning" {
                    (visible(&one.description))
                    @if !allowed.is_empty() { div .note { "One of " (written(&allowed.join(", "))) } }
                }
                td role="cell" data-label="Default or example" { @if let Some(value) = value { code .id { (written(&value.to_string())) } } }
            }
        });
        if depth < 4 {
            listed(&one.fields, &format!("{name}."), depth + 1, rows);
        }
    }
}
