//! Tools that agents asked for and did not have, the most wanted first.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::response::Response;
use maud::{Markup, html};

use super::encode;
use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor};
use super::posted::Posted;
use super::visible::visible;
use crate::api::admin::suggestions::{self, Part, Wish};
use crate::door::Door;

const PLACE: &str = "/console/suggestions";

/// So many are on a page.
const SHOWN: usize = 100;

/// What was asked for.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(part): Params<Part>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, &part, page::empty())
}

/// Grants a wish.
pub(crate) async fn accept(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(posted): Extension<Posted>,
) -> Result<Response, Failed> {
    let (agent, tool) = (posted.one("agent"), posted.one("tool"));
    let (agent, tool) = (agent.unwrap_or_default(), tool.unwrap_or_default());
    let state = suggestions::granted(&door, &visitor.who, agent, tool).await?;
    let said = match (state.available, &state.enable) {
        (true, _) => html! {
            p .notice.good role="status" { (page::id(tool)) " is enabled for " (visible(agent)) "." }
        },
        (false, enable) => html! {
            p .notice.wait role="status" {
                (page::id(tool)) " is turned on for " (visible(agent)) ", and still lacks something"
                @if let Some(enable) = enable { ": " (visible(enable)) } "."
            }
        },
    };
    shown(&door, &visitor, &Part::default(), said)
}

fn shown(door: &Door, visitor: &Visitor, part: &Part, said: Markup) -> Result<Response, Failed> {
    let mut wishes = suggestions::wishes(door, &visitor.who, part, SHOWN + 1)?;
    let more = wishes.len() > SHOWN;
    wishes.truncate(SHOWN);
    let last = wishes.last().map(|(place, _)| place).filter(|_| more);
    let rows = wishes.iter().map(|(_, one)| row(visitor, one));
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

fn row(visitor: &Visitor, one: &Wish) -> Markup {
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
                @if one.known { (granting(visitor, one)) }
            }
        }
    }
}

fn granting(visitor: &Visitor, one: &Wish) -> Markup {
    html! {
        form method="post" action=(PLACE) {
            (page::token(visitor))
            input type="hidden" name="agent" value=(one.agent);
            input type="hidden" name="tool" value=(one.tool);
            button .quiet type="submit" aria-label={ "Enable " (one.tool) " for " (one.agent) } { "Enable" }
        }
    }
}
