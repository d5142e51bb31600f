//! A call that a person must approve: the person at the client is asked, where they can be and where
//! their word counts. The model is asked nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::port::{Asked, Client as _, Invoke as _, Question};
use haft_core::record::ConfirmationStatus;
use haft_core::{Call, Envelope, ErrorKind, ToolError};
use haft_runtime::runtime::Void;
use rmcp::ErrorData;
use serde_json::{Value, json};

use super::coded::of_kind;
use super::talk::Talk;
use super::{Approvals, Seat};
use crate::door::Door;

mod shown;

/// Under which name the answer comes. No handler can take it: theirs have no such sign.
pub(super) const NAME: &str = "haft/approval";

/// So often a person is asked about one call, where what is asked changes while they answer.
const MOST_ASKED: usize = 3;

/// So often it is looked whether somebody else has answered what a person is asked.
const LOOK: Duration = Duration::from_secs(1);

/// What whoever called is told of a question that cannot be shown whole at the client.
const TOO_LONG: &str = "a person has to approve this call first, in the console or with `haft \
                        confirmations`: it is too long to be shown whole at the client";

/// A question that waits.
pub(super) struct Waiting {
    pub(super) id: String,
    pub(super) asked: Asked,
}

/// Why somebody is asked what they have answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// They approved what would no longer run.
    Void(Void),
    /// What they answered was over before they did.
    Over,
    /// Their answer could not be written down.
    Unrecorded,
    /// The run that they approved ended with questions of the tool's own, and used the approval up.
    Used,
}

impl Again {
    fn in_words(self) -> String {
        match self {
            Self::Void(void) => format!("{}, and your answer does not count", void.in_words()),
            Self::Over => {
                "what you were asked was over before you answered, and your answer does not count"
                    .to_owned()
            }
            Self::Unrecorded => "your answer could not be recorded, and does not count".to_owned(),
            Self::Used => {
                "the tool had a question of its own first, and what you approved is good for \
                           one run"
                    .to_owned()
            }
        }
    }
}

/// What a person has to be asked about the end of a call, where it is the one at the client who is.
fn asked_here<'a>(
    (door, seat): (&Door, &Seat),
    talk: &Talk,
    envelope: &'a Envelope,
) -> Option<&'a Value> {
    let error = envelope.result.as_ref().err()?;
    let is_asked_here = error.kind == ErrorKind::ConfirmationRequired
        && door.mcp.approvals == Approvals::Client
        && seat.person.is_some()
        && talk.can().elicit;
    error.details.as_ref().filter(|_| is_asked_here)?.get("confirmation")
}

/// What the person has to be asked about the end of a call, where they can be and can be shown all of
/// it. `before` is why what they said before does not count.
pub(super) fn waiting(
    at: (&Door, &Seat),
    talk: &Talk,
    call: &Call,
    envelope: &Envelope,
    before: Option<Again>,
) -> Option<Waiting> {
    let question = asked_here(at, talk, envelope)?;
    let id = question.get("id")?.as_str()?.to_owned();
    let schema = json!({
        "type": "object",
        "properties": {
            "approve": {
                "type": "boolean",
                "title": "Approve",
                "description": "Whether this may be done, once and exactly so.",
                "default": false,
            },
        },
        "required": ["approve"],
    });
    let mut message = shown::message(question, call.connection.as_deref())?;
    if let Some(before) = before {
        message.insert_str(0, &format!("You are asked again: {}.\n\n", before.in_words()));
    }
    let question = Question::Elicit { message, schema };
    Some(Waiting { id, asked: Asked { name: NAME.to_owned(), question } })
}

/// Says in the end of a call why its person was not asked, where that is for the length of it.
pub(super) fn say_where(at: (&Door, &Seat), talk: &Talk, call: &Call, envelope: &mut Envelope) {
    let is_short = |asked: &Value| shown::message(asked, call.connection.as_deref()).is_some();
    if asked_here(at, talk, envelope).is_none_or(is_short) {
        return;
    }
    if let Err(error) = &mut envelope.result {
        error.message = TOO_LONG.to_owned();
    }
}

/// What the person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Yes,
    No,
    /// They closed the question, or never saw it: it stays open.
    Nothing,
}

impl Said {
    pub(super) fn of(answers: &BTreeMap<String, Value>) -> Self {
        answers.get(NAME).map_or(Self::Nothing, Self::read)
    }

    fn read(answer: &Value) -> Self {
        let approves = answer.pointer("/content/approve").and_then(Value::as_bool);
        match (answer.get("action").and_then(Value::as_str), approves) {
            (Some("accept"), Some(true)) => Self::Yes,
            (Some("accept"), Some(false)) | (Some("decline"), _) => Self::No,
            _ => Self::Nothing,
        }
    }
}

/// The end of a call once the person was asked while it waits: in the older era. Where they have
/// approved what would no longer run, they are asked what is asked now.
pub(super) async fn settled(
    (door, seat): (&Door, &Seat),
    talk: &Talk,
    mut call: Call,
    mut envelope: Envelope,
    waiting: &(dyn Fn(&Envelope, Word) -> Option<Waiting> + Sync),
) -> Result<Envelope, ErrorData> {
    let mut word = Word::None;
    for _ in 0..MOST_ASKED {
        let Some(waiting) = waiting(&envelope, word) else { break };
        let said = ask((door, seat), talk, &waiting).await;
        word = decide(door, seat, &waiting.id, said).await?;
        if word == Word::None && is_answered(door, seat, &waiting.id).await {
            word = Word::Over;
        }
        if word == Word::None {
            break;
        }
        call.declined = said == Said::No;
        envelope = door.runtime.invoke(call.clone()).await;
        if word == Word::Taken {
            break;
        }
    }
    Ok(envelope)
}

/// Asks now, and waits for the answer, or until somebody else has given one.
async fn ask((door, seat): (&Door, &Seat), talk: &Talk, waiting: &Waiting) -> Said {
    let elsewhere = async {
        loop {
            tokio::time::sleep(LOOK).await;
            if is_answered(door, seat, &waiting.id).await {
                return;
            }
        }
    };
    let answer = talk.ask_until(&waiting.asked.question, elsewhere).await;
    answer.as_ref().map_or(Said::Nothing, Said::read)
}

/// Whether somebody has answered a question. Looked up, and not listened for: they may do so in another
/// process on the same store.
async fn is_answered(door: &Door, seat: &Seat, id: &str) -> bool {
    let found = door.runtime.store().confirmation(&seat.caller.tenant, id).await;
    found.is_ok_and(|one| one.status != ConfirmationStatus::Pending)
}

/// What became of the person's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It is written down.
    Taken,
    /// They approved what would no longer run: they are to be asked anew.
    Void(Void),
    /// The question was over: somebody else has answered it, or its time was up. The call that follows
    /// says what is so.
    Over,
    /// It could not be written down: the question is open as it was.
    Unrecorded,
    /// They said nothing, or what they said is not theirs to say.
    None,
}

/// Writes the person's word down. Whatever the store makes of it, the call that follows sees it. A no also
/// takes back what somebody else has approved meanwhile; one that cannot be written down ends the request,
/// for the next call would find the approval.
pub(super) async fn decide(
    door: &Door,
    seat: &Seat,
    id: &str,
    said: Said,
) -> Result<Word, ErrorData> {
    let approve = match said {
        Said::Yes => true,
        Said::No => false,
        Said::Nothing => return Ok(Word::None),
    };
    let Some(person) = &seat.person else { return Ok(Word::None) };
    match door.runtime.confirm(&seat.caller.tenant, id, approve, person).await {
        Ok(_) => Ok(Word::Taken),
        Err(error) if !approve && error.kind == ErrorKind::StoreUnavailable => {
            let why = "the user has declined, which could not be recorded; nothing was done";
            Err(of_kind(error.kind, ErrorData::internal_error(why, None)))
        }
        Err(error) => Ok(untaken(&error)),
    }
}

/// Why a word does not count.
fn untaken(error: &ToolError) -> Word {
    match (Void::of(error), error.kind) {
        (Some(void), _) => Word::Void(void),
        (None, ErrorKind::ConfirmationRefused | ErrorKind::NotFound) => Word::Over,
        (None, _) => Word::Unrecorded,
    }
}

#[cfg(test)]
mod tests;
