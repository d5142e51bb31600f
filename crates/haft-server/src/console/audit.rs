//! The audit trail, and the check of it.

use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::response::Response;
use haft_core::port::Checked;
use maud::{Markup, html};
use serde_json::Value;

use super::HOME;
use super::guard::{self, Failed, Params};
use super::page::{self, Visitor};
use super::visible::visible;
use crate::api::audit;
use crate::door::Door;

/// The tenant's entries.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(part): Params<audit::Part>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, part, None).await
}

/// Checks the whole trail.
pub(crate) async fn verify(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Response, Failed> {
    let checked = audit::verified(&door, &visitor.who).await?;
    // What it found may have stopped effects just now.
    let unready = guard::unready(&door, &visitor.who.tenant).await;
    let visitor = Visitor { unready, ..visitor };
    shown(&door, &visitor, audit::Part::default(), Some(checked)).await
}

async fn shown(
    door: &Door,
    visitor: &Visitor,
    part: audit::Part,
    checked: Option<Checked>,
) -> Result<Response, Failed> {
    let part = audit::Part { limit: Some(part.limit.unwrap_or(100)), ..part };
    let entries = audit::entries(door, &visitor.who, part).await?;
    let at_home = door.is_home(&visitor.who);
    let place = |number: u64| door.runtime.place_of(&visitor.who.tenant, number);
    let last = entries.last().map(|entry| place(entry.number)).filter(|_| entries.len() >= 100);
    let rows = entries.iter().map(|entry| {
        let said = audit::said(entry);
        html! {
            tr role="row" {
                td .number role="cell" data-label="Entry" { @if at_home { (entry.number) } @else { (page::id(&place(entry.number))) } }
                td role="cell" data-label="Time (UTC)" { (page::time(entry.at_ms)) }
                td role="cell" data-label="Kind" { (visible(&entry.kind)) }
                td role="cell" data-label="About" { (about(&entry.kind, &said)) }
                td .value role="cell" data-label="Hash and content" {
                    details { summary { code .id { (entry.hash.hex().get(..16).unwrap_or_default()) "…" } } (page::json(&said)) }
                }
            }
        }
    });
    let content = html! {
        div .head {
            h1 { "Audit" }
            form method="post" action={ (HOME) "/audit" } {
                (page::token(visitor))
                button type="submit" { "Verify the trail" }
            }
        }
        p { "Every entry holds the hash of the one before it, across all tenants. You see your tenant's." }
        @if let Some(checked) = &checked { (found(checked, at_home)) }
        @if entries.is_empty() { (page::nothing("No entries.")) } @else {
            (page::table("Audit trail", &["Entry#", "Time (UTC)", "Kind", "About", "Hash and content"], rows))
        }
        @if let Some(last) = last { p { a href={ (HOME) "/audit?before=" (last) } { "Older entries" } } }
    };
    Ok(page::page(visitor, "/audit", "Audit", &content))
}

/// The words of an entry that say most: which tool, how it ended, by whom.
fn about(kind: &str, said: &Value) -> Markup {
    let record = said.get("record").unwrap_or(said);
    let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
    let ended = text(said, "state").or_else(|| text(said, "status"));
    let ended = ended.or_else(|| text(record, "error"));
    let is_call = record.get("durationUs").is_some();
    html! {
        @if kind == "config" { (configured(said)) }
        @if let Some(tool) = text(record, "tool") { (page::id(&tool)) " " }
        @if let Some(ended) = ended { (page::badge(&ended)) } @else if is_call { (page::badge("ok")) }
        @if let Some(by) = text(said, "by") { " by " (visible(&by)) }
    }
}

/// What was changed, into which version. What it says now is on the page of its kind.
fn configured(said: &Value) -> Markup {
    let text = |name: &str| said.get(name).and_then(Value::as_str).unwrap_or_default();
    html! {
        (visible(text("kind"))) " " (page::id(text("id"))) " "
        @if said.get("digest").is_none_or(Value::is_null) { "removed" }
        @else if let Some(version) = said.get("version").and_then(Value::as_u64) { "version " (version) }
    }
}

/// What the check found, and what somebody should look at all the same.
fn found(checked: &Checked, at_home: bool) -> Markup {
    html! {
        (verdict(checked, at_home))
        @if let Some(warning) = &checked.warning {
            p .notice.wait role="alert" { "Look at the clock: " (visible(warning)) "." }
        }
    }
}

fn verdict(checked: &Checked, at_home: bool) -> Markup {
    match &checked.broken {
        Some(broken) => html! {
            p .notice.bad role="alert" {
                @let why = if at_home { broken.1.clone() } else { audit::without_number(broken) };
                "Not intact: " (visible(&why)) ". "
                @if checked.unseen.is_some() {
                    "It stops the effects of those whose entries were touched, " (page::until_acknowledged()) "."
                } @else {
                    "Somebody has looked at it and gone on (" code { "haft audit acknowledge" } "): it stops nothing."
                }
            }
        },
        None if !at_home => html! { p .notice.good role="status" { "Intact." } },
        None => html! {
            p .notice.good role="status" {
                "Intact: " (checked.entries) " entries, " (checked.checkpoints) " signed checkpoints agree."
                @if checked.forgotten > 0 {
                    " " (checked.forgotten) " older ones were forgotten in their time; the chain is whole across them."
                }
                @if checked.checkpoints == 0 {
                    " Without a checkpoint, a tail that was cut off could not be noticed: "
                    code { "haft audit checkpoint" } " signs one."
                }
            }
            @if let Some(head) = &checked.head { p .note { "Head " (page::id(&head.to_string())) } }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_stands_beside_whatever_was_found() {
        for broken in [None, Some((7, "entry 7 is missing".to_owned()))] {
            for at_home in [false, true] {
                let (entries, forgotten, checkpoints, head) = (9, 0, 1, None);
                let warning = Some("the store's time is <b> ahead".to_owned());
                let broken = broken.clone();
                let one = Checked {
                    entries,
                    forgotten,
                    checkpoints,
                    head,
                    broken,
                    unseen: None,
                    warning,
                };
                let page = found(&one, at_home).into_string();
                assert!(page.contains("Look at the clock") && !page.contains("<b>"), "{page}");
                assert_eq!(page.contains("it stops nothing"), one.broken.is_some(), "{page}");
                let intact = if one.broken.is_none() { "Intact" } else { "Not intact" };
                assert!(page.contains(intact), "{page}");
                let page = found(&Checked { warning: None, ..one }, at_home).into_string();
                assert!(!page.contains("Look at the clock"), "{page}");
            }
        }
    }
}
