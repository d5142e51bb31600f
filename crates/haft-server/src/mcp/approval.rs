//! A call that a person must approve: the person at the client is asked, where they can be and where
//! their word counts. The model is asked nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use haft_core::port::{Asked, Client as _, Invoke as _, Question};
use haft_core::record::ConfirmationStatus;
use haft_core::{Call, Envelope, ErrorKind, ToolError};
use haft_runtime::redact::is_hidden;
use haft_runtime::runtime::Void;
use rmcp::ErrorData;
use serde_json::{Value, json};

use super::coded::of_kind;
use super::talk::Talk;
use super::{Approvals, Seat};
use crate::door::Door;
use crate::pieces::{Marks, Piece, code, hidden, pieces};

/// Under which name the answer comes. No handler can take it: theirs have no such sign.
pub(super) const NAME: &str = "haft/approval";

/// So many letters are shown of one text, and so many in all.
const LONGEST_SHOWN: usize = 4_000;
const MOST_SHOWN: usize = 16_000;

/// So often a person is asked about one call, where what is asked changes while they answer.
const MOST_ASKED: usize = 3;

/// So often it is looked whether somebody else has answered what a person is asked.
const LOOK: Duration = Duration::from_secs(1);

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

/// What the person has to be asked about the end of a call, where they can be. `before` is why what
/// they said before does not count.
pub(super) fn waiting(
    (door, seat): (&Door, &Seat),
    talk: &Talk,
    call: &Call,
    envelope: &Envelope,
    before: Option<Again>,
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
    let mut message = message(question, call.connection.as_deref());
    if let Some(before) = before {
        message.insert_str(0, &format!("You are asked again: {}.\n\n", before.in_words()));
    }
    let question = Question::Elicit { message, schema };
    Some(Waiting { id, asked: Asked { name: NAME.to_owned(), question } })
}

/// What the person reads: the question, everything that would be done with it, and what does not look
/// like what it is. A template need not name every argument, and all of them are approved.
fn message(question: &Value, connection: Option<&str>) -> String {
    let text = |name: &str| question.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut whole = Whole::default();
    let preview = whole.cut(text("preview"));
    let mut message = format!("{preview}\n\nTool: {}", text("tool"));
    if let Some(connection) = connection {
        message.push_str(&format!("\nConnection: {}", quoted(connection)));
    }
    message.push_str(&whole.arguments(question.get("arguments").unwrap_or(&Value::Null)));
    for odd in question.get("suspicious").and_then(Value::as_array).into_iter().flatten() {
        message.push_str("\nTake care: ");
        message.push_str(&unhidden(odd.as_str().unwrap_or_default()));
    }
    if whole.is_cut {
        message.push_str(
            "\nNot all of it is shown here: it is too long. Decline, and have it approved in the \
             console, which shows all of it.",
        );
    }
    message
}

/// What is shown so far, and whether it is everything.
#[derive(Default)]
struct Whole {
    letters: usize,
    is_cut: bool,
}

impl Whole {
    /// Every effective argument, one a line.
    fn arguments(&mut self, arguments: &Value) -> String {
        let Value::Object(members) = arguments else {
            return format!("\nArguments: {}", self.cut(&written(arguments)));
        };
        if members.is_empty() {
            return "\nWithout arguments.".to_owned();
        }
        let mut lines = "\nArguments:".to_owned();
        for (at, (name, value)) in members.iter().enumerate() {
            if self.letters >= MOST_SHOWN {
                self.is_cut = true;
                lines.push_str(&format!("\n… {} more that are not shown", members.len() - at));
                break;
            }
            let (name, value_shown) = (self.cut(&plain(name)), self.cut(&written(value)));
            lines.push_str(&format!("\n- {name}: {value_shown}"));
            if let Some(hidden) = hidden(value) {
                lines.push_str(&format!(" (cannot be seen in it: {hidden})"));
            }
        }
        lines
    }

    /// As much of a text as there is room for, and how much is left out.
    fn cut(&mut self, text: &str) -> String {
        let most = LONGEST_SHOWN.min(MOST_SHOWN.saturating_sub(self.letters));
        let (letters, end) = (text.chars().count(), text.char_indices().nth(most));
        self.letters += letters.min(most);
        let Some((end, _)) = end else { return text.to_owned() };
        self.is_cut = true;
        let shown = text.get(..end).unwrap_or_default();
        format!("{shown}… (cut: {} more letters are not shown)", letters - most)
    }
}

/// A value on one line, with everything in it to be seen.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            let all: Vec<String> = list.iter().map(written).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Object(members) => {
            let one =
                |(name, value): (&String, &Value)| format!("{}: {}", quoted(name), written(value));
            format!("{{{}}}", members.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// A text in quotes that it cannot end.
fn quoted(text: &str) -> String {
    format!("\"{}\"", plain(text))
}

/// A text in which what cannot be seen is an escape, as JSON writes it, and what looks like another
/// letter has its code behind it.
fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for piece in pieces(text, Marks::All) {
        match piece {
            Piece::Plain(text) => {
                shown.push_str(&text.replace('\\', "\\\\").replace('"', "\\\""));
            }
            // Quotes show where a text begins and ends.
            Piece::Hidden(' ', count) => shown.extend(std::iter::repeat_n(' ', count)),
            Piece::Hidden(letter, count) => shown.push_str(&escape(letter).repeat(count)),
            Piece::Alike(letter, _) => shown.push_str(&format!("{letter}[{}]", code(letter))),
        }
    }
    shown
}

/// `\u202e`, as JSON writes it.
fn escape(letter: char) -> String {
    let mut units = [0; 2];
    letter.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// A sentence of ours: of what it repeats, nothing is hidden either. It has been escaped once; one that
/// was written down before that was so has not.
fn unhidden(sentence: &str) -> String {
    let one = |letter: char| match is_hidden(letter) {
        true => escape(letter),
        false => letter.to_string(),
    };
    sentence.chars().map(one).collect()
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
