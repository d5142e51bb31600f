//! OpenAI: Chat Completions, Responses, Realtime. None of them has a place for errors, so the text
//! says that it is one.

use serde_json::{Value, json};

use super::malformed::is_free_text;
use super::{Answer, told};

/// A tool message each, then the user's.
pub(super) fn chat(answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    let tool = |answer: &Answer<'_>| {
        json!({
            "role": "tool",
            "tool_call_id": answer.pair(),
            // A string: most that imitate this API take no list of parts here.
            "content": told(answer.envelope).text(),
        })
    };
    let user = |text: &&str| json!({ "role": "user", "content": text });
    answers.iter().map(tool).chain(words.iter().map(user)).collect()
}

/// An output item each, by `call_id`, then the user's message.
pub(super) fn responses(answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    let user = |text: &&str| json!({ "type": "message", "role": "user", "content": text });
    answers.iter().map(output).chain(words.iter().map(user)).collect()
}

/// An item each, then one word that the model should go on.
pub(super) fn realtime(answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    let user = |text: &&str| {
        json!({
            "type": "message",
            "role": "user",
            "content": [{ "type": "input_text", "text": text }],
        })
    };
    let create = |item: Value| json!({ "type": "conversation.item.create", "item": item });
    let items = answers.iter().map(output).chain(words.iter().map(user));
    let mut events: Vec<Value> = items.map(create).collect();
    if !events.is_empty() {
        events.push(json!({ "type": "response.create" }));
    }
    events
}

fn output(answer: &Answer<'_>) -> Value {
    let kind = match is_free_text(answer.envelope) {
        true => "custom_tool_call_output",
        false => "function_call_output",
    };
    json!({
        "type": kind,
        "call_id": answer.pair(),
        "output": told(answer.envelope).text(),
    })
}
