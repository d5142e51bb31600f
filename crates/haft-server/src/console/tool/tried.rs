//! What came of a tool's form.

use haft_core::{Envelope, ErrorKind, ToolError};
use maud::{Markup, html};
use serde_json::Value;

use crate::console::page::{self, badge};
use crate::console::posted::Posted;
use crate::console::visible::visible;
use crate::console::{HOME, encode, form};
use crate::who::{Role, Who};

/// A form, and what came of it.
pub(super) struct Tried<'a> {
    pub(super) form: &'a Posted,
    pub(super) came: Came,
    /// The call whose effect is on record.
    pub(super) effect: Option<String>,
}

/// What came of a form.
pub(super) enum Came {
    /// A call, or a dry run.
    Ended(Box<Envelope>),
    /// What was filled in makes no arguments.
    Wrong(form::Wrong),
    /// What it was made for is another by now.
    Other(Other),
}

/// What of that which a form was made for is another by now.
pub(super) enum Other {
    /// The tool.
    Tool,
    /// The account of this connection.
    Account(String),
}

impl Tried<'_> {
    /// What is wrong with what was filled in.
    pub(super) fn wrong(&self) -> Vec<form::Wrong> {
        match &self.came {
            Came::Wrong(wrong) => vec![wrong.clone()],
            Came::Ended(envelope) => form::Wrong::of(envelope),
            Came::Other(_) => Vec::new(),
        }
    }
}

pub(super) fn outcome(tried: &Tried<'_>, who: &Who) -> Markup {
    let is_dry = tried.form.one("do") != Some("call");
    let heading = match &tried.came {
        Came::Other(_) => "Nothing was called",
        Came::Ended(_) | Came::Wrong(_) if is_dry => "Dry run: nothing was done",
        Came::Ended(_) | Came::Wrong(_) => "Outcome",
    };
    html! {
        // Where a page begins with what came of it, whoever does not see that begins there, too.
        section .outcome aria-labelledby="outcome" tabindex="-1" autofocus {
            h2 #outcome { (heading) }
            @match &tried.came {
                Came::Wrong(wrong) => p .notice.bad #why role="alert" { (visible(&wrong.message)) },
                Came::Ended(envelope) => (enveloped(envelope, is_dry, who, tried.effect.as_deref())),
                Came::Other(other) => p .notice.wait #why role="alert" { (said_of(other)) },
            }
        }
    }
}

/// Why a form counts no more.
fn said_of(other: &Other) -> Markup {
    html! {
        @match other {
            Other::Tool => {
                "The tool has changed since this form was opened, and this click called nothing. What stood in the \
                 fields is not taken over: read what they mean now, and fill them in anew."
            }
            Other::Account(id) => {
                "The connection " (page::id(id)) " is not the account that it was when this form was opened, or not \
                 yours to use any more. This click called nothing: look at it, and choose again."
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
                // What else is said to do is for the model that would have called, which has a user to ask.
                @if error.kind == ErrorKind::ConfirmationRequired { (waits(who, error)) }
                @else if !error.suggestion.is_empty() { p { (visible(&error.suggestion)) } }
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

/// Where the question waits, and who can answer. A link is for those whom it leads anywhere.
fn waits(who: &Who, error: &ToolError) -> Markup {
    let id = error.details.as_ref().and_then(|details| details.pointer("/confirmation/id"));
    let id = id.and_then(Value::as_str).unwrap_or_default();
    html! {
        p {
            @if who.is(Role::Approver) {
                a href={ (HOME) "/confirmations/" (encode(id)) } { "The question" } " waits for somebody else than you"
            } @else {
                "The question waits for a person whose key has the role " code { "approver" } " or " code { "administrator" }
                ", on their page Approvals"
            }
            ". Once they have approved, make the call again with the same arguments: it goes through then."
        }
    }
}

fn would_run(plan: &Value) -> bool {
    plan.get("wouldRun").and_then(Value::as_bool) == Some(true)
}
