//! The conversation in the provider's own shape: what the model said, untouched, and what we say.

use haft_wire::{Dialect, RawJson};
use serde::Serialize;
use serde_json::{Value, json};

/// One message or item.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Item {
    /// As the model said it: signatures, ids and digits included.
    Theirs(RawJson),
    /// Ours.
    Ours(Value),
}

/// All of it, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct History(Vec<Item>);

impl History {
    pub(crate) fn items(&self) -> &[Item] {
        &self.0
    }

    pub(crate) fn ours(&mut self, messages: Vec<Value>) {
        self.0.extend(messages.into_iter().map(Item::Ours));
    }

    pub(crate) fn theirs(&mut self, replay: Vec<RawJson>) {
        self.0.extend(replay.into_iter().map(Item::Theirs));
    }
}

/// What a model of Chat Completions said, as calls that a tool message can answer: some that imitate
/// that API still use the older `function_call`.
pub(crate) fn answerable(dialect: Dialect, replay: Vec<RawJson>, ids: &[String]) -> Vec<RawJson> {
    match (dialect, ids.first()) {
        (Dialect::OpenAiChat, Some(id)) => {
            replay.into_iter().map(|message| newer(message, id)).collect()
        }
        _ => replay,
    }
}

fn newer(message: RawJson, id: &str) -> RawJson {
    let Some(mut value) = message.value() else { return message };
    let Some(fields) = value.as_object_mut() else { return message };
    let Some(function) = fields.shift_remove("function_call") else { return message };
    let call = json!({ "id": id, "type": "function", "function": function });
    fields.insert("tool_calls".into(), json!([call]));
    RawJson::new(value.to_string()).unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: Value, expected: Value) {
        let raw = RawJson::new(message.to_string()).unwrap();
        let found = answerable(Dialect::OpenAiChat, vec![raw], &["call_0".to_owned()]);
        assert_eq!(found[0].value().unwrap(), expected);
    }

    #[test]
    fn the_older_form_becomes_the_newer() {
        check(
            json!({ "role": "assistant", "content": null, "function_call": { "name": "f" } }),
            json!({
                "role": "assistant", "content": null,
                "tool_calls": [{ "id": "call_0", "type": "function", "function": { "name": "f" } }],
            }),
        );
        let as_it_is = json!({ "role": "assistant", "tool_calls": [{ "id": "a" }] });
        check(as_it_is.clone(), as_it_is);
    }
}
