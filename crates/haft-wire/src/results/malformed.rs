//! Something that was to become a call and cannot be run: answered, so that the model tries again,
//! and never repeated, because a half-written argument may hold half a secret.

use haft_core::outcome::Meta;
use haft_core::{Envelope, ErrorKind, ToolError};
use serde_json::json;

use crate::said::{Broken, BrokenCall, Fault};

/// The code of a call for a tool that takes free text.
const FREE_TEXT: &str = "free_text";

/// Whether an end is that of a call for a tool that takes free text: OpenAI Responses wants an answer
/// of the same kind.
pub(super) fn is_free_text(envelope: &Envelope) -> bool {
    let details = envelope.result.as_ref().err().and_then(|error| error.details.as_ref());
    details.and_then(|details| details.get("malformed")).is_some_and(|code| code == FREE_TEXT)
}

/// The end of a call that never was one.
#[must_use]
pub fn malformed(broken: &BrokenCall, call_id: &str) -> Envelope {
    let meta =
        Meta { call_id: call_id.into(), tool: broken.call.name.as_str().into(), ..Meta::default() };
    Envelope { result: Err(error(broken.why)), intents: Vec::new(), meta }
}

/// Why it was not run, and what to do.
#[must_use]
pub fn error(why: Broken) -> ToolError {
    let (code, message, advice) = match why {
        Broken::Cut => (
            "cut",
            "the call was cut off before it was whole; nothing was done",
            "make the call again, whole; if its arguments are long, make them shorter or split the \
             work into several calls",
        ),
        Broken::NotJson => (
            "not_json",
            "the arguments are not valid JSON; nothing was done",
            "make the call again with one JSON object: double quotes, no comments, no trailing \
             commas, nothing before or after it",
        ),
        Broken::NotObject => (
            "not_object",
            "the arguments are not a JSON object; nothing was done",
            "make the call again with one JSON object whose members are the parameters",
        ),
        Broken::FreeText => (
            FREE_TEXT,
            "none of your tools takes free text, so there is nothing that this could be a call of; \
             nothing was done",
            "call one of your tools by its name, as a function, with one JSON object as its \
             arguments",
        ),
        Broken::Withheld => (
            "withheld",
            "the provider withheld the message that the call belongs to; nothing was done",
            "answer without this call, or ask the user to put it differently",
        ),
        Broken::Unnamed => (
            "unnamed",
            "the call does not say which tool it is for; nothing was done",
            "make the call again with the name of one of your tools",
        ),
        Broken::TooLarge => (
            "too_large",
            "the call is larger than can be taken; nothing was done",
            "make the call again with less in its arguments",
        ),
        Broken::Contradiction => (
            "contradiction",
            "the pieces of the call contradict one another; nothing was done",
            "make the call again",
        ),
        Broken::TooMany => (
            "too_many",
            "the message makes more calls than can be taken at once; nothing was done",
            "make fewer calls in one message, the rest after their results",
        ),
        Broken::SameId => (
            "same_id",
            "another call of the same message has this id and asks for something else, so their \
             results could not be told apart; nothing was done",
            "make the call again in another message, if it is still needed",
        ),
    };
    ToolError::new(ErrorKind::InvalidArguments, message)
        .suggest(advice)
        .with_details(json!({ "malformed": code }))
}

/// What to tell a model that wrote something which the provider itself could not take as a call: there
/// is no call to answer then, only a fault. None where the fault is of another kind.
///
/// The provider's own message is not repeated: it may quote what was written.
#[must_use]
pub fn unreadable(fault: &Fault) -> Option<ToolError> {
    let (message, advice) = match fault.code.as_deref()? {
        // The second is Groq's word.
        "MALFORMED_FUNCTION_CALL" | "tool_use_failed" => (
            "what was to be a call could not be read as one; nothing was done",
            "make the call again: one of your tools by its name, with one JSON object as its \
             arguments, and no code around it",
        ),
        "UNEXPECTED_TOOL_CALL" => (
            "it calls a tool that you do not have; nothing was done",
            "call only tools that you were given, by their exact names, or answer in words",
        ),
        "TOO_MANY_TOOL_CALLS" => (
            "it makes more calls than the provider allows; none of them was made",
            "make fewer calls at once, or answer with what you know",
        ),
        "MALFORMED_RESPONSE" => (
            "it could not be read; nothing of it was used",
            "answer again, in words or with calls of your tools",
        ),
        _ => return None,
    };
    Some(ToolError::new(ErrorKind::InvalidArguments, message).suggest(advice))
}
