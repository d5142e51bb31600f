//! A client's own tools: the model sees them beside the agent's, and the client makes their calls.
//!
//! They are told as they came, since their calls go back to whoever knows their schemas. Nothing of
//! them is run here.

use std::collections::HashSet;

use haft_wire::{Dialect, Rendering};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::request::shown;

/// So many are taken.
const MOST: usize = 128;
/// So long a name may be.
const MOST_NAME: usize = 64;

/// A client's own tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Theirs {
    names: HashSet<String>,
    /// In the words of the model's dialect.
    shown: Vec<Value>,
}

/// A call of a client's own tool, for the client to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Handed {
    /// The model's id for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
}

impl Theirs {
    /// Reads the `tools` of a request of Chat Completions.
    pub(crate) fn read(dialect: Dialect, tools: &[Value]) -> Result<Self, String> {
        if tools.len() > MOST {
            return Err(format!(
                "`tools`: there are {}, and at most {MOST} are taken",
                tools.len()
            ));
        }
        let mut theirs = Self::default();
        for (at, tool) in tools.iter().enumerate() {
            let (name, shown) = read(dialect, tool).map_err(|why| format!("`tools[{at}]`{why}"))?;
            if !theirs.names.insert(name.clone()) {
                return Err(format!("`tools[{at}]`: `{name}` is there twice"));
            }
            theirs.shown.push(shown);
        }
        Ok(theirs)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    pub(crate) fn count(&self) -> usize {
        self.shown.len()
    }

    /// The agent's tools, then these.
    pub(crate) fn beside(&self, ours: &Rendering) -> Value {
        let own = ours.tools.as_array().filter(|_| shown(ours) > 0);
        own.into_iter().flatten().chain(&self.shown).cloned().collect()
    }
}

fn read(dialect: Dialect, tool: &Value) -> Result<(String, Value), String> {
    if tool.get("type").and_then(Value::as_str) != Some("function") {
        return Err(": only tools of the type `function` are known".into());
    }
    let function = tool.get("function").and_then(Value::as_object);
    let function = function.ok_or(" has no `function`")?;
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > MOST_NAME || !name.chars().all(plain) {
        let why = format!(".function.name must be up to {MOST_NAME} letters, digits, `_` and `-`");
        return Err(why);
    }
    let schema = function.get("parameters").cloned();
    if schema.as_ref().is_some_and(|schema| !schema.is_object()) {
        return Err(".function.parameters must be a JSON Schema".into());
    }
    let schema = schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    let shown = match dialect {
        Dialect::OpenAiChat => tool.clone(),
        Dialect::OpenAiResponses => {
            let mut item = json!({ "type": "function", "name": name, "parameters": schema,
                "strict": function.get("strict").and_then(Value::as_bool).unwrap_or(false) });
            described(&mut item, function);
            item
        }
        Dialect::Anthropic => {
            let mut item = json!({ "name": name, "input_schema": schema });
            described(&mut item, function);
            item
        }
        Dialect::Gemini
        | Dialect::OpenAiRealtime
        | Dialect::GeminiLive
        | Dialect::Mcp
        | Dialect::Adm => {
            return Err(format!(
                ": this agent's model, which speaks `{dialect}`, is not told of a client's own \
                 tools; add them to the toolset"
            ));
        }
    };
    Ok((name.to_owned(), shown))
}

fn described(item: &mut Value, function: &Map<String, Value>) {
    if let (Some(item), Some(text)) = (item.as_object_mut(), function.get("description")) {
        item.insert("description".to_owned(), text.clone());
    }
}

/// Calls that were handed back, as the client repeats them. None where the dialect has no words.
pub(crate) fn calls(dialect: Dialect, text: &str, calls: &[Value]) -> Option<Vec<Value>> {
    let part = |call: &Value, at: &str| call.pointer(at).and_then(Value::as_str).map(str::to_owned);
    let mut told = Vec::new();
    for call in calls {
        let (id, name) = (part(call, "/id")?, part(call, "/function/name")?);
        let arguments = part(call, "/function/arguments").unwrap_or_default();
        told.push(match dialect {
            Dialect::OpenAiResponses => json!({ "type": "function_call", "call_id": id,
                "name": name, "arguments": arguments }),
            Dialect::Anthropic => {
                let empty = arguments.trim().is_empty();
                let text = if empty { "{}" } else { &arguments };
                let input: Value = serde_json::from_str(text).ok()?;
                json!({ "type": "tool_use", "id": id, "name": name, "input": input })
            }
            Dialect::OpenAiChat
            | Dialect::Gemini
            | Dialect::OpenAiRealtime
            | Dialect::GeminiLive
            | Dialect::Mcp
            | Dialect::Adm => return None,
        });
    }
    let said = Some(text).filter(|text| !text.is_empty());
    if dialect == Dialect::Anthropic {
        let said = said.map(|text| json!({ "type": "text", "text": text }));
        let content: Vec<Value> = said.into_iter().chain(told).collect();
        return Some(vec![json!({ "role": "assistant", "content": content })]);
    }
    let said = said.map(|text| json!({ "role": "assistant", "content": text }));
    Some(said.into_iter().chain(told).collect())
}

/// What the client says became of one, in the words of the dialect.
pub(crate) fn result(dialect: Dialect, id: &str, text: &str) -> Option<Value> {
    match dialect {
        Dialect::OpenAiResponses => {
            Some(json!({ "type": "function_call_output", "call_id": id, "output": text }))
        }
        Dialect::Anthropic => {
            let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
            Some(json!({ "role": "user", "content": [result] }))
        }
        Dialect::OpenAiChat
        | Dialect::Gemini
        | Dialect::OpenAiRealtime
        | Dialect::GeminiLive
        | Dialect::Mcp
        | Dialect::Adm => None,
    }
}

/// Puts results that follow one another into one message, where the dialect wants that.
pub(crate) fn joined(dialect: Dialect, messages: Vec<Value>) -> Vec<Value> {
    let is_result =
        |message: &Value| message.pointer("/content/0/type") == Some(&json!("tool_result"));
    let mut all: Vec<Value> = Vec::with_capacity(messages.len());
    for message in messages {
        let joins = dialect == Dialect::Anthropic && is_result(&message);
        match all.last_mut().filter(|last| joins && is_result(last)) {
            Some(last) => {
                let more = message.get("content").and_then(Value::as_array);
                let content = last.get_mut("content").and_then(Value::as_array_mut);
                if let (Some(content), Some(more)) = (content, more) {
                    content.extend(more.iter().cloned());
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

    fn weather() -> Value {
        json!({ "type": "function", "function": { "name": "weather", "description": "d",
            "parameters": { "type": "object" } } })
    }

    #[track_caller]
    fn check(dialect: Dialect, tools: Value, expected: Result<Value, &str>) {
        match (Theirs::read(dialect, tools.as_array().unwrap()), expected) {
            (Ok(theirs), Ok(shown)) => assert_eq!(json!(theirs.shown), shown),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn tools_are_told_in_the_models_words() {
        check(Dialect::OpenAiChat, json!([weather()]), Ok(json!([weather()])));
        check(
            Dialect::OpenAiResponses,
            json!([weather()]),
            Ok(json!([{ "type": "function", "name": "weather", "description": "d",
                "parameters": { "type": "object" }, "strict": false }])),
        );
        check(
            Dialect::Anthropic,
            json!([{ "type": "function", "function": { "name": "now" } }]),
            Ok(json!([{ "name": "now", "input_schema": { "type": "object", "properties": {} } }])),
        );
        check(Dialect::Gemini, json!([weather()]), Err("add them to the toolset"));
        check(Dialect::OpenAiChat, json!([weather(), weather()]), Err("`tools[1]`: `weather`"));
        check(Dialect::OpenAiChat, json!([{ "type": "custom" }]), Err("the type `function`"));
        check(Dialect::OpenAiChat, json!([{ "type": "function" }]), Err("has no `function`"));
        let named = |name: &str| json!([{ "type": "function", "function": { "name": name } }]);
        for name in ["", "a b", "a.b", &"x".repeat(65)] {
            check(Dialect::OpenAiChat, named(name), Err("function.name must be"));
        }
        check(Dialect::OpenAiChat, json!(vec![weather(); 129]), Err("at most 128"));
    }

    #[test]
    fn calls_and_results_are_told_in_the_models_words() {
        let call = json!({ "id": "c1", "type": "function",
            "function": { "name": "weather", "arguments": "{\"at\":\"here\"}" } });
        assert_eq!(
            calls(Dialect::Anthropic, "Wait.", std::slice::from_ref(&call)).unwrap(),
            [json!({ "role": "assistant", "content": [{ "type": "text", "text": "Wait." },
                { "type": "tool_use", "id": "c1", "name": "weather", "input": { "at": "here" } }] })]
        );
        assert_eq!(
            calls(Dialect::OpenAiResponses, "", &[call]).unwrap(),
            [json!({ "type": "function_call", "call_id": "c1", "name": "weather",
                "arguments": "{\"at\":\"here\"}" })]
        );
        assert_eq!(calls(Dialect::Anthropic, "", &[json!({ "id": "c1" })]), None);
        let results = ["c1", "c2"].map(|id| result(Dialect::Anthropic, id, "dry").unwrap());
        let all = joined(Dialect::Anthropic, results.into());
        assert_eq!(all.len(), 1);
        assert_eq!(all[0]["content"][1]["tool_use_id"], "c2");
    }
}
