//! What an agent may use, what it may not and why, and a switch for each.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use haft_core::Tool;
use haft_core::contract::{Confirmation, Mode};
use haft_runtime::toolbox::{EffectiveTool, Unavailable, Why};
use maud::{Markup, html};
use serde::Deserialize;

use super::clicks::{self, Aimed, WAIT};
use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor, badge};
use super::posted::Posted;
use super::visible::visible;
use super::{HOME, encode};
use crate::api::admin::{activations, definitions};
use crate::api::tools::fitting;
use crate::api::{self, ModeName};
use crate::door::Door;
use crate::who::{Role, Who};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    agent: Option<String>,
    mode: ModeName,
    q: String,
    /// The tool that was switched just now: its row says how it stands.
    switched: Option<String>,
}

/// What somebody looks for in the list. It goes along to a tool and back.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'a> {
    pub(crate) mode: Mode,
    pub(crate) words: &'a str,
}

impl Sought<'_> {
    /// What was sought, as far as it is not what is shown anyway.
    fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let mode = (self.mode != Mode::Text).then(|| ("mode", self.mode.as_str()));
        let words = (!self.words.is_empty()).then_some(("q", self.words));
        mode.into_iter().chain(words)
    }

    /// The address of a tool.
    pub(crate) fn tool(&self, agent: &str, tool: &str) -> String {
        let place = format!("{HOME}/tools/{}/{}", encode(agent), encode(tool));
        let mut query = form_urlencoded::Serializer::new(String::new());
        match query.extend_pairs(self.pairs()).finish() {
            query if query.is_empty() => place,
            query => format!("{place}?{query}"),
        }
    }

    /// The address of the list.
    pub(crate) fn list(&self, agent: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let query = query.append_pair("agent", agent).extend_pairs(self.pairs()).finish();
        format!("{HOME}/tools?{query}")
    }

    /// The row of a tool in it, which says what was done.
    fn row(&self, agent: &str, tool: &str) -> String {
        let anchor = encode(&anchor(tool));
        format!("{}&switched={}#{anchor}", self.list(agent), encode(tool))
    }

    /// The same in a form.
    fn fields(&self) -> Markup {
        html! { @for (name, value) in self.pairs() { input type="hidden" name=(name) value=(value); } }
    }

    /// What a form brought back.
    pub(crate) fn posted(form: &Posted) -> Sought<'_> {
        let mode = if form.one("mode") == Some("voice") { Mode::Voice } else { Mode::Text };
        Sought { mode, words: form.one("q").unwrap_or_default() }
    }
}

/// The tools of an agent.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, &asked, page::empty())
}

/// The page, with what came of a click.
fn shown(door: &Door, visitor: &Visitor, asked: &Asked, said: Markup) -> Result<Response, Failed> {
    let who = &visitor.who;
    api::need(who, Role::Operator)?;
    let agents = agents(door, who);
    let agent = asked.agent.clone().or_else(|| agents.first().cloned());
    let Some(agent) = agent else {
        let none = html! { h1 { "Tools" } (page::nothing("This tenant has no agents that you may act for.")) };
        return Ok(page::page(visitor, "/tools", "Tools", &none));
    };
    let caller = api::looked_at(door, who, &agent)?;
    let mode = Mode::from(asked.mode);
    let catalog = door.runtime.catalog(&caller, mode);
    let words = asked.q.trim().to_lowercase();
    let found = fitting(door, &who.tenant, None, &words);
    // Whoever has not finished a word means the names that it is a part of.
    let about = |tool: &Tool| {
        words.is_empty() || found.contains(&tool.id) || tool.id.to_lowercase().contains(&words)
    };
    let on: Vec<_> = catalog.list().filter(|one| about(&one.tool)).cloned().collect();
    let off: Vec<_> = catalog.unavailable().into_iter().filter(|one| about(&one.tool)).collect();
    let offers: Vec<_> = match who.is(Role::Administrator) {
        true => {
            door.runtime.offers(&who.tenant).into_iter().filter(|one| about(&one.tool)).collect()
        }
        false => Vec::new(),
    };
    let may = who.is(Role::Administrator);
    let sought = Sought { mode, words: asked.q.trim() };
    let aimed = may.then(|| Aimed::at(door, visitor, &list_of(&agent)));
    let switched = asked.switched.as_deref();
    let listed = Listed { visitor, agent: &agent, aimed, sought, switched };
    let content = html! {
        h1 { "Tools" }
        (said)
        (choose(&agents, &agent, mode, &asked.q))
        h2 { "Enabled for " (visible(&agent)) " " span .count { (on.len()) } }
        @if on.is_empty() { (page::nothing("None.")) } @else { (listed.on(&on)) }
        h2 { "Not enabled, and why " span .count { (off.len()) } }
        @if off.is_empty() { (page::nothing(if words.is_empty() { "Nothing is missing." } else { "None that fits." })) } @else { (listed.off(&off)) }
        @if !offers.is_empty() {
            h2 { "Known, and not taken by this tenant " span .count { (offers.len()) } }
            (listed.off(&offers))
        }
    };
    Ok(page::page(visitor, "/tools", "Tools", &content))
}

/// The agents that somebody may act for.
fn agents(door: &Door, who: &Who) -> Vec<String> {
    let all = door.runtime.agents(&who.tenant);
    all.into_iter().filter(|agent| who.calls_as(agent).is_some()).collect()
}

fn choose(agents: &[String], current: &str, mode: Mode, words: &str) -> Markup {
    html! {
        form .row.filter method="get" action={ (HOME) "/tools" } role="search" {
            label for="agent" { "Agent" }
            select #agent name="agent" {
                @for agent in agents { option value=(agent) selected[agent == current] { (agent) } }
            }
            label for="mode" { "Mode" }
            select #mode name="mode" {
                @for one in [Mode::Text, Mode::Voice] {
                    option value=(one.as_str()) selected[one == mode] { (one.as_str()) }
                }
            }
            label for="q" { "Words" }
            input #q type="search" name="q" value=(words);
            button type="submit" { "Show" }
        }
    }
}

struct Listed<'a> {
    visitor: &'a Visitor,
    agent: &'a str,
    /// What the buttons carry, for those who may press them.
    aimed: Option<Aimed>,
    sought: Sought<'a>,
    switched: Option<&'a str>,
}

impl Listed<'_> {
    fn on(&self, tools: &[Arc<EffectiveTool>]) -> Markup {
        let rows = tools.iter().map(|one| {
            let contract = &one.tool.contract;
            html! {
                tr role="row" {
                    th scope="row" role="rowheader" data-label="Tool" {
                        (self.named(&one.tool))
                        @if one.of_tenant { span .about { (OWN) } }
                        (self.done(&one.tool, None))
                    }
                    td role="cell" data-label="Side effects" { (contract.side_effect_policy.as_str()) }
                    td role="cell" data-label="Approval" { (approval(&one.requires_confirmation)) }
                    td role="cell" data-label="State" { (badge("enabled")) }
                    @if self.aimed.is_some() { td role="cell" data-label="Switch" { (self.switch(&one.tool.id, false)) } }
                }
            }
        });
        let head = ["Tool", "Side effects", "Approval", "State", "Switch"];
        page::table("Tools that are enabled", head.get(..self.columns()).unwrap_or(&head), rows)
    }

    fn off(&self, tools: &[Unavailable]) -> Markup {
        let rows = tools.iter().map(|one| {
            html! {
                tr role="row" {
                    th scope="row" role="rowheader" data-label="Tool" { (self.named(&one.tool)) (self.done(&one.tool, Some(one.why))) }
                    td role="cell" data-label="Why not" { (one.why.in_words()) " (" code .id { (visible(&one.rule)) } ")" }
                    td role="cell" data-label="What would enable it" { (visible(&one.enable)) }
                    td role="cell" data-label="State" { (badge(if is_turned_off(one.why) { "disabled" } else { "unavailable" })) }
                    @if self.aimed.is_some() {
                        td role="cell" data-label="Switch" {
                            @if one.why == Why::DisabledForAgent { (self.switch(&one.tool.id, true)) }
                            @if matches!(one.why, Why::NeedsDefinition | Why::DisabledForTenant) { (self.taking(&one.tool.id)) }
                        }
                    }
                }
            }
        });
        let head = ["Tool", "Why not", "What would enable it", "State", "Switch"];
        page::table("Tools that are not enabled", head.get(..self.columns()).unwrap_or(&head), rows)
    }

    /// The last one is for those who may do something in it.
    fn columns(&self) -> usize {
        if self.aimed.is_some() { 5 } else { 4 }
    }

    fn named(&self, tool: &Tool) -> Markup {
        let place = self.sought.tool(self.agent, &tool.id);
        html! {
            a id=(anchor(&tool.id)) href=(place) { (page::id(&tool.id)) }
            span .about { (visible(&tool.contract.description)) }
        }
    }

    /// What was done, beside the tool that it was done to: the row is where the focus goes.
    fn done(&self, tool: &Tool, missing: Option<Why>) -> Markup {
        if self.switched != Some(tool.id.as_str()) {
            return page::empty();
        }
        html! {
            @match missing {
                None => p .notice.good role="status" { "Enabled for " (visible(self.agent)) "." },
                Some(Why::DisabledForAgent) => p .notice.good role="status" { "Turned off for " (visible(self.agent)) "." },
                Some(_) => p .notice.wait role="status" { "Switched, and it still lacks something." },
            }
        }
    }

    fn switch(&self, tool: &str, enabled: bool) -> Markup {
        let Some(aimed) = &self.aimed else { return page::empty() };
        switch(self.visitor, aimed, (self.agent, tool), enabled, self.sought)
    }

    /// A button that brings a tool that there is to the tenant's own.
    fn taking(&self, tool: &str) -> Markup {
        let Some(aimed) = &self.aimed else { return page::empty() };
        let place = format!("{HOME}/tools/{}/{}/take", encode(self.agent), encode(tool));
        html! {
            form method="post" action=(place) data-wait=(WAIT) {
                (aimed.fields(self.visitor))
                (self.sought.fields())
                button .quiet type="submit" aria-label={ "Take " (tool) " for this tenant" } { "Take it" }
            }
        }
    }
}

/// Where a tool stands on the page.
fn anchor(tool: &str) -> String {
    format!("tool-{tool}")
}

/// What a click on a switch is aimed at: the page of one agent's tools, or of one of them.
pub(crate) fn list_of(agent: &str) -> String {
    format!("the tools of {agent}")
}

/// What is said of a tool that the tenant brings along.
pub(crate) const OWN: &str = "defined by this tenant, for its own agents";

/// Whether a person is asked.
pub(crate) fn approval(asked: &Confirmation) -> &'static str {
    match asked {
        Confirmation::Always(true) => "a person approves",
        Confirmation::Always(false) => "none",
        Confirmation::When { .. } => "sometimes",
    }
}

/// A button that turns a tool on or off.
pub(crate) fn switch(
    visitor: &Visitor,
    aimed: &Aimed,
    (agent, tool): (&str, &str),
    enabled: bool,
    sought: Sought<'_>,
) -> Markup {
    let word = if enabled { "Enable" } else { "Disable" };
    let place = format!("{HOME}/tools/{}/{}/switch", encode(agent), encode(tool));
    html! {
        form method="post" action=(place) data-wait=(WAIT) {
            (aimed.fields(visitor))
            input type="hidden" name="enabled" value=(enabled);
            (sought.fields())
            button .quiet type="submit" aria-label={ (word) " " (tool) " for " (agent) } { (word) }
        }
    }
}

/// Takes a tool that there is for the tenant; what else was said of it stays.
pub(crate) async fn take(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Posted>,
    Path((agent, tool)): Path<(String, String)>,
) -> Result<Response, Failed> {
    if let Some(missed) = missed(&door, &visitor, &form, &agent)? {
        return Ok(missed);
    }
    definitions::taken(&door, &visitor.who, &tool).await?;
    Ok(Redirect::to(&Sought::posted(&form).row(&agent, &tool)).into_response())
}

/// Turns a tool on or off for an agent, for good.
pub(crate) async fn turn(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Posted>,
    Path((agent, tool)): Path<(String, String)>,
) -> Result<Response, Failed> {
    if let Some(missed) = missed(&door, &visitor, &form, &agent)? {
        return Ok(missed);
    }
    let enabled = form.one("enabled") == Some("true");
    let state = activations::turned(&door, &visitor.who, &agent, &tool, enabled).await?;
    Ok(Redirect::to(&Sought::posted(&form).row(&agent, &state.tool)).into_response())
}

/// The list as it stands now, for a click that does not count.
fn missed(
    door: &Door,
    visitor: &Visitor,
    form: &Posted,
    agent: &str,
) -> Result<Option<Response>, Failed> {
    api::need(&visitor.who, Role::Administrator)?;
    let Err(why) = clicks::counts(door, visitor, form, &list_of(agent)) else { return Ok(None) };
    let sought = Sought::posted(form);
    let asked = Asked {
        agent: Some(agent.to_owned()),
        mode: sought.mode.into(),
        q: sought.words.to_owned(),
        switched: None,
    };
    let mut page = shown(door, visitor, &asked, clicks::missed(why))?;
    *page.status_mut() = StatusCode::CONFLICT;
    Ok(Some(page))
}

/// Whether somebody has turned it off.
fn is_turned_off(why: Why) -> bool {
    matches!(why, Why::DisabledForAgent | Why::DisabledForTenant)
}
