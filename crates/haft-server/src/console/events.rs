//! Calls as they happen, those that were, and one of them in full.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use haft_core::record::{InvocationRecord, Written};
use maud::{Markup, html};
use serde::Deserialize;

use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor};
use super::visible::visible;
use super::{HOME, encode};
use crate::api::paging::placed;
use crate::api::{effects, records};
use crate::door::Door;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    tool: Option<String>,
    after: Option<String>,
}

/// How many calls a page has.
const PAGE: usize = 50;

/// Live events where scripts run, and the last calls everywhere.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    let tool = asked.tool.filter(|tool| !tool.is_empty());
    let (limit, after) = (Some(PAGE + 1), asked.after);
    let filter = records::Filter { tool: tool.clone(), after, limit, ..Default::default() };
    let after = filter.after.clone();
    let mut found = records::found(&door, &visitor.who, filter).await?;
    let before = records::one(&door, &visitor.who, after.as_deref().unwrap_or_default());
    placed(&found, after.as_deref(), before).await?;
    let last = page::cut(&mut found, PAGE).map(|one| one.call.to_string());
    let own = [("tool", tool.as_deref().unwrap_or_default())];
    let head = ["Time (UTC)", "What", "Ended", "Agent", "Tool", "Call"];
    let of_tool = tool.as_deref().map(|tool| format!("?tool={}", encode(tool)));
    let stream = format!("{HOME}/events/stream{}", of_tool.unwrap_or_default());
    let content = html! {
        h1 { "Events" }
        section #live data-stream=(stream) hidden aria-labelledby="live-head" {
            h2 #live-head { "As they happen" }
            p role="status" #live-state { "Connecting…" }
            (page::table("Events as they happen", &head, std::iter::empty()))
        }
        noscript { p .note { "Live events need scripts. Load the page again to see new calls." } }
        h2 { "Last calls" }
        @if let Some(tool) = &tool {
            p { "Of " (page::id(tool)) ". " a href={ (HOME) "/events" } { "Of all tools" } }
        }
        (calls(&found))
        (page::older("/events", &own, last.as_deref()))
    };
    Ok(page::page(&visitor, "/events", "Events", &content))
}

/// Calls, one a row.
pub(crate) fn calls(all: &[InvocationRecord]) -> Markup {
    if all.is_empty() {
        return page::nothing("No calls yet.");
    }
    let rows = all.iter().map(|one| {
        html! {
            tr role="row" {
                td role="cell" data-label="Time (UTC)" { (page::time(one.started_at_ms)) }
                td role="cell" data-label="Tool" { (page::id(&one.tool)) }
                td role="cell" data-label="Ended" { (page::ended(one.error)) }
                td role="cell" data-label="Agent" { (visible(&one.agent)) }
                td role="cell" data-label="By" { (visible(&one.actor.to_string())) }
                td .number role="cell" data-label="Took" { (page::span(one.duration_us)) }
                td role="cell" data-label="Details" { a href={ (HOME) "/calls/" (encode(&one.call)) } { "Details" span .unseen { " of " (one.call) } } }
            }
        }
    });
    let head = ["Time (UTC)", "Tool", "Ended", "Agent", "By", "Took#", "Details"];
    page::table("Calls", &head, rows)
}

/// One call, in the view that redaction allows.
pub(crate) async fn call(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path(call): Path<String>,
) -> Result<Response, Failed> {
    let one = records::one(&door, &visitor.who, &call).await?;
    let stage = serde_json::to_value(one.stage).unwrap_or_default();
    let effect = effects::one(&door, &visitor.who, &call).await.ok();
    let content = html! {
        p .path { a href={ (HOME) "/events" } { "Events" } }
        h1 { "Call " (page::id(&one.call)) }
        dl .facts {
            div { dt { "Tool" } dd { (page::id(&one.tool)) @if let Some(version) = &one.tool_version { " " (version) } } }
            div { dt { "Ended" } dd { (page::ended(one.error)) @if let Some(kind) = one.error { " " (page::meaning(kind)) } } }
            @if let Some(effect) = &effect {
                div { dt { "Effect" } dd { (page::badge(effect.state.as_str())) " " (page::to_effect(&effect.effect.call)) } }
            }
            div { dt { "At stage" } dd { (stage.as_str().unwrap_or("–")) } }
            div { dt { "Began" } dd { (page::instant(one.started_at_ms)) } }
            div { dt { "Took" } dd { (page::span(one.duration_us)) } }
            div { dt { "Agent" } dd { (visible(&one.agent)) } }
            div { dt { "By" } dd { (visible(&one.actor.to_string())) } }
            @if let Some(subject) = &one.subject { div { dt { "For" } dd { (visible(&subject.to_string())) } } }
            @if let Some(session) = &one.session { div { dt { "Session" } dd { (page::link("/sessions", session)) } } }
            @if let Some(rule) = &one.rule { div { dt { "Rule" } dd { (page::id(rule)) } } }
            @if one.cached { div { dt { "Answered" } dd { "from memory" } } }
            @if one.attempts > 1 { div { dt { "Attempts" } dd { (one.attempts) } } }
            @if !one.warnings.is_empty() { div { dt { "Noticed" } dd { (visible(&one.warnings.join(", "))) } } }
        }
        @if let Some(message) = &one.message { p .notice.bad { (visible(message)) } }
        h2 { "Arguments" }
        (written(one.arguments.as_ref()))
        h2 { "Result" }
        (written(one.result.as_ref()))
        p .note { "What the contract does not allow to be seen is left out." }
    };
    Ok(page::page(&visitor, "/events", "Call", &content))
}

fn written(view: Option<&Written>) -> Markup {
    match view {
        Some(view) => page::json(&view.value()),
        None => page::nothing("None."),
    }
}
