//! Side effects: what was done, what nobody knows, and what to do about it.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::response::Response;
use haft_adm::strict;
use haft_core::contract::Compensation;
use haft_core::ledger::{EffectRecord, State as Stands};
use haft_runtime::effects::{Found, UndoTarget, Undone, UndoneStatus};
use maud::{Markup, html};
use serde::Deserialize;

use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor, badge};
use super::posted::Posted;
use super::visible::visible;
use super::{HOME, encode};
use crate::api::paging::placed;
use crate::api::{effects, records};
use crate::door::Door;
use crate::problem::Problem;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    state: String,
    after: Option<String>,
}

/// How many effects a page has.
const PAGE: usize = 200;

/// Effects, newest first.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    let state = Stands::parse(&asked.state);
    if state.is_none() && !asked.state.is_empty() {
        return Err(Problem::malformed("`state`: there is no such state").into());
    }
    let (limit, after) = (Some(PAGE + 1), asked.after.clone());
    let filter = effects::Filter { state, after, limit, ..effects::Filter::default() };
    let mut found = effects::found(&door, &visitor.who, filter).await?;
    let before = effects::one(&door, &visitor.who, asked.after.as_deref().unwrap_or_default());
    placed(&found, asked.after.as_deref(), before).await?;
    let last = page::cut(&mut found, PAGE).map(|one| one.effect.call.clone());
    let rows = found.iter().map(|one| {
        html! {
            tr role="row" {
                td role="cell" data-label="Began (UTC)" { (page::time(one.started_at_ms)) }
                th scope="row" role="rowheader" data-label="Tool" { (page::id(&one.effect.tool)) }
                td role="cell" data-label="State" { (badge(one.state.as_str())) }
                td role="cell" data-label="Class" { (one.effect.policy.as_str()) }
                td role="cell" data-label="Agent" { (visible(&one.effect.agent)) }
                td role="cell" data-label="By" { (visible(&one.effect.actor.to_string())) }
                td role="cell" data-label="Details" { a href={ (HOME) "/effects/" (encode(&one.effect.call)) } { "Open" span .unseen { " " (one.effect.call) } } }
            }
        }
    });
    let head = ["Began (UTC)", "Tool", "State", "Class", "Agent", "By", "Details"];
    let content = html! {
        h1 { "Effects" }
        form .row.filter method="get" action={ (HOME) "/effects" } {
            label for="state" { "State" }
            select #state name="state" {
                option value="" { "any" }
                @for one in Stands::ALL {
                    option value=(one.as_str()) selected[Some(one) == state] { (one.as_str().replace('_', " ")) }
                }
            }
            button type="submit" { "Show" }
        }
        @if found.is_empty() { (page::nothing("None.")) } @else { (page::table("Effects", &head, rows)) }
        (page::older("/effects", &[("state", &asked.state)], last.as_deref()))
    };
    Ok(page::page(&visitor, "/effects", "Effects", &content))
}

/// One effect.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path(call): Path<String>,
) -> Result<Response, Failed> {
    shown(&door, &visitor, &call, None).await
}

/// What came of a button.
type Said = (&'static str, String);

/// Probes, settles or undoes it.
pub(crate) async fn act(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Posted>,
    Path(call): Path<String>,
) -> Result<Response, Failed> {
    let who = &visitor.who;
    let said: Said = match form.one("do") {
        Some("probe") => {
            let probed = effects::probed(&door, who, &call).await?;
            let state = probed.effect.state.as_str().replace('_', " ");
            ("good", format!("{} says: {state}.", probed.tool))
        }
        Some(word @ ("happened" | "not_happened")) => {
            let note = form.one("note").unwrap_or_default();
            let found = found(word == "happened", form.one("answer"))?;
            let settled = effects::settled(&door, who, &call, found, note).await?;
            ("good", format!("Settled: {}.", settled.state.as_str().replace('_', " ")))
        }
        Some("answered") => {
            let note = form.one("note").unwrap_or_default();
            let found = found(true, form.one("answer"))?;
            effects::settled(&door, who, &call, found, note).await?;
            ("good", "What it answered is on record.".to_owned())
        }
        Some("undo") => {
            let undone = effects::undone(&door, who, &UndoTarget::Call(call.clone())).await?;
            undone.first().map_or(("wait", "Nothing was undone.".to_owned()), |one| {
                (tone(one.status), came_of(one))
            })
        }
        Some(_) | None => return Err(Problem::malformed("the form says nothing to do").into()),
    };
    shown(&door, &visitor, &call, Some(said)).await
}

/// What the form says; an answer that is not filled in is none.
fn found(happened: bool, answer: Option<&str>) -> Result<Found, Problem> {
    let answer = answer.map(str::trim).filter(|answer| !answer.is_empty());
    match (happened, answer) {
        (false, Some(_)) => Err(Problem::malformed(
            "what did not happen has answered nothing: leave the answer empty",
        )),
        (happened, None) => Ok(Found::bare(happened)),
        (true, Some(answer)) => {
            let read = strict::parse(answer, strict::Limits::default());
            let answer = read.map_err(|why| Problem::malformed(format!("the answer: {why}")))?;
            Ok(Found::Happened { answer: Some(answer) })
        }
    }
}

fn tone(status: UndoneStatus) -> &'static str {
    match status {
        UndoneStatus::Undone | UndoneStatus::AlreadyUndone => "good",
        UndoneStatus::NothingToUndo | UndoneStatus::CannotBeUndone => "wait",
        UndoneStatus::Unknown | UndoneStatus::Stuck | UndoneStatus::Denied => "bad",
    }
}

/// What came of undoing. That it is undone is a sentence of its own.
fn came_of(one: &Undone) -> String {
    let word = words(one.status);
    match one.status {
        UndoneStatus::Undone => format!("{word}."),
        UndoneStatus::AlreadyUndone => format!("{word}: it was {}.", one.message),
        UndoneStatus::NothingToUndo
        | UndoneStatus::CannotBeUndone
        | UndoneStatus::Unknown
        | UndoneStatus::Stuck
        | UndoneStatus::Denied => format!("{word}: {}.", one.message),
    }
}

fn words(status: UndoneStatus) -> &'static str {
    match status {
        UndoneStatus::Undone => "Undone",
        UndoneStatus::AlreadyUndone => "Undone already",
        UndoneStatus::NothingToUndo => "Nothing to undo",
        UndoneStatus::CannotBeUndone => "It cannot be undone",
        UndoneStatus::Unknown => "Unknown",
        UndoneStatus::Stuck => "Stuck",
        UndoneStatus::Denied => "Not allowed",
    }
}

async fn shown(
    door: &Door,
    visitor: &Visitor,
    call: &str,
    said: Option<Said>,
) -> Result<Response, Failed> {
    let one = effects::one(door, &visitor.who, call).await?;
    // A call that is being carried out has no record yet.
    let record = records::one(door, &visitor.who, call).await.ok();
    let named = declared(door, &one).await;
    let effect = &one.effect;
    let content = html! {
        p .path { a href={ (HOME) "/effects" } { "Effects" } }
        h1 { "Effect of " (page::id(&effect.tool)) }
        @if let Some((tone, words)) = &said { p .notice.(tone) role="status" { (visible(words)) } }
        dl .facts {
            div { dt { "State" } dd { (badge(one.state.as_str())) } }
            div { dt { "Class" } dd { (effect.policy.as_str()) span .about { (super::words::class(effect.policy)) } } }
            div { dt { "Began" } dd { (page::instant(one.started_at_ms)) } }
            @if let Some(at) = one.ended_at_ms { div { dt { "Ended" } dd { (page::instant(at)) } } }
            div { dt { "Agent" } dd { (visible(&effect.agent)) } }
            div { dt { "By" } dd { (visible(&effect.actor.to_string())) } }
            @if let Some(session) = &effect.session { div { dt { "Session" } dd { (page::link("/sessions", session)) } } }
            @if let Some(group) = &effect.turn_group { div { dt { "Chain of turns" } dd { (page::id(group)) } } }
            div { dt { "Attempt" } dd { (one.epoch) } }
            div { dt { "Call" } dd { (page::link("/calls", &effect.call)) } }
            @if let Some(other) = &effect.within { div { dt { "Part of" } dd { (page::link("/effects", other)) } } }
            @if let Some(other) = &effect.compensates { div { dt { "Undoes" } dd { (page::link("/effects", other)) } } }
            @if let Some(other) = &one.compensation_id { div { dt { "Undone by" } dd { (page::id(other)) } } }
            @if let Some(error) = &one.error { div { dt { "The call ended in" } dd { (badge(error.kind.as_str())) " " (page::meaning(error.kind)) } } }
            div { dt { "Key" } dd { (page::id(&one.key.to_string())) } }
        }
        @if let Some(meaning) = super::words::state(one.state) { p { (meaning) } }
        @if let Some(settled) = &one.resolution {
            p { "Settled by " (visible(&settled.by)) " at " (page::instant(settled.at_ms)) ": "
                (if settled.happened { "it happened" } else { "it did not happen" })
                @if !settled.note.is_empty() { " (" (visible(&settled.note)) ")" } "." }
        }
        @if let Some(why) = stuck(&one) { p .notice.bad { (visible(why)) } }
        (actions(visitor, &one, &named))
        @if let Some(view) = record.as_ref().and_then(|record| record.arguments.as_ref()) {
            h2 { "Arguments" }
            (page::json(&view.value()))
            p .note { "What the contract does not allow to be seen is left out." }
        }
    };
    Ok(page::page(visitor, "/effects", "Effect", &content))
}

/// Why undoing an effect did not go on.
fn stuck(one: &EffectRecord) -> Option<&str> {
    let why = one.compensation_result.as_ref().filter(|_| one.state == Stands::Stuck)?;
    why.get("stuck").and_then(serde_json::Value::as_str)
}

/// The tools that the contract of an effect names.
#[derive(Default)]
struct Declared {
    probe: Option<String>,
    undo: Option<String>,
    /// Whether what undoes it takes something from its answer.
    reads_answer: bool,
}

async fn declared(door: &Door, one: &EffectRecord) -> Declared {
    door.runtime.after(one).await.map_or_else(Declared::default, |after| Declared {
        probe: after.probe.map(|probe| probe.tool),
        reads_answer: after.compensation.as_ref().is_some_and(Compensation::reads_result),
        undo: after.compensation.map(|undo| undo.tool),
    })
}

fn actions(visitor: &Visitor, one: &EffectRecord, declared: &Declared) -> Markup {
    let place = format!("{HOME}/effects/{}", encode(&one.effect.call));
    match one.state {
        Stands::Unknown => html! {
            h2 { "Nobody knows whether it happened" }
            @if let Some(probe) = &declared.probe {
                form method="post" action=(place) {
                    (page::token(visitor))
                    p { (page::id(probe)) " can tell." }
                    button type="submit" name="do" value="probe" { "Probe" }
                }
            } @else {
                p { "The contract names no tool that could tell. Look where the effect would show, and say what you found." }
            }
            form .settle method="post" action=(place) {
                (page::token(visitor))
                label for="note" { "What you found out" }
                textarea #note name="note" rows="2" required placeholder="How do you know?" {}
                (answer(declared))
                div .row {
                    button type="submit" name="do" value="happened" { "It happened" }
                    button type="submit" name="do" value="not_happened" { "It did not happen" }
                }
            }
        },
        Stands::Succeeded | Stands::Happened if declared.reads_answer && one.result.is_none() => {
            html! {
                h2 { "Undo" }
                p { "What undoes it takes something from its answer, which is not on record." }
                form .settle method="post" action=(place) {
                    (page::token(visitor))
                    label for="note" { "What you found out" }
                    textarea #note name="note" rows="2" required placeholder="How do you know?" {}
                    (answer(declared))
                    button type="submit" name="do" value="answered" { "It answered this" }
                }
            }
        }
        Stands::Succeeded | Stands::Happened | Stands::Stuck | Stands::Compensating => html! {
            @if let Some(undo) = &declared.undo {
                h2 { "Undo" }
                form method="post" action=(place) {
                    (page::token(visitor))
                    p { "Calls " (page::id(undo)) ", once." }
                    button type="submit" name="do" value="undo" { "Undo" }
                }
            } @else {
                (page::nothing("It cannot be undone: the contract names no tool that would."))
            }
        },
        Stands::Started | Stands::Failed | Stands::NotHappened | Stands::Compensated => {
            page::nothing("There is nothing to do about it.")
        }
    }
}

/// Where to say what an effect answered.
fn answer(declared: &Declared) -> Markup {
    html! {
        label for="answer" { "What it answered, as JSON" }
        textarea #answer name="answer" rows="2" spellcheck="false" aria-describedby="answer-help" {}
        p #answer-help .note {
            @if declared.reads_answer { "Without it this cannot be undone by a tool." }
            @else { "Where you know it. Whoever makes the call again gets it." }
        }
    }
}
