//! The assistant's message, as the next request repeats it.

use serde::Serialize;

use super::calls::Kind;
use crate::decode::notes::{Notes, Repeat};
use crate::raw::RawJson;

/// A call that is repeated.
pub(super) struct Repeated {
    pub(super) call: Repeat,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// The free text of a call that has that in place of arguments.
    pub(super) input: String,
    pub(super) extra: Option<RawJson>,
}

#[derive(Default, Serialize)]
struct Message<'a> {
    role: &'static str,
    /// Null where there is no text: the key has to be there.
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reasoning_details: &'a [RawJson],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Function<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<Function<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom: Option<Custom<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawJson>,
}

#[derive(Serialize)]
struct Custom<'a> {
    name: &'a str,
    input: &'a str,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// Nothing where nothing was said.
pub(super) fn message(
    calls: &[Repeated],
    reasoning: Option<&'static str>,
    details: &[RawJson],
    notes: &Notes,
) -> Option<RawJson> {
    let some = |text| Some(text).filter(|text: &&str| !text.is_empty());
    let mut message = Message {
        role: "assistant",
        content: some(notes.first_text()),
        refusal: some(notes.all_refusal()),
        reasoning_details: details,
        ..Message::default()
    };
    if calls.is_empty() && message.content.is_none() && message.refusal.is_none() {
        return None;
    }
    // Reasoning belongs to the turn in which tools are used; afterwards some providers refuse it.
    match reasoning.filter(|_| !calls.is_empty()) {
        Some("reasoning_content") => message.reasoning_content = Some(notes.all_reasoning()),
        Some(_) => message.reasoning = Some(notes.all_reasoning()),
        None => {}
    }
    for call in calls {
        let function = Function { name: &call.name, arguments: &call.call.arguments };
        let (id, extra_content) = (&*call.call.id, call.extra.as_ref());
        let (kind, function, custom) = match call.kind {
            Kind::Legacy => {
                message.function_call = Some(function);
                continue;
            }
            Kind::Tool => ("function", Some(function), None),
            Kind::Custom => {
                let custom = Custom { name: &call.name, input: &call.input };
                ("custom", None, Some(custom))
            }
        };
        message.tool_calls.push(ToolCall { id, r#type: kind, function, custom, extra_content });
    }
    RawJson::of(&message)
}
