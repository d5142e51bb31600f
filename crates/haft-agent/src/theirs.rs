//! A client's own tools: the model sees them beside the agent's, and the client makes their calls.
//!
//! They are told as they came, since their calls go back to whoever knows their schemas; only where
//! the dialect has no JSON Schema are they lowered as the agent's are, and what was changed is changed
//! back. Nothing of them is run here.

pub(crate) mod words;

use std::collections::HashSet;

use haft_core::call::RawArguments;
use haft_core::registry::Implementation;
use haft_core::{Contract, Digest, Tool};
use haft_wire::{Dialect, Rendering, Strictness, Target};
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
    /// Where they are lowered: the way back.
    lowered: Option<Rendering>,
}

/// A call of a client's own tool, for the client to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Handed {
    /// The model's id for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them; in the client's own form where it was shown another.
    pub arguments: String,
    /// What a model signed the call with, and wants to have back with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
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
        let mut read = Vec::with_capacity(tools.len());
        for (at, tool) in tools.iter().enumerate() {
            let one = Function::read(tool).map_err(|why| format!("`tools[{at}]`{why}"))?;
            if !theirs.names.insert(one.name.to_owned()) {
                return Err(format!("`tools[{at}]`: `{}` is there twice", one.name));
            }
            read.push(one);
        }
        match dialect {
            Dialect::OpenAiChat => theirs.shown = tools.to_vec(),
            Dialect::OpenAiResponses => {
                theirs.shown = read.iter().map(Function::for_responses).collect();
            }
            Dialect::Anthropic => {
                theirs.shown = read.iter().map(Function::for_anthropic).collect();
            }
            Dialect::Gemini => theirs.lower(dialect, &read)?,
            Dialect::OpenAiRealtime | Dialect::GeminiLive | Dialect::Mcp | Dialect::Adm => {
                return Err(format!("`tools`: no model is asked in `{dialect}` over HTTP"));
            }
        }
        Ok(theirs)
    }

    fn lower(&mut self, dialect: Dialect, read: &[Function<'_>]) -> Result<(), String> {
        let tools = read.iter().map(Function::as_tool).collect::<Result<Vec<Tool>, _>>()?;
        let rendering = Target::new(dialect, Strictness::Plain).render(&tools);
        if let Some(left_out) = rendering.quarantined.first() {
            return Err(format!(
                "`tools`: `{}` cannot be told to this agent's model, which speaks `{dialect}`: {}",
                left_out.tool, left_out.reason
            ));
        }
        self.shown = declared(&rendering).cloned().collect();
        self.lowered = Some(rendering);
        Ok(())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// The client's name of a tool that the model calls.
    pub(crate) fn named(&self, wire: &str) -> Option<&str> {
        match &self.lowered {
            Some(rendering) => rendering.tool(wire),
            None => self.names.get(wire).map(String::as_str),
        }
    }

    /// The name by which the model knows one of them.
    pub(crate) fn wire<'n>(&'n self, name: &'n str) -> &'n str {
        self.lowered.as_ref().and_then(|rendering| rendering.wire_name(name)).unwrap_or(name)
    }

    /// What a model sent, in the form of the client's schema.
    pub(crate) fn raise(&self, wire: &str, sent: &str) -> String {
        let raised = self.lowered.as_ref().map(|rendering| rendering.arguments(wire, sent));
        match raised {
            Some(RawArguments::Value(value) | RawArguments::Read(value, _)) => value.to_string(),
            Some(RawArguments::Text(text)) => text,
            None => sent.to_owned(),
        }
    }

    /// What the model had sent for arguments that the client repeats.
    pub(crate) fn lowered(&self, name: &str, arguments: Value) -> Value {
        let said =
            self.lowered.as_ref().map(|rendering| rendering.lower_arguments(name, &arguments));
        said.and_then(Result::ok).unwrap_or(arguments)
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
        if self.lowered.is_some() {
            let all: Vec<&Value> = declared(ours).chain(&self.shown).collect();
            return json!([{ "functionDeclarations": all }]);
        }
        let own = ours.tools.as_array().filter(|_| shown(ours) > 0);
        own.into_iter().flatten().chain(&self.shown).cloned().collect()
    }
}

/// The functions that a rendering for Gemini shows.
fn declared(rendering: &Rendering) -> impl Iterator<Item = &Value> {
    let groups = rendering.tools.as_array().into_iter().flatten();
    groups.filter_map(|group| group.get("functionDeclarations")?.as_array()).flatten()
}

/// A function as a request of Chat Completions has it.
struct Function<'v> {
    name: &'v str,
    fields: &'v Map<String, Value>,
    schema: Value,
}

impl<'v> Function<'v> {
    fn read(tool: &'v Value) -> Result<Self, String> {
        if tool.get("type").and_then(Value::as_str) != Some("function") {
            return Err(": only tools of the type `function` are known".into());
        }
        let fields = tool.get("function").and_then(Value::as_object);
        let fields = fields.ok_or(" has no `function`")?;
        let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || name.len() > MOST_NAME || !name.chars().all(plain) {
            return Err(format!(
                ".function.name must be up to {MOST_NAME} letters, digits, `_` and `-`"
            ));
        }
        let schema = fields.get("parameters").cloned();
        if schema.as_ref().is_some_and(|schema| !schema.is_object()) {
            return Err(".function.parameters must be a JSON Schema".into());
        }
        let schema = schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
        Ok(Self { name, fields, schema })
    }

    fn for_responses(&self) -> Value {
        let strict = self.fields.get("strict").and_then(Value::as_bool).unwrap_or(false);
        let mut item = json!({ "type": "function", "name": self.name, "parameters": self.schema,
            "strict": strict });
        described(&mut item, self.fields);
        item
    }

    fn for_anthropic(&self) -> Value {
        let mut item = json!({ "name": self.name, "input_schema": self.schema });
        described(&mut item, self.fields);
        item
    }

    /// A tool of ours in all that a rendering asks about. It stands in no catalog, so none can run it.
    fn as_tool(&self) -> Result<Tool, String> {
        let description = self.fields.get("description").and_then(Value::as_str);
        let contract = json!({
            "toolId": self.name, "version": "1.0.0", "description": description.unwrap_or_default(),
            "category": "utility", "sideEffects": "writes", "effect": "external_side_effect",
            "sideEffectPolicy": "irreversible", "idempotent": false,
            "requiresConfirmation": false, "allowedModes": ["text"], "latencyBudgetMs": 0,
            "parameters": self.schema, "redaction": { "allow": [] },
            "arguments": { "mode": "strict", "fraction": "refuse" },
        });
        let contract: Contract = serde_json::from_value(contract)
            .map_err(|why| format!("`tools`: `{}` is no function: {why}", self.name))?;
        Ok(Tool {
            id: self.name.to_owned(),
            digest: Digest::of_bytes(b""),
            parameters: Vec::new(),
            summary: String::new(),
            doc: String::new(),
            handler: Implementation::Unbound,
            contract,
        })
    }
}

fn described(item: &mut Value, function: &Map<String, Value>) {
    if let (Some(item), Some(text)) = (item.as_object_mut(), function.get("description")) {
        item.insert("description".to_owned(), text.clone());
    }
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
        check(
            Dialect::Gemini,
            json!([weather(), { "type": "function", "function": { "name": "1st", "parameters": {
                "type": "object", "required": ["n"], "additionalProperties": false,
                "properties": { "n": { "enum": [1, 2] } } } } }]),
            Ok(json!([
                { "name": "weather", "description": "d" },
                { "name": "_1st_e01ddf65", "description": "1st", "parameters": {
                    "type": "OBJECT", "required": ["n"],
                    "properties": { "n": { "type": "STRING", "enum": ["1", "2"] } } } },
            ])),
        );
        let nowhere = json!([{ "type": "function", "function": { "name": "f", "parameters": {
            "type": "object", "properties": { "a": { "$ref": "#/$defs/gone" } } } } }]);
        check(Dialect::Gemini, nowhere, Err("`f` cannot be told to this agent's model"));
        check(Dialect::Mcp, json!([weather()]), Err("no model is asked in `mcp`"));
        check(Dialect::OpenAiChat, json!([weather(), weather()]), Err("`tools[1]`: `weather`"));
        check(Dialect::OpenAiChat, json!([{ "type": "custom" }]), Err("the type `function`"));
        check(Dialect::OpenAiChat, json!([{ "type": "function" }]), Err("has no `function`"));
        let named = |name: &str| json!([{ "type": "function", "function": { "name": name } }]);
        for name in ["", "a b", "a.b", &"x".repeat(65)] {
            check(Dialect::OpenAiChat, named(name), Err("function.name must be"));
        }
        check(Dialect::OpenAiChat, json!(vec![weather(); 129]), Err("at most 128"));
    }
}
