//! Sessions, and what happened in one, in order.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use haft_core::session::{Phase, Session};
use maud::{Markup, html};
use serde::Deserialize;

use super::confirmations::stands;
use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor, badge};
use super::visible::visible;
use super::{HOME, encode};
use crate::api::paging::placed;
use crate::api::{confirmations, effects, records, sessions};
use crate::door::Door;
use crate::who::{Role, Who};

fn phase(session: &Session) -> &'static str {
    match session.phase {
        Phase::Active => "active",
        Phase::Ending => "ending",
        Phase::Ended => "ended",
    }
}

/// How many sessions a page has.
const PAGE: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    after: Option<String>,
}

/// The newest sessions.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    let after = asked.after.as_deref();
    let mut found = sessions::found(&door, &visitor.who, after, Some(PAGE + 1)).await?;
    let before = sessions::one(&door, &visitor.who, after.unwrap_or_default());
    placed(&found, after, before).await?;
    let last = page::cut(&mut found, PAGE).map(|one| one.id.clone());
    let rows = found.iter().map(|one| {
        html! {
            tr role="row" {
                td role="cell" data-label="Began (UTC)" { (page::time(one.created_at_ms)) }
                th scope="row" role="rowheader" data-label="Session" { (page::link("/sessions", &one.id)) }
                td role="cell" data-label="State" { (badge(phase(one))) }
                td role="cell" data-label="Agent" { (visible(&one.agent)) }
                td role="cell" data-label="Serves" { (visible(&one.principal.to_string())) }
                td role="cell" data-label="Mode" { (one.mode.as_str()) }
                td .number role="cell" data-label="Turn" { (one.turn.number) }
            }
        }
    });
    let head = ["Began (UTC)", "Session", "State", "Agent", "Serves", "Mode", "Turn#"];
    let content = html! {
        h1 { "Sessions" }
        @if found.is_empty() { (page::nothing("No sessions yet.")) } @else { (page::table("Sessions", &head, rows)) }
        (page::older("/sessions", &[], last.as_deref()))
    };
    Ok(page::page(&visitor, "/sessions", "Sessions", &content))
}

/// Something that happened at a time.
struct Moment {
    at_ms: i64,
    turn: u64,
    shown: Markup,
}

/// One session with its timeline.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path(session): Path<String>,
) -> Result<Response, Failed> {
    let one = sessions::one(&door, &visitor.who, &session).await?;
    let (mut moments, is_cut) = moments(&door, &visitor.who, &one).await?;
    moments.sort_by_key(|moment| moment.at_ms);
    let content = html! {
        p .path { a href={ (HOME) "/sessions" } { "Sessions" } }
        h1 { "Session " (page::id(&one.id)) }
        dl .facts {
            div { dt { "State" } dd { (badge(phase(&one))) } }
            div { dt { "Agent" } dd { (visible(&one.agent)) } }
            div { dt { "Serves" } dd { (visible(&one.principal.to_string())) } }
            div { dt { "Mode" } dd { (one.mode.as_str()) } }
            div { dt { "Registry" } dd { (page::id(&one.registry_version)) } }
            div { dt { "Began" } dd { (page::instant(one.created_at_ms)) } }
            div { dt { "Turn" } dd { (one.turn.number) @if one.turn.open { " (going on)" } } }
            div { dt { "Chain of turns" } dd { (page::id(&one.turn.group)) } }
            div { dt { "Messages that wait" } dd { (one.waiting.len()) } }
            div { dt { "Intents that wait" } dd { (one.deferred.len()) } }
        }
        h2 { "Timeline" }
        ol .timeline {
            li { (page::instant(one.created_at_ms)) " " span { "The session began." } }
            @if is_cut {
                li { span .note { "What happened then is not shown: of calls, effects and questions these are the last " (MOST) " each." } }
            }
            @for moment in &moments {
                li {
                    (page::instant(moment.at_ms))
                    @if moment.turn > 0 { span .note { " turn " (moment.turn) } }
                    " " span { (moment.shown) }
                }
            }
        }
    };
    Ok(page::page(&visitor, "/sessions", "Session", &content))
}

/// So many of each kind are in a timeline.
const MOST: usize = 500;

/// What happened, and whether it is the end of more than that.
async fn moments(door: &Door, who: &Who, session: &Session) -> Result<(Vec<Moment>, bool), Failed> {
    let (own, limit) = (Some(session.id.clone()), Some(MOST + 1));
    let filter = records::Filter { session: own.clone(), limit, ..Default::default() };
    let mut calls = records::found(door, who, filter).await?;
    let filter = effects::Filter { session: own.clone(), limit, ..Default::default() };
    let mut effects = effects::found(door, who, filter).await?;
    let mut asked = match who.is(Role::Approver) {
        true => {
            let filter = confirmations::Filter { session: own, limit, ..Default::default() };
            confirmations::found(door, who, filter).await?
        }
        false => Vec::new(),
    };
    let is_cut = [
        page::cut(&mut calls, MOST).is_some(),
        page::cut(&mut effects, MOST).is_some(),
        page::cut(&mut asked, MOST).is_some(),
    ];
    let now_ms = door.runtime.store().now_ms();
    let mut all: Vec<Moment> = Vec::new();
    all.extend(calls.iter().map(|one| Moment {
        at_ms: one.started_at_ms,
        turn: one.turn,
        shown: html! {
            "Called " (page::id(&one.tool)) " " (page::ended(one.error)) " in " (page::span(one.duration_us))
            " · " a href={ (HOME) "/calls/" (encode(&one.call)) } { "details" }
        },
    }));
    all.extend(effects.iter().map(|one| Moment {
        at_ms: one.started_at_ms,
        turn: one.effect.turn,
        shown: html! {
            "Side effect of " (page::id(&one.effect.tool)) " " (badge(one.state.as_str())) " · "
            a href={ (HOME) "/effects/" (encode(&one.effect.call)) } { "effect" }
        },
    }));
    all.extend(asked.iter().map(|one| Moment {
        at_ms: one.asked_at_ms,
        turn: 0,
        shown: html! {
            "Asked a person about " (page::id(&one.tool)) " " (badge(stands(one, now_ms))) " · "
            a href={ (HOME) "/confirmations/" (encode(&one.id)) } { "question" }
        },
    }));
    Ok((all, is_cut.contains(&true)))
}
