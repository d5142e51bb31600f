//! What a model is told about the end of a call, before a dialect gives it its shape.

use std::borrow::Cow;

use haft_core::content::{Content, Contents};
use haft_core::outcome::{Clamped, Envelope, IntentStatus, Meta, Warning};
use haft_core::{ErrorKind, ToolError};
use serde_json::{Map, Value, json};

/// So many remarks are worth a model's attention.
const MOST_NOTES: usize = 5;

/// The longest value that a remark repeats.
const MOST_VALUE: usize = 60;

/// What a model is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// It went well.
    Done {
        /// The tool's answer.
        data: Value,
        /// What else the model should know, a sentence each.
        notes: Vec<String>,
    },
    /// It did not.
    Failed {
        /// `kind`, `message`, `advice`, and what belongs to them.
        error: Value,
    },
}

impl Told {
    /// One text, for dialects whose results are text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Done { data, notes } => {
                let mut text = match Contents::of(data) {
                    Some(shown) => in_words(&shown),
                    None => in_text(data).into_owned(),
                };
                for note in notes {
                    text.push_str("\n\nnote: ");
                    text.push_str(note);
                }
                text
            }
            Self::Failed { error } => json!({ "error": error }).to_string(),
        }
    }

    /// What else the model should know.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        match self {
            Self::Done { notes, .. } => notes,
            Self::Failed { .. } => &[],
        }
    }

    /// Whether it is an error.
    #[must_use]
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

/// An answer that shows nothing, as text.
pub(super) fn in_text(data: &Value) -> Cow<'_, str> {
    // An empty content reads as if the tool had not answered.
    match data.as_str().filter(|text| !text.is_empty()) {
        Some(plain) => Cow::Borrowed(plain),
        None => Cow::Owned(data.to_string()),
    }
}

/// What is to be shown, for a dialect that shows words only.
pub(super) fn in_words(shown: &Contents) -> String {
    let mut parts: Vec<String> = shown.blocks.iter().map(Content::in_words).collect();
    if !shown.data.is_empty() {
        parts.push(Value::Object(shown.data.clone()).to_string());
    }
    parts.join("\n\n")
}

/// What a model is told about the end of a call.
#[must_use]
pub fn told(envelope: &Envelope) -> Told {
    match &envelope.result {
        Ok(data) => Told::Done { data: data.clone(), notes: notes(envelope) },
        Err(error) => Told::Failed { error: failed(error) },
    }
}

fn failed(error: &ToolError) -> Value {
    let mut said = Map::new();
    said.insert("kind".into(), json!(error.kind));
    said.insert("message".into(), json!(error.message));
    said.insert("advice".into(), json!(advice(error)));
    if error.retryable {
        said.insert("retryable".into(), json!(true));
    }
    if error.partial_side_effects && error.kind != ErrorKind::UnknownOutcome {
        said.insert("partlyDone".into(), json!(true));
    }
    if let Some(details) = &error.details {
        said.insert("details".into(), details.clone());
    }
    Value::Object(said)
}

/// What the model does best next. Most places that raise an error know; where a model that acts on
/// its habits does harm, the words are ours.
pub(super) fn advice(error: &ToolError) -> String {
    let own = || error.suggestion.clone();
    match error.kind {
        ErrorKind::ConfirmationRequired => "nothing has been done yet; tell the user in your own \
            words what would be done and wait for them. You cannot approve it yourself. Do not \
            call this tool again before the user says that they have approved; then repeat the \
            call with exactly the same arguments"
            .to_owned(),
        ErrorKind::ConfirmationRefused => {
            format!("nothing was done; {}", error.suggestion)
        }
        ErrorKind::UnknownOutcome => "the effect may have happened, and nobody knows yet. Do not \
            repeat this call, and do not try to reach the same by another tool. Tell the user that \
            it is not known whether it was done and that it is being checked"
            .to_owned(),
        ErrorKind::InFlight => {
            "the same call is being carried out right now. Do not start another \
            one; if you need its answer, make this very call again later"
                .to_owned()
        }
        ErrorKind::Unavailable
        | ErrorKind::Denied
        | ErrorKind::Blocked
        | ErrorKind::RateLimited
        | ErrorKind::BudgetExceeded
        | ErrorKind::InvalidArguments
        | ErrorKind::IdempotencyKeyRequired
        | ErrorKind::RequestExpired
        | ErrorKind::ResultExpired
        | ErrorKind::Conflict
        | ErrorKind::Superseded
        | ErrorKind::Cancelled
        | ErrorKind::Timeout
        | ErrorKind::Transient
        | ErrorKind::Permanent
        | ErrorKind::NotFound
        | ErrorKind::SessionInactive
        | ErrorKind::Auth
        | ErrorKind::InvalidOutput
        | ErrorKind::RedactionFailed
        | ErrorKind::StoreUnavailable
        | ErrorKind::Internal => own(),
    }
}

pub(super) fn notes(envelope: &Envelope) -> Vec<String> {
    let Meta { cached, warnings, clamps, .. } = &envelope.meta;
    let mut notes = Vec::new();
    if *cached {
        notes.push("this was answered from the record; nothing was done again".to_owned());
    }
    notes.extend(clamps.iter().map(clamped));
    notes.extend(warnings.iter().map(warned));
    for applied in &envelope.intents {
        if let (IntentStatus::Refused, Some(why)) = (applied.status, &applied.reason) {
            let kind = json!(applied.intent);
            let kind = kind.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
            notes.push(format!("{kind} was refused: {why}"));
        }
    }
    let more = notes.len().saturating_sub(MOST_NOTES);
    notes.truncate(MOST_NOTES);
    if more > 0 {
        notes.push(format!("and {more} more remarks of this kind"));
    }
    notes
}

fn clamped(clamp: &Clamped) -> String {
    let path = place(&clamp.path);
    match (&clamp.before, &clamp.after) {
        (Some(before), Some(after)) => {
            format!("{path} was reduced from {} to {}", short(before), short(after))
        }
        (Some(_), None) => format!("{path} is not used in this mode and was left out"),
        (None, Some(after)) => format!("{path} was set to {} for this mode", short(after)),
        (None, None) => format!("{path} was limited for this mode"),
    }
}

fn warned(warning: &Warning) -> String {
    match warning.path.as_str() {
        "" => warning.message.clone(),
        path => format!("{}: {}", place(path), warning.message),
    }
}

/// A pointer as models write paths.
fn place(pointer: &str) -> String {
    let dotted = pointer.trim_start_matches('/').replace('/', ".");
    format!("`{}`", dotted.replace("~1", "/").replace("~0", "~"))
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MOST_VALUE) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
