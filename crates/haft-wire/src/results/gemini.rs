//! Gemini: all responses of a turn in one user content, in the order of the calls, which is what
//! pairs them where the provider gave no ids.

use haft_core::content::Contents;
use serde_json::{Map, Value, json};

use super::told::in_words;
use super::{Answer, Told, told};

pub(super) fn reply(answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    let responses = answers.iter().map(|answer| json!({ "functionResponse": response(answer) }));
    let text = words.iter().map(|text| json!({ "text": text }));
    let parts: Vec<Value> = responses.chain(text).collect();
    match parts.is_empty() {
        true => Vec::new(),
        false => vec![json!({ "role": "user", "parts": parts })],
    }
}

/// Live takes responses in a message of their own.
pub(super) fn live(answers: &[Answer<'_>], words: &[&str]) -> Vec<Value> {
    let mut messages = Vec::new();
    if !answers.is_empty() {
        let responses: Vec<Value> = answers.iter().map(response).collect();
        messages.push(json!({ "toolResponse": { "functionResponses": responses } }));
    }
    if !words.is_empty() {
        let parts: Vec<Value> = words.iter().map(|text| json!({ "text": text })).collect();
        messages.push(json!({
            "clientContent": {
                "turns": [{ "role": "user", "parts": parts }],
                "turnComplete": true,
            }
        }));
    }
    messages
}

fn response(answer: &Answer<'_>) -> Value {
    let told = match told(answer.envelope) {
        Told::Done { data, notes } => {
            let data = Contents::of(&data).map_or(data, |shown| json!(in_words(&shown)));
            Told::Done { data, notes }
        }
        failed @ Told::Failed { .. } => failed,
    };
    let response = match told {
        Told::Done { data, notes } if notes.is_empty() => json!({ "output": data }),
        Told::Done { data, notes } => json!({ "output": data, "notes": notes }),
        Told::Failed { error } => json!({ "error": error }),
    };
    let mut said = Map::new();
    // Only the provider's own id: one that it did not give would pair with nothing.
    if let Some(id) = answer.id {
        said.insert("id".into(), json!(id));
    }
    said.insert("name".into(), json!(answer.name));
    said.insert("response".into(), response);
    Value::Object(said)
}
