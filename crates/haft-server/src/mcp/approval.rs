//! A call that a person must approve: the person at the client is asked, where they can be and where
//! their word counts. The model is asked nothing.

use std::collections::BTreeMap;

use haft_core::port::{Asked, Client as _, Question};
use haft_core::{Envelope, ErrorKind};
use serde_json::{Value, json};

use super::talk::Talk;
use super::{Approvals, Seat};
use crate::door::Door;

/// Under which name the answer comes. No handler can take it: theirs have no such sign.
pub(super) const NAME: &str = "haft/approval";

/// A question that waits.
pub(super) struct Waiting {
    pub(super) id: String,
    pub(super) asked: Asked,
}

/// What the person has to be asked about the end of a call, where they can be.
pub(super) fn waiting(
    door: &Door,
    seat: &Seat,
    talk: &Talk,
    envelope: &Envelope,
) -> Option<Waiting> {
    let error = envelope.result.as_ref().err()?;
    if error.kind != ErrorKind::ConfirmationRequired
        || door.mcp.approvals != Approvals::Client
        || seat.person.is_none()
        || !talk.can().elicit
    {
        return None;
    }
    let question = error.details.as_ref()?.get("confirmation")?;
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
    let question = Question::Elicit { message: message(question), schema };
    Some(Waiting { id, asked: Asked { name: NAME.to_owned(), question } })
}

/// What the person reads: the question, and what does not look like what it is.
fn message(question: &Value) -> String {
    let text = |name: &str| question.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut message = format!("{}\n\nTool: {}", text("preview"), text("tool"));
    for odd in question.get("suspicious").and_then(Value::as_array).into_iter().flatten() {
        message.push_str("\nTake care: ");
        message.push_str(odd.as_str().unwrap_or_default());
    }
    message
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

/// Asks now, and waits for the answer: in the older era.
pub(super) async fn ask(talk: &Talk, waiting: &Waiting) -> Said {
    let answers = talk.ask(vec![waiting.asked.clone()]).await;
    answers.ok().and_then(|answers| answers.get(NAME).map(Said::read)).unwrap_or(Said::Nothing)
}

/// Writes the person's word down. Whatever the store makes of it, the call that follows sees it.
pub(super) async fn decide(door: &Door, seat: &Seat, id: &str, said: Said) -> bool {
    let approve = match said {
        Said::Yes => true,
        Said::No => false,
        Said::Nothing => return false,
    };
    let Some(person) = &seat.person else { return false };
    let decided = door.runtime.confirm(&seat.caller.tenant, id, approve, person).await;
    decided.is_ok()
}
