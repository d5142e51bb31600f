//! Tools that agents asked for and did not have, the most wanted first.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;

use super::clicks::{self, Aimed, WAIT};
use super::encode;
use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor};
use super::posted::Posted;
use super::visible::visible;
use crate::api::admin::suggestions::{self, Part, Wish};
use crate::api::need;
use crate::door::Door;
use crate::who::Role;

const PLACE: &str = "/console/suggestions";

/// So many are on a page.
const SHOWN: usize = 100;

/// What a click is aimed at.
const LIST: &str = "the suggestions";

/// Which of them, and the wish that was granted just now.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    after: Option<String>,
    agent: String,
    tool: String,
}

/// What was asked for.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    let part = Part::after(asked.after);
    shown(&door, &visitor, &part, granted(&door, &visitor, &asked.agent, &asked.tool))
}

/// How a tool stands whose wish was granted. The focus goes there: the row is gone.
fn granted(door: &Door, visitor: &Visitor, agent: &str, tool: &str) -> Markup {
    let tenant = &visitor.who.tenant;
    let known = door.runtime.canonical_for(tenant, tool);
    let known = known.filter(|_| door.runtime.has_agent(tenant, agent));
    let Some(tool) = known else { return page::empty() };
    let state = door.runtime.tool_state(tenant, agent, &tool);
    html! {
        @if state.available {
            p #granted .notice.good role="status" tabindex="-1" {
                (page::id(&tool)) " is enabled for " (visible(agent)) "."
            }
        } @else {
            p #granted .notice.wait role="status" tabindex="-1" {
                (page::id(&tool)) " still lacks something for " (visible(agent))
                @if let Some(enable) = &state.enable { ": " (visible(enable)) } "."
            }
        }
    }
}

/// Grants a wish.
pub(crate) async fn accept(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(posted): Extension<Posted>,
) -> Result<Response, Failed> {
    need(&visitor.who, Role::Administrator)?;
    if let Err(why) = clicks::counts(&door, &visitor, &posted, LIST) {
        let mut page = shown(&door, &visitor, &Part::default(), clicks::missed(why))?;
        *page.status_mut() = StatusCode::CONFLICT;
        return Ok(page);
    }
    let (agent, tool) = (posted.one("agent"), posted.one("tool"));
    let (agent, tool) = (agent.unwrap_or_default(), tool.unwrap_or_default());
    let state = suggestions::granted(&door, &visitor.who, agent, tool).await?;
    let place = format!("{PLACE}?agent={}&tool={}#granted", encode(agent), encode(&state.tool));
    Ok(Redirect::to(&place).into_response())
}

fn shown(door: &Door, visitor: &Visitor, part: &Part, said: Markup) -> Result<Response, Failed> {
    let mut wishes = suggestions::wishes(door, &visitor.who, part, SHOWN + 1)?;
    let more = wishes.len() > SHOWN;
    wishes.truncate(SHOWN);
    let last = wishes.last().map(|(place, _)| place).filter(|_| more);
    let aimed = Aimed::at(door, visitor, LIST);
    let rows = wishes.iter().map(|(_, one)| row(visitor, &aimed, one));
    let head = ["Tool", "Agent", "Refused#", "Why", "What would enable it", "Grant"];
    let content = html! {
        h1 { "Suggestions" }
        p .lead { "Tools that agents asked for and did not have, since the server was started." }
        (said)
        @if wishes.is_empty() { (page::nothing("Nobody has asked for more.")) }
        @else { (page::table("Suggestions", &head, rows)) }
        @if let Some(last) = last {
            p { a href={ (PLACE) "?after=" (encode(last)) } { "Less wanted ones" } }
        }
    };
    Ok(page::page(visitor, "/suggestions", "Suggestions", &content))
}

fn row(visitor: &Visitor, aimed: &Aimed, one: &Wish) -> Markup {
    html! {
        tr role="row" {
            th scope="row" role="rowheader" data-label="Tool" {
                (page::id(&one.tool))
                @if !one.known { span .about { "there is no such tool here" } }
            }
            td role="cell" data-label="Agent" { (visible(&one.agent)) }
            td .number role="cell" data-label="Refused" { (one.calls) }
            td role="cell" data-label="Why" { (visible(&one.reason().replace('_', " "))) }
            td role="cell" data-label="What would enable it" { (visible(one.enable.as_deref().unwrap_or_default())) }
            td role="cell" data-label="Grant" {
                @if one.known { (granting(visitor, aimed, one)) }
            }
        }
    }
}

fn granting(visitor: &Visitor, aimed: &Aimed, one: &Wish) -> Markup {
    html! {
        form method="post" action=(PLACE) data-wait=(WAIT) {
            (aimed.fields(visitor))
            input type="hidden" name="agent" value=(one.agent);
            input type="hidden" name="tool" value=(one.tool);
            button .quiet type="submit" aria-label={ "Enable " (one.tool) " for " (one.agent) } { "Enable" }
        }
    }
}
