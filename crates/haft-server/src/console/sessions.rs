//! Sessions, and what happened in one, in order.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use haft_core::session::{Phase, Session};
use maud::{Markup, html};
use serde::Deserialize;

use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor, badge};
use super::visible::visible;
use super::{HOME, encode};
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
    let mut moments = moments(&door, &visitor.who, &one).await?;
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
            div { dt { "Began" } dd { (page::time(one.created_at_ms)) } }
            div { dt { "Turn" } dd { (one.turn.number) @if one.turn.open { " (going on)" } } }
            div { dt { "Chain of turns" } dd { (page::id(&one.turn.group)) } }
            div { dt { "Messages that wait" } dd { (one.waiting.len()) } }
            div { dt { "Intents that wait" } dd { (one.deferred.len()) } }
        }
        h2 { "Timeline" }
        ol .timeline {
            li { (page::time(one.created_at_ms)) " " span { "The session began." } }
            @for moment in &moments {
                li {
                    (page::time(moment.at_ms))
                    @if moment.turn > 0 { span .note { " turn " (moment.turn) } }
                    " " span { (moment.shown) }
                }
            }
        }
    };
    Ok(page::page(&visitor, "/sessions", "Session", &content))
}

async fn moments(door: &Door, who: &Who, session: &Session) -> Result<Vec<Moment>, Failed> {
    let own = Some(session.id.clone());
    let filter = records::Filter { session: own.clone(), limit: Some(500), ..Default::default() };
    let calls = records::found(door, who, filter).await?;
    let filter = effects::Filter { session: own.clone(), limit: Some(500), ..Default::default() };
    let effects = effects::found(door, who, filter).await?;
    let asked = match who.is(Role::Approver) {
        true => {
            let filter =
                confirmations::Filter { session: own, limit: Some(500), ..Default::default() };
            confirmations::found(door, who, filter).await?
        }
        false => Vec::new(),
    };
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
        shown: html! { "Asked a person about " (page::id(&one.tool)) " " (badge(one.status.as_str())) },
    }));
    Ok(all)
}
