//! Intents: what handlers ask of a session, and what the session makes of it.

use haft_core::contract::Mode;
use haft_core::outcome::{After, Applied, Intent, IntentStatus};
use haft_core::session::{Deferred, Phase, Session};
use serde::{Deserialize, Serialize};

/// What the client reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// The farewell was spoken to its end.
    FarewellSpoken,
    /// The turn is over.
    TurnComplete,
}

impl Signal {
    fn releases(self, after: After) -> bool {
        match after {
            After::Immediately => true,
            After::FarewellSpoken => self == Self::FarewellSpoken,
            After::TurnComplete => self == Self::TurnComplete,
        }
    }
}

/// Applies one intent, defers it, or refuses it.
pub(crate) fn apply(session: &mut Session, intent: Intent, now_ms: i64, limit_ms: i64) -> Applied {
    match change(session, &intent, now_ms, limit_ms) {
        Ok(status) => Applied { intent, status, reason: None },
        Err(reason) => {
            Applied { intent, status: IntentStatus::Refused, reason: Some(reason.to_owned()) }
        }
    }
}

fn change(
    session: &mut Session,
    intent: &Intent,
    now_ms: i64,
    limit_ms: i64,
) -> Result<IntentStatus, &'static str> {
    if session.phase == Phase::Ended {
        return Err("the session has ended");
    }
    match intent {
        Intent::EndVoiceSession { .. } | Intent::SuppressAudio { .. }
            if session.mode != Mode::Voice =>
        {
            Err("this is not a voice session")
        }
        Intent::EndVoiceSession { .. } if session.phase == Phase::Ending => {
            Err("the session is ending already")
        }
        Intent::EndVoiceSession { after: After::Immediately } => {
            session.phase = Phase::Ended;
            Ok(IntentStatus::Applied)
        }
        Intent::EndVoiceSession { after } => {
            session.phase = Phase::Ending;
            let until_ms = now_ms.saturating_add(limit_ms);
            session.deferred.push(Deferred { intent: intent.clone(), after: *after, until_ms });
            Ok(IntentStatus::Deferred)
        }
        Intent::SuppressAudio { value } => {
            session.suppress_audio = *value;
            Ok(IntentStatus::Applied)
        }
        Intent::SuppressTranscript { value } => {
            session.suppress_transcript = *value;
            Ok(IntentStatus::Applied)
        }
        Intent::SetPendingMessage { message } => {
            session.pending_message = Some(message.clone());
            Ok(IntentStatus::Applied)
        }
    }
}

/// Carries out what the client's signal releases, and what has waited long enough. Returns that.
pub(crate) fn release(session: &mut Session, signal: Option<Signal>, now_ms: i64) -> Vec<Intent> {
    let due = |waiting: &Deferred| {
        waiting.until_ms <= now_ms || signal.is_some_and(|signal| signal.releases(waiting.after))
    };
    let (released, kept): (Vec<_>, Vec<_>) = session.deferred.drain(..).partition(due);
    session.deferred = kept;
    released
        .into_iter()
        .map(|waiting| {
            if matches!(waiting.intent, Intent::EndVoiceSession { .. }) {
                session.phase = Phase::Ended;
            }
            waiting.intent
        })
        .collect()
}
