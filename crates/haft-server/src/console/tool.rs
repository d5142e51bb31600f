//! One tool: what it is, its documents, and a form that calls it.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use haft_core::call::Call;
use haft_core::contract::Mode;
use haft_core::parameters::Parameter;
use haft_core::port::Invoke as _;
use haft_core::{Envelope, ErrorKind, Tool};
use haft_runtime::toolbox::{EffectiveTool, Found, Unavailable, Why};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::catalog::{OWN, Sought, approval, list_of, switch};
use super::clicks::Aimed;
use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor, badge};
use super::posted::Posted;
use super::visible::{visible, written};
use super::{HOME, encode, form, markdown, visits, words};
use crate::api::dialects::connect;
use crate::api::{self, ModeName, effects, records};
use crate::door::Door;
use crate::problem::Problem;
use crate::who::{Role, Who};

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

/// What came of a form.
struct Tried<'a> {
    form: &'a Posted,
    came: Result<Envelope, form::Wrong>,
    /// The call whose effect is on record.
    effect: Option<String>,
}

impl Tried<'_> {
    /// What is wrong with what was filled in.
    fn wrong(&self) -> Vec<form::Wrong> {
        match &self.came {
            Err(wrong) => vec![wrong.clone()],
            Ok(envelope) => form::Wrong::of(envelope),
        }
    }
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
    let (parameters, schema) = (&found.tool.parameters, &found.tool.contract.parameters);
    let came = match form::said(parameters, schema, &form) {
        Err(wrong) => Err(wrong),
        Ok(arguments) => {
            let mut call = Call::new(caller, found.tool.id.clone(), arguments);
            call.mode = mode.into();
            call.key = form.filled("key").map(str::to_owned);
            call.dry_run = form.one("do") != Some("call");
            call.sees_rules = true;
            connect(&door, &mut call, found, form.filled("connection"));
            Ok(door.runtime.invoke(call).await)
        }
    };
    let words = form.one("q").unwrap_or_default();
    let effect = match &came {
        Ok(envelope) => effects::one(&door, who, &envelope.meta.record_id).await.ok(),
        Err(_) => None,
    };
    let effect = effect.map(|one| one.effect.call.to_string());
    let tried = Tried { form: &form, came, effect };
    shown(&door, &visitor, &agent, &tool, (mode, words), Some(tried)).await
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
                @let connections = door.runtime.connections(&caller, &tool);
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
            @if let Some(rule) = &missing.rule { " (" code .id { (visible(rule)) } ")" }
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

fn calling(
    visitor: &Visitor,
    (agent, tool): (&str, &Tool),
    connections: &[String],
    sought: Sought<'_>,
    tried: Option<&Tried<'_>>,
) -> Markup {
    // The same key for the same form, another for another act.
    let key = visits::random().unwrap_or_default();
    let place = format!("{HOME}/tools/{}/{}", encode(agent), encode(&tool.id));
    let filled = tried.map(|tried| tried.form);
    let raw = filled.and_then(|filled| filled.filled(form::RAW));
    let wrong = tried.map(Tried::wrong).unwrap_or_default();
    // What is wrong is wrong with the one of them that counted.
    let (by_field, in_raw) = match raw {
        Some(_) => (&[][..], !wrong.is_empty()),
        None => (&*wrong, false),
    };
    html! {
        form .call method="post" action=(place) {
            (page::token(visitor))
            input type="hidden" name="key" value={ "console-" (key) };
            (form::fields(&tool.parameters, &tool.contract.parameters, filled, by_field))
            @if tool.contract.connection.is_some() { (connection(connections, filled)) }
            details open[raw.is_some()] {
                summary { "Arguments as JSON instead" }
                label for="raw" { "Arguments" }
                textarea #raw name=(form::RAW) rows="4" spellcheck="false" aria-invalid=[in_raw.then_some("true")]
                    aria-describedby=[in_raw.then_some("why")] { "\n" (raw.unwrap_or_default()) }
            }
            div .row {
                label for="mode" { "Mode" }
                select #mode name="mode" {
                    @for one in [Mode::Text, Mode::Voice] {
                        option value=(one.as_str()) selected[one == sought.mode] { (one.as_str()) }
                    }
                }
                @if !sought.words.is_empty() { input type="hidden" name="q" value=(sought.words); }
                button type="submit" name="do" value="dry" .quiet { "Dry run" }
                button type="submit" name="do" value="call" { "Call" }
            }
        }
    }
}

/// Which account it is made with. The only one that is granted needs no choice.
fn connection(granted: &[String], filled: Option<&Posted>) -> Markup {
    let chosen = filled.and_then(|filled| filled.filled("connection"));
    html! {
        div .field {
            label for="connection" { "Connection" }
            select #connection name="connection" {
                @if granted.len() != 1 { option value="" { "none" } }
                @for one in granted { option value=(one) selected[Some(one.as_str()) == chosen] { (one) } }
            }
        }
    }
}

fn outcome(tried: &Tried<'_>, who: &Who) -> Markup {
    let is_dry = tried.form.one("do") != Some("call");
    let heading = if is_dry { "Dry run: nothing was done" } else { "Outcome" };
    html! {
        // Where a page begins with what came of it, whoever does not see that begins there, too.
        section .outcome aria-labelledby="outcome" tabindex="-1" autofocus {
            h2 #outcome { (heading) }
            @match &tried.came {
                Err(wrong) => p .notice.bad #why role="alert" { (visible(&wrong.message)) },
                Ok(envelope) => (enveloped(envelope, is_dry, who, tried.effect.as_deref())),
            }
        }
    }
}

/// How it ended. Of a dry run nothing is on record, and that everything was decided says not yet that it would run.
fn enveloped(envelope: &Envelope, is_dry: bool, who: &Who, effect: Option<&str>) -> Markup {
    let meta = &envelope.meta;
    html! {
        p role="status" {
            @match &envelope.result {
                Ok(plan) if is_dry => (badge(if would_run(plan) { "would_run" } else { "would_not_run" })),
                Ok(_) => (badge("ok")),
                Err(error) => (badge(error.kind.as_str())),
            }
            " in " (page::span((meta.duration_ms * 1000.0) as u64))
            @if meta.cached { " · answered from memory: nothing was done now" }
            @if !is_dry && !meta.record_id.is_empty() { " · " (page::link("/calls", &meta.record_id)) }
            @if let Some(call) = effect { " · " (page::to_effect(call)) }
        }
        @match &envelope.result {
            Ok(data) => (page::json(data)),
            Err(error) => {
                p .notice.bad #why role="alert" { (visible(&error.message)) " " (page::meaning(error.kind)) }
                @if !error.suggestion.is_empty() { p { (visible(&error.suggestion)) } }
                @if error.kind == ErrorKind::ConfirmationRequired {
                    (waits(who))
                }
                @if let Some(details) = &error.details { (page::json(details)) }
            }
        }
        @if !meta.warnings.is_empty() {
            h3 { "Repaired or noticed" }
            ul { @for one in &meta.warnings { li { code { (visible(&one.path)) } " " (visible(&one.message)) } } }
        }
        @if !meta.clamps.is_empty() {
            h3 { "Reduced for the mode" }
            (page::json(&serde_json::to_value(&meta.clamps).unwrap_or(Value::Null)))
        }
    }
}

/// Who can answer. A link is for those whom it leads anywhere.
fn waits(who: &Who) -> Markup {
    html! {
        @if who.is(Role::Approver) {
            p { "It waits under " a href={ (HOME) "/confirmations" } { "Approvals" } " for somebody else than you." }
        } @else {
            p { "It waits for a person whose key has the role " code { "approver" } " or " code { "administrator" } ", on their page Approvals." }
        }
    }
}

fn would_run(plan: &Value) -> bool {
    plan.get("wouldRun").and_then(Value::as_bool) == Some(true)
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
