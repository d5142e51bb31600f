//! Questions for people: what would be done, exactly, and two buttons.

use std::sync::Arc;

use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use haft_core::ErrorKind;
use haft_core::record::{Confirmation, ConfirmationStatus};
use haft_runtime::runtime::Void;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::guard::Failed;
use super::guard::Params;
use super::page::{self, Visitor, badge};
use super::posted::Posted;
use super::visible::{self, judged, visible};
use super::visits::Unasked;
use super::{FRESH, HOME, encode, sign_in};
use crate::api::paging::placed;
use crate::api::{confirmations, need};
use crate::door::Door;
use crate::pieces::hidden;
use crate::problem::Problem;
use crate::who::Role;

/// How many of those that were asked are looked at for a page of answered ones.
const PAGE: usize = 100;
/// How many that wait are on one page.
const WAITING: usize = 50;
/// A question of more bytes than this has a page of its own, and so have those for which the list has no
/// room left: whoever writes long questions must not keep others from being read.
const SHORT: usize = 16 << 10;
const ROOM: usize = 256 << 10;
/// So many bytes are shown of what has a page of its own.
const START: usize = 300;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    done: Option<ConfirmationStatus>,
    /// The word of the form that it was done with.
    word: String,
    after: Option<String>,
    /// The last of those that wait on the page before.
    waits: Option<String>,
}

/// Whether somebody can still answer.
fn is_open(one: &Confirmation, now_ms: i64) -> bool {
    one.status == ConfirmationStatus::Pending && one.expires_at_ms > now_ms
}

/// Questions that wait, and those that were answered.
pub(crate) async fn list(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Params(asked): Params<Asked>,
) -> Result<Response, Failed> {
    let now_ms = door.runtime.store().now_ms();
    // Asked for by themselves: however many were answered since, none that waits is left out.
    let waiting = confirmations::Filter {
        status: Some(ConfirmationStatus::Pending),
        // Nobody answers what is void, however much of it there is.
        open_after_ms: Some(now_ms),
        after: asked.waits.clone(),
        limit: Some(WAITING + 1),
        ..confirmations::Filter::default()
    };
    let mut open = confirmations::found(&door, &visitor.who, waiting).await?;
    let more = page::cut(&mut open, WAITING).map(|one| one.id.clone());
    let (mut waiting, mut void) = (Vec::with_capacity(open.len()), Vec::new());
    let mut room = ROOM;
    for one in &open {
        let why = door.runtime.void(one).await;
        let asked = among_others(&door, &visitor, one, why, &mut room);
        if why.is_some() { void.push(asked) } else { waiting.push(asked) }
    }
    let (after, limit) = (asked.after.clone(), Some(PAGE + 1));
    let filter = confirmations::Filter { after, limit, ..confirmations::Filter::default() };
    let mut past = confirmations::found(&door, &visitor.who, filter).await?;
    let before =
        confirmations::one(&door, &visitor.who, asked.after.as_deref().unwrap_or_default());
    placed(&past, asked.after.as_deref(), before).await?;
    let last = page::cut(&mut past, PAGE).map(|one| one.id.clone());
    past.retain(|one| !is_open(one, now_ms));
    let content = html! {
        h1 { "Approvals" }
        @if let Some(done) = asked.done {
            @let approver = door.visits.came_of(&visitor.id, &asked.word);
            (recorded(done, approver.as_deref()))
        }
        @if !is_fresh(&visitor) && !open.is_empty() {
            (sign_in::proving(&visitor, "/console/confirmations", "to answer"))
        }
        @if waiting.is_empty() && more.is_none() { (page::nothing("Nothing waits for a person.")) }
        @for one in waiting { (one) }
        @if !void.is_empty() {
            h2 { "Can no longer be approved" }
            @for one in void { (one) }
        }
        @if let Some(more) = more {
            p { a href={ (HOME) "/confirmations?waits=" (encode(&more)) } { "More that nobody has answered" } }
        }
        h2 { "Answered or expired" }
        (answered(&past, now_ms))
        (page::older("/confirmations", &[], last.as_deref()))
    };
    Ok(page::page(&visitor, "/confirmations", "Approvals", &content))
}

/// What was done. Whoever declines what somebody else has approved meanwhile has taken that back.
fn recorded(done: ConfirmationStatus, approver: Option<&str>) -> Markup {
    html! {
        p .notice.good role="status" {
            "Recorded: " (done.as_str()) "."
            @if let Some(approver) = approver {
                " It took back the approval of " (visible(approver)) ", with which no call had been made yet."
            }
        }
    }
}

/// A question in the list: whole, where there is room for it.
fn among_others(
    door: &Door,
    visitor: &Visitor,
    one: &Confirmation,
    void: Option<Void>,
    room: &mut usize,
) -> Markup {
    let size = size(one);
    if size > SHORT.min(*room) {
        return entry(one, size);
    }
    *room -= size;
    let now_ms = door.runtime.store().now_ms();
    question(door, visitor, one, void, answers(one, void, now_ms))
}

fn is_fresh(visitor: &Visitor) -> bool {
    visitor.proven < FRESH
}

/// One question whole, and what became of it.
pub(crate) async fn show(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Path(id): Path<String>,
) -> Result<Response, Failed> {
    need(&visitor.who, Role::Approver)?;
    let one = confirmations::one(&door, &visitor.who, &id).await?;
    Ok(shown(&door, &visitor, one, page::empty()).await)
}

/// The page, with what came of an answer.
async fn shown(door: &Door, visitor: &Visitor, one: Confirmation, said: Markup) -> Response {
    let now_ms = door.runtime.store().now_ms();
    let place = format!("{HOME}/confirmations/{}", encode(&one.id));
    let void = if is_open(&one, now_ms) { door.runtime.void(&one).await } else { None };
    let answers = answers(&one, void, now_ms);
    let content = html! {
        p .path { a href={ (HOME) "/confirmations" } { "Approvals" } }
        h1 { "A question " (badge(stands(&one, now_ms))) }
        (said)
        @if !answers.is_empty() && !is_fresh(visitor) { (sign_in::proving(visitor, &place, "to answer")) }
        @if let Some(by) = &one.decided_by { p { "Answered by " (visible(&by.to_string())) "." } }
        (question(door, visitor, &one, void, answers))
    };
    page::page(visitor, "/confirmations", "A question", &content)
}

/// What was answered before, perhaps by the first half of a double click.
fn answered_already(one: &Confirmation, now_ms: i64) -> Option<Markup> {
    let by = one.decided_by.as_ref()?;
    let how = match one.status {
        ConfirmationStatus::Pending => return None,
        ConfirmationStatus::Approved if one.expires_at_ms <= now_ms => {
            "approved, and its time was over before a call was made with it"
        }
        ConfirmationStatus::Approved => "approved",
        ConfirmationStatus::Denied => "denied",
        ConfirmationStatus::Spent => "approved, and the call was made with it",
    };
    Some(html! {
        p .notice.wait role="status" {
            "It was answered already, by " (visible(&by.to_string())) ": " (how) ". This click changed nothing."
        }
    })
}

/// How many bytes there are to be read.
fn size(one: &Confirmation) -> usize {
    let odd: usize = one.suspicious.iter().map(String::len).sum();
    one.preview.len() + one.arguments.to_string().len() + odd
}

/// The beginning of a text that has a page of its own.
fn start(text: &str) -> Markup {
    let end = text.floor_char_boundary(START.min(text.len()));
    let start = text.get(..end).unwrap_or_default();
    html! { (judged(start)) @if start.len() < text.len() { "…" } }
}

/// A question that is too long to stand among others. What is not shown cannot be approved: the buttons
/// are on its own page.
fn entry(one: &Confirmation, size: usize) -> Markup {
    let heading = format!("q-{}", one.id);
    html! {
        article .card.question aria-labelledby=(heading) {
            h2 id=(heading) { (page::id(&one.tool)) }
            p .preview { (start(&one.preview)) }
            p .note {
                "Asked by " (visible(&one.actor.to_string())) ", " (page::instant(one.asked_at_ms)) ". "
                (size.div_ceil(1 << 10)) " KiB are too much to be read among others"
                @if !one.suspicious.is_empty() { ", and something in it does not look like what it is" } "."
            }
            a .action href={ (HOME) "/confirmations/" (encode(&one.id)) } {
                "Read all of it, and answer" span .unseen { ": " (one.tool) }
            }
        }
    }
}

/// An answer: its word, its button, and how that looks.
type Answer = (&'static str, &'static str, &'static str);

const DENY: Answer = ("deny", "Deny", "quiet");
const APPROVE: Answer = ("approve", "Approve", "strong");
/// A no is one also where somebody has said yes before.
const TAKE_BACK: Answer = ("deny", "Take back", "quiet");

/// What can be answered to a question now.
fn answers(one: &Confirmation, void: Option<Void>, now_ms: i64) -> &'static [Answer] {
    match one.status {
        _ if one.expires_at_ms <= now_ms => &[],
        ConfirmationStatus::Pending if void.is_some() => &[DENY],
        ConfirmationStatus::Pending => &[DENY, APPROVE],
        ConfirmationStatus::Approved => &[TAKE_BACK],
        ConfirmationStatus::Denied | ConfirmationStatus::Spent => &[],
    }
}

/// A question, whole, with its buttons.
fn question(
    door: &Door,
    visitor: &Visitor,
    one: &Confirmation,
    void: Option<Void>,
    answers: &[Answer],
) -> Markup {
    asked(one, void, below(door, visitor, one, answers))
}

/// The buttons, for whoever may press them, or why they may not.
fn below(door: &Door, visitor: &Visitor, one: &Confirmation, answers: &[Answer]) -> Markup {
    let is_open = one.status == ConfirmationStatus::Pending;
    if answers.is_empty() {
        page::empty()
    } else if one.actor == visitor.who.principal {
        let what = if is_open { "has to answer" } else { "can take the approval back" };
        html! { p .note { "You asked for this yourself: somebody else " (what) "." } }
    } else if is_fresh(visitor) {
        html! {
            @if !is_open { p .note { "The approval was not used yet. Taken back, it is a no." } }
            (buttons(door, visitor, one, answers))
        }
    } else {
        page::empty()
    }
}

/// Everything that is asked.
fn asked(one: &Confirmation, void: Option<Void>, below: Markup) -> Markup {
    let heading = format!("q-{}", one.id);
    html! {
        article .card.question aria-labelledby=(heading) {
            h2 id=(heading) { (page::id(&one.tool)) }
            p .preview { (judged(&one.preview)) }
            @if let Some(void) = void {
                p .notice.wait role="note" {
                    "It cannot be approved: " (void.in_words()) ". The agent has to make the call again."
                }
            }
            @if !one.suspicious.is_empty() {
                div .notice.bad role="note" {
                    strong { "Look twice" }
                    ul { @for why in &one.suspicious { li { (visible(why)) } } }
                }
            }
            (arguments(one))
            dl .facts {
                div { dt { "Asked by" } dd { (visible(&one.actor.to_string())) } }
                div { dt { "Agent" } dd { (visible(&one.agent)) } }
                @if let Some(subject) = &one.subject { div { dt { "For" } dd { (visible(&subject.to_string())) } } }
                @if let Some(connection) = &one.connection { div { dt { "Connection" } dd { (page::id(connection)) } } }
                @if let Some(session) = &one.session { div { dt { "Session" } dd { (page::id(session)) } } }
                div { dt { "Asked" } dd { (page::instant(one.asked_at_ms)) } }
                div { dt { "Void after" } dd { (page::instant(one.expires_at_ms)) } }
            }
            (below)
        }
    }
}

/// Each answer is a form of its own, good once, on a page that was there long enough to be read.
fn buttons(door: &Door, visitor: &Visitor, one: &Confirmation, answers: &[Answer]) -> Markup {
    let word = door.visits.ask(&visitor.id, &one.id);
    let place = format!("{HOME}/confirmations/{}", encode(&one.id));
    html! {
        div .row {
            @for (answer, name, tone) in answers {
                form method="post" action=(place) data-wait="1000" {
                    (page::token(visitor))
                    input type="hidden" name="word" value=(word);
                    input type="hidden" name="answer" value=(answer);
                    button .(tone) type="submit" aria-label={ (name) " " (one.tool) } { (name) }
                }
            }
        }
    }
}

/// The effective arguments, one a row, each whole.
fn arguments(one: &Confirmation) -> Markup {
    let Value::Object(members) = &one.arguments else { return argument(&one.arguments) };
    if members.is_empty() {
        return page::nothing("Without arguments.");
    }
    let rows = members.iter().map(|(name, value)| {
        html! {
            tr role="row" {
                th scope="row" role="rowheader" data-label="Argument" { code .id { (visible::value(name)) } }
                td .value role="cell" data-label="Value" {
                    (argument(value))
                    @if let Some(hidden) = hidden(value) { p .note { "Cannot be seen in it: " (hidden) } }
                }
            }
        }
    });
    // Each region of a page has a name of its own.
    page::table(
        &format!("What {} would be called with ({})", one.tool, one.id),
        &["Argument", "Value"],
        rows,
    )
}

/// Never cut: what is not shown cannot be approved.
fn argument(value: &Value) -> Markup {
    match value {
        Value::String(text) => visible::value(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => html! { code { (value.to_string()) } },
        Value::Array(_) | Value::Object(_) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            html! { pre tabindex="0" { (judged(&text)) } }
        }
    }
}

/// Where a question stands: nobody can answer one any longer whose time is over.
pub(crate) fn stands(one: &Confirmation, now_ms: i64) -> &'static str {
    let is_over = one.status == ConfirmationStatus::Pending && one.expires_at_ms <= now_ms;
    if is_over { "expired" } else { one.status.as_str() }
}

fn answered(past: &[Confirmation], now_ms: i64) -> Markup {
    if past.is_empty() {
        return page::nothing("None yet.");
    }
    let rows = past.iter().map(|one| {
        html! {
            tr role="row" {
                td role="cell" data-label="Asked (UTC)" { (page::time(one.asked_at_ms)) }
                td role="cell" data-label="Tool" { (page::id(&one.tool)) }
                td .value role="cell" data-label="Question" {
                    a .plain href={ (HOME) "/confirmations/" (encode(&one.id)) } { span .preview { (start(&one.preview)) } }
                }
                td role="cell" data-label="State" { (badge(stands(one, now_ms))) }
                td role="cell" data-label="By" { @if let Some(by) = &one.decided_by { (visible(&by.to_string())) } }
            }
        }
    });
    page::table("Answered questions", &["Asked (UTC)", "Tool", "Question", "State", "By"], rows)
}

/// Approves or declines.
pub(crate) async fn answer(
    State(door): State<Arc<Door>>,
    Extension(visitor): Extension<Visitor>,
    Extension(form): Extension<Posted>,
    Path(id): Path<String>,
) -> Result<Response, Failed> {
    let approve = match form.one("answer") {
        Some("approve") => true,
        Some("deny") => false,
        Some(_) | None => return Err(Problem::malformed("the form has no answer").into()),
    };
    if visitor.proven >= FRESH {
        let why = Problem::forbidden("you signed in too long ago to answer");
        return Err(why.advise("go back, show your key again, then answer").into());
    }
    let word = form.one("word").unwrap_or_default();
    let counts = door.visits.answer(&visitor.id, word, &id);
    if counts == Err(Unasked::Gone)
        && let Some(page) = overtaken(&door, &visitor, &id).await
    {
        return Ok(page);
    }
    counts.map_err(|why| match why {
        Unasked::TooEarly => {
            Problem::forbidden("the question was shown for less than a second before its answer")
                .advise("go back, read it, then answer")
        }
        Unasked::Gone => Problem::forbidden("this page is too old to answer on")
            .advise("load the page again, and answer what is still open"),
    })?;
    let approver = confirmations::approver(&door, &visitor.who, &id).await.filter(|_| !approve);
    let decided = match confirmations::answered(&door, &visitor.who, &id, approve).await {
        Ok(decided) => decided,
        // An answer that could not be recorded is none, whatever stands there.
        Err(why) if why.code() != ErrorKind::ConfirmationRefused.as_str() => return Err(why.into()),
        Err(why) => return overtaken(&door, &visitor, &id).await.ok_or(why.into()),
    };
    let status = decided.confirmation.status.as_str();
    let place = format!("{HOME}/confirmations?done={status}");
    let Some(approver) = approver else { return Ok(Redirect::to(&place).into_response()) };
    door.visits.came(&visitor.id, word, &approver.to_string());
    Ok(Redirect::to(&format!("{place}&word={}", encode(word))).into_response())
}

/// The question and its answer, where somebody was faster.
async fn overtaken(door: &Door, visitor: &Visitor, id: &str) -> Option<Response> {
    need(&visitor.who, Role::Approver).ok()?;
    let one = confirmations::one(door, &visitor.who, id).await.ok()?;
    let said = answered_already(&one, door.runtime.store().now_ms())?;
    let mut page = shown(door, visitor, one, said).await;
    *page.status_mut() = StatusCode::CONFLICT;
    Some(page)
}
