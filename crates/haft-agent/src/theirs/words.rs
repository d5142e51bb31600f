//! Calls that were handed back and what became of them, as the client repeats them, in the words of
//! the model's dialect.

use std::collections::{HashMap, HashSet};

use haft_wire::Dialect;
use serde_json::{Map, Value, json};

use super::Theirs;
use crate::calls::is_made_up;

/// What Gemini takes in place of a signature that the client did not keep. It refuses a call of the
/// turn that goes on without one.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Where a client of Chat Completions keeps Gemini's signature of a call, as with Google's own.
const SIGNATURE: &str = "/extra_content/google/thought_signature";

/// Tells a client's messages about its own tools.
pub(crate) struct Teller<'a> {
    dialect: Dialect,
    theirs: &'a Theirs,
    /// By id, the tool that was called.
    called: HashMap<String, String>,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(dialect: Dialect, theirs: &'a Theirs) -> Self {
        Self { dialect, theirs, called: HashMap::new() }
    }

    /// Calls that were handed back. None where they are none, or the dialect has no words.
    pub(crate) fn calls(&mut self, text: &str, calls: &[Value]) -> Option<Vec<Value>> {
        let mut told = Vec::new();
        for (at, call) in calls.iter().enumerate() {
            told.push(self.call(call, at)?);
        }
        let said = Some(text).filter(|text| !text.is_empty());
        let (role, key, part) = match self.dialect {
            Dialect::Anthropic => {
                let part = said.map(|text| json!({ "type": "text", "text": text }));
                ("assistant", "content", part)
            }
            Dialect::Gemini => ("model", "parts", said.map(|text| json!({ "text": text }))),
            Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::OpenAiRealtime
            | Dialect::GeminiLive
            | Dialect::Mcp
            | Dialect::Adm => {
                let said = said.map(|text| json!({ "role": "assistant", "content": text }));
                return Some(said.into_iter().chain(told).collect());
            }
        };
        let parts: Vec<Value> = part.into_iter().chain(told).collect();
        Some(vec![json!({ "role": role, key: parts })])
    }

    fn call(&mut self, call: &Value, at: usize) -> Option<Value> {
        let part = |place: &str| call.pointer(place).and_then(Value::as_str);
        let (id, name) = (part("/id")?, part("/function/name")?);
        let arguments = part("/function/arguments").unwrap_or_default();
        self.called.insert(id.to_owned(), name.to_owned());
        match self.dialect {
            Dialect::OpenAiResponses => Some(json!({ "type": "function_call", "call_id": id,
                "name": name, "arguments": arguments })),
            Dialect::Anthropic => {
                let input = value(arguments)?;
                Some(json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
            }
            Dialect::Gemini => {
                let args = self.theirs.lowered(name, value(arguments)?);
                let mut said = Map::new();
                said.extend(own_id(id));
                said.insert("name".into(), json!(self.theirs.wire(name)));
                said.insert("args".into(), args);
                let mut part = json!({ "functionCall": said });
                // Of calls that were made together, the first one is signed.
                let signature = call.pointer(SIGNATURE).and_then(Value::as_str);
                let signature = signature.or_else(|| (at == 0).then_some(UNSIGNED));
                if let (Some(signature), Some(part)) = (signature, part.as_object_mut()) {
                    part.insert("thoughtSignature".into(), json!(signature));
                }
                Some(part)
            }
            Dialect::OpenAiChat
            | Dialect::OpenAiRealtime
            | Dialect::GeminiLive
            | Dialect::Mcp
            | Dialect::Adm => None,
        }
    }

    /// What the client says became of one. None where it was not called, or the dialect has no words.
    pub(crate) fn result(&self, id: &str, text: &str) -> Option<Value> {
        match self.dialect {
            Dialect::OpenAiResponses => {
                Some(json!({ "type": "function_call_output", "call_id": id, "output": text }))
            }
            Dialect::Anthropic => {
                let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
                Some(json!({ "role": "user", "content": [result] }))
            }
            Dialect::Gemini => {
                let name = self.called.get(id)?;
                let output: Value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
                let mut said = Map::new();
                said.extend(own_id(id));
                said.insert("name".into(), json!(self.theirs.wire(name)));
                said.insert("response".into(), json!({ "output": output }));
                Some(json!({ "role": "user", "parts": [{ "functionResponse": said }] }))
            }
            Dialect::OpenAiChat
            | Dialect::OpenAiRealtime
            | Dialect::GeminiLive
            | Dialect::Mcp
            | Dialect::Adm => None,
        }
    }
}

/// Arguments as a value; none at all are an empty object.
fn value(arguments: &str) -> Option<Value> {
    match arguments.trim() {
        "" => Some(json!({})),
        text => serde_json::from_str(text).ok(),
    }
}

/// Only an id that the provider gave: another would pair with nothing.
fn own_id(id: &str) -> Option<(String, Value)> {
    (!is_made_up(id)).then(|| ("id".to_owned(), json!(id)))
}

/// The ids of calls that a conversation speaks of.
pub(crate) fn ids(messages: &[Value]) -> HashSet<String> {
    let answered = messages.iter().filter_map(|one| one.get("tool_call_id"));
    let made = messages.iter().flat_map(calls).filter_map(|call| call.get("id"));
    answered.chain(made).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn calls(message: &Value) -> &[Value] {
    message.get("tool_calls").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The messages with results in the order of their calls, which is what pairs them where there are no
/// ids. Their calls are those of the last message that made some: an id may have been used before.
pub(crate) fn in_order(messages: &[Value]) -> Vec<(usize, &Value)> {
    let mut all: Vec<(usize, &Value)> = messages.iter().enumerate().collect();
    let mut asked: &[Value] = &[];
    let is_result = |one: &(usize, &Value)| one.1.get("role").is_some_and(|role| role == "tool");
    for run in all.chunk_by_mut(|one, other| is_result(one) && is_result(other)) {
        let order: HashMap<&str, usize> = asked
            .iter()
            .enumerate()
            .filter_map(|(at, call)| Some((call.get("id")?.as_str()?, at)))
            .collect();
        let place = |one: &(usize, &Value)| {
            let id = one.1.get("tool_call_id").and_then(Value::as_str);
            id.and_then(|id| order.get(id)).copied().unwrap_or(usize::MAX)
        };
        run.sort_by_key(place);
        if let Some(made) = run.last().map(|one| calls(one.1)).filter(|made| !made.is_empty()) {
            asked = made;
        }
    }
    all
}

/// Puts results that follow one another into one message, where the dialect wants that.
pub(crate) fn joined(dialect: Dialect, messages: Vec<Value>) -> Vec<Value> {
    let key = match dialect {
        Dialect::Anthropic => "content",
        Dialect::Gemini => "parts",
        Dialect::OpenAiChat
        | Dialect::OpenAiResponses
        | Dialect::OpenAiRealtime
        | Dialect::GeminiLive
        | Dialect::Mcp
        | Dialect::Adm => return messages,
    };
    let is_result = |message: &Value| {
        let first = message.get(key).and_then(|parts| parts.get(0));
        first.is_some_and(|part| {
            part.get("functionResponse").is_some()
                || part.get("type").is_some_and(|kind| kind == "tool_result")
        })
    };
    let mut all: Vec<Value> = Vec::with_capacity(messages.len());
    for mut message in messages {
        match all.last_mut().filter(|last| is_result(&message) && is_result(last)) {
            Some(last) => {
                let more = message.get_mut(key).map(Value::take);
                if let (Some(Value::Array(parts)), Some(Value::Array(more))) =
                    (last.get_mut(key), more)
                {
                    parts.extend(more);
                }
            }
            None => all.push(message),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Value {
        json!({ "id": id, "type": "function",
            "function": { "name": "weather", "arguments": "{\"at\":\"here\"}" } })
    }

    #[track_caller]
    fn check(dialect: Dialect, text: &str, calls: &[Value], expected: Option<Value>) {
        let tool = json!([{ "type": "function", "function": { "name": "weather" } }]);
        let theirs = Theirs::read(dialect, tool.as_array().unwrap()).unwrap();
        let told = Teller::new(dialect, &theirs).calls(text, calls);
        assert_eq!(told.map(Value::Array), expected);
    }

    #[test]
    fn calls_are_told_in_the_models_words() {
        check(
            Dialect::Anthropic,
            "Wait.",
            &[call("c1")],
            Some(json!([{ "role": "assistant", "content": [{ "type": "text", "text": "Wait." },
                { "type": "tool_use", "id": "c1", "name": "weather", "input": { "at": "here" } }] }])),
        );
        check(
            Dialect::OpenAiResponses,
            "",
            &[call("c1")],
            Some(json!([{ "type": "function_call", "call_id": "c1", "name": "weather",
                "arguments": "{\"at\":\"here\"}" }])),
        );
        let mut signed = call("call_0");
        signed["extra_content"] = json!({ "google": { "thought_signature": "c2ln" } });
        let said = json!({ "name": "weather", "args": { "at": "here" } });
        let mut by_id = said.clone();
        by_id["id"] = json!("x7");
        check(
            Dialect::Gemini,
            "Wait.",
            &[signed, call("x7")],
            Some(json!([{ "role": "model", "parts": [{ "text": "Wait." },
                { "functionCall": said, "thoughtSignature": "c2ln" },
                { "functionCall": by_id }] }])),
        );
        check(
            Dialect::Gemini,
            "",
            &[call("call_0")],
            Some(json!([{ "role": "model", "parts": [
                { "functionCall": said, "thoughtSignature": UNSIGNED }] }])),
        );
        check(Dialect::Anthropic, "", &[json!({ "id": "c1" })], None);
    }

    #[test]
    fn results_of_one_answer_are_one_message_in_the_order_of_the_calls() {
        let theirs = Theirs::default();
        let mut teller = Teller::new(Dialect::Gemini, &theirs);
        let calls = [call("call_0"), call("call_1")];
        let asked = json!({ "role": "assistant", "tool_calls": calls });
        let result =
            |id: &str, text: &str| json!({ "role": "tool", "tool_call_id": id, "content": text });
        let all = [asked, result("call_1", "2"), result("call_0", "dry"), json!({"role": "user"})];
        let order: Vec<usize> = in_order(&all).into_iter().map(|(at, _)| at).collect();
        assert_eq!(order, [0, 2, 1, 3]);
        // The same ids once more, the other way round: each answer has its own.
        let turned = json!({ "role": "assistant", "tool_calls": [call("call_1"), call("call_0")] });
        let more = [&all[..], &[turned], &all[1..3]].concat();
        let order: Vec<usize> = in_order(&more).into_iter().map(|(at, _)| at).collect();
        assert_eq!(order, [0, 2, 1, 3, 4, 5, 6]);
        assert_eq!(ids(&more), HashSet::from(["call_0", "call_1"].map(str::to_owned)));
        assert_eq!(teller.result("call_0", "dry"), None);
        teller.calls("", &calls).unwrap();
        let told = [("call_0", "dry"), ("call_1", "{\"mm\":2}")];
        let told = told.map(|(id, text)| teller.result(id, text).unwrap());
        assert_eq!(
            joined(Dialect::Gemini, told.into()),
            [json!({ "role": "user", "parts": [
                { "functionResponse": { "name": "weather", "response": { "output": "dry" } } },
                { "functionResponse": { "name": "weather", "response": { "output": { "mm": 2 } } } },
            ] })]
        );
        let teller = Teller::new(Dialect::Anthropic, &theirs);
        let told = ["c1", "c2"].map(|id| teller.result(id, "dry").unwrap());
        let all = joined(Dialect::Anthropic, told.into());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0]["content"][1]["tool_use_id"], "c2");
    }
}
