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

/// What a model of Chat Completions said, with an id for each call: some that imitate that API give
/// none, and an answer needs one to belong to. Others still answer with the older `function_call`,
/// which a tool message cannot answer.
pub(crate) fn identified(dialect: Dialect, replay: Vec<RawJson>, ids: &[String]) -> Vec<RawJson> {
    match dialect {
        Dialect::OpenAiChat => replay.into_iter().map(|message| with_ids(message, ids)).collect(),
        Dialect::OpenAiResponses
        | Dialect::OpenAiRealtime
        | Dialect::Anthropic
        | Dialect::Gemini
        | Dialect::GeminiLive
        | Dialect::Mcp
        | Dialect::Adm => replay,
    }
}

fn with_ids(message: RawJson, ids: &[String]) -> RawJson {
    let Some(mut value) = message.value() else { return message };
    let Some(fields) = value.as_object_mut() else { return message };
    if let Some(function) = fields.shift_remove("function_call") {
        let id = ids.first().cloned().unwrap_or_default();
        let call = json!({ "id": id, "type": "function", "function": function });
        fields.insert("tool_calls".into(), json!([call]));
        return RawJson::new(value.to_string()).unwrap_or(message);
    }
    let Some(calls) = fields.get_mut("tool_calls").and_then(Value::as_array_mut) else {
        return message;
    };
    let is_named = |call: &Value| call.get("id").is_some_and(|id| id.as_str() != Some(""));
    if calls.iter().all(is_named) {
        return message;
    }
    for (call, id) in calls.iter_mut().zip(ids) {
        if let (false, Some(call)) = (is_named(call), call.as_object_mut()) {
            call.insert("id".into(), json!(id));
        }
    }
    RawJson::new(value.to_string()).unwrap_or(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: Value, expected: Value) {
        let raw = RawJson::new(message.to_string()).unwrap();
        let ids = ["made_1".to_owned(), "made_2".to_owned()];
        let found = identified(Dialect::OpenAiChat, vec![raw], &ids);
        assert_eq!(found[0].value().unwrap(), expected);
    }

    #[test]
    fn a_call_without_an_id_gets_one() {
        let call = |id: &str| json!({ "id": id, "type": "function", "function": {} });
        let message = |calls: Value| json!({ "role": "assistant", "tool_calls": calls });
        check(message(json!([call(""), call("b")])), message(json!([call("made_1"), call("b")])));
        check(message(json!([call("a"), call("b")])), message(json!([call("a"), call("b")])));
    }

    #[test]
    fn the_older_form_becomes_the_newer() {
        check(
            json!({ "role": "assistant", "content": null, "function_call": { "name": "f" } }),
            json!({
                "role": "assistant", "content": null,
                "tool_calls": [{ "id": "made_1", "type": "function", "function": { "name": "f" } }],
            }),
        );
    }
}
