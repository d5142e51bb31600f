//! `redact`: known secrets leave both views, and everything that is not allowed leaves the one for
//! UI and telemetry.

use haft_core::contract::Capability;
use haft_core::ledger::State;
use haft_core::outcome::Intent;
use haft_core::record::{Stage, Written};
use haft_core::{ErrorKind, ToolError};
use serde_json::{Value, json};

use super::Trip;
use super::check::{self, Checked};
use super::confirm::Approved;
use super::join::Joined;
use crate::redact::{WITHHELD, clean_text};
use crate::runtime::{Inner, Sieve};

/// Longer messages are cut: they are for a model to read.
const MAX_MESSAGE: usize = 4_000;

/// An end that may be remembered and shown. Made here and nowhere else.
pub(crate) struct Redacted {
    pub(crate) state: State,
    pub(crate) result: Result<Value, ToolError>,
    /// What UI and telemetry may see.
    pub(crate) view: Option<Written>,
    pub(crate) intents: Vec<Intent>,
    pub(crate) stage: Stage,
}

pub(crate) fn both_views(
    inner: &Inner,
    trip: &mut Trip,
    call: &Joined,
    checked: Checked,
) -> Redacted {
    let Checked { state, result, mut intents, stage } = checked;
    if trip.leased.is_some() {
        // What it was called by may be a secret that was known to nobody when it began.
        trip.hide_words(inner);
    }
    let secrets = trip.sieve(inner);
    for intent in &mut intents {
        if let Intent::SetPendingMessage { message } = intent
            && secrets.value(message).is_err()
        {
            *message = Value::Null;
        }
    }
    match result {
        Ok(mut data) => match secrets.value(&mut data) {
            Ok(_) => {
                let view = Written::of(&call.loaded.view.seen(&data)).ok();
                Redacted { state, result: Ok(data), view, intents, stage }
            }
            // What cannot be made safe is not shown, whatever it is.
            Err(why) => {
                let error = ToolError::new(
                    ErrorKind::RedactionFailed,
                    "the answer could not be made safe to show",
                )
                .caused_by(why);
                let error = check::withheld(call, error);
                Redacted { state, result: Err(error), view: None, intents, stage: Stage::Redact }
            }
        },
        Err(error) => {
            let mut error = error;
            // Before it is cut: what is quoted in part is harder to know.
            quote_nothing(trip, call, &mut error);
            let error = clean(&secrets, error);
            Redacted { state, result: Err(error), view: None, intents, stage }
        }
    }
}

/// What a handler says may quote its arguments, and what the tools that it called hide. Whoever called
/// knows that or is told; others see what redaction allows.
pub(super) fn quote_nothing(trip: &Trip, call: &Approved, error: &mut ToolError) {
    if let Some(seen) = seen_words(trip, call, error.shown()) {
        error.shown = Some(seen);
    }
}

/// What others may see of such words, where that is not all of them.
pub(super) fn seen_words(trip: &Trip, call: &Approved, words: &str) -> Option<String> {
    let (loaded, arguments) = (&call.loaded, call.effective());
    match &trip.confided {
        None => loaded.seen_words(words, arguments),
        Some(confided) => {
            confided.seen(words, |words, more| loaded.seen_words_without(words, arguments, more))
        }
    }
}

/// What is on record has no words for others, and what such a tool quotes nobody knows any more.
pub(super) fn withhold_kept(call: &Approved, error: &mut ToolError) {
    let calls_others = call.tool.tool.contract.capabilities.contains(&Capability::CallTool);
    // Of these the ledger says itself what is known.
    let ours = matches!(error.kind, ErrorKind::UnknownOutcome | ErrorKind::ResultExpired);
    if calls_others && !ours && error.shown.is_none() {
        error.shown = Some(WITHHELD.to_owned());
    }
}

/// An error whose words are safe to show and to log.
pub(crate) fn clean(secrets: &Sieve<'_>, mut error: ToolError) -> ToolError {
    let cleaned = secrets.error(&mut error).ok().and_then(|_| {
        let message = tidy(secrets, &error.message, MAX_MESSAGE)?;
        let suggestion = tidy(secrets, &error.suggestion, MAX_MESSAGE)?;
        let shown = match &error.shown {
            Some(shown) => Some(tidy(secrets, shown, MAX_MESSAGE)?),
            None => None,
        };
        Some((message, suggestion, shown))
    });
    match cleaned {
        Some((message, suggestion, shown)) => {
            (error.message, error.suggestion, error.shown) = (message, suggestion, shown);
            error
        }
        // What cannot be made safe is not shown; what went wrong still has a name.
        None => {
            let words = "the tool's own words could not be made safe to show";
            let mut safe = ToolError::new(error.kind, words);
            safe.partial_side_effects = error.partial_side_effects;
            safe.details = error.details.take().filter(|said| *said == json!({ "done": true }));
            safe
        }
    }
}

/// Words without what cannot be seen: that may have stood inside of a secret, so they are looked through once more
/// before they are cut.
pub(super) fn tidy(secrets: &Sieve<'_>, words: &str, most: usize) -> Option<String> {
    let whole = clean_text(words, usize::MAX);
    let safe = if whole == words { whole } else { secrets.text(&whole)? };
    Some(clean_text(&safe, most))
}
