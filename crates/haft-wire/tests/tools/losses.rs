//! Nothing is lost in silence: every keyword of the source is said, or the report names it.

use std::collections::HashMap;

use haft_core::Tool;
use haft_wire::{Dialect, Loss, Rendering, Strictness, Target, render};
use serde_json::{Map, Value, json};

use crate::dice::{self, Dice};
use crate::support::tool;

/// The schema that each tool is shown with, by canonical id.
fn said_schemas(rendering: &Rendering) -> HashMap<&str, Value> {
    let empty = Vec::new();
    let (list, name, schema): (&Vec<Value>, &str, &[&str]) = match rendering.target().dialect {
        Dialect::OpenAiChat => {
            (rendering.tools.as_array().unwrap(), "/function/name", &["/function/parameters"])
        }
        Dialect::OpenAiResponses | Dialect::OpenAiRealtime => {
            (rendering.tools.as_array().unwrap(), "/name", &["/parameters"])
        }
        Dialect::Anthropic => (rendering.tools.as_array().unwrap(), "/name", &["/input_schema"]),
        Dialect::Mcp => (rendering.tools.as_array().unwrap(), "/name", &["/inputSchema"]),
        Dialect::Gemini | Dialect::GeminiLive => {
            let list = rendering.tools.pointer("/0/functionDeclarations");
            (
                list.and_then(Value::as_array).unwrap_or(&empty),
                "/name",
                &["/parameters", "/parametersJsonSchema"],
            )
        }
        Dialect::Adm => {
            let list = rendering.tools.pointer("/function_declarations");
            (list.and_then(Value::as_array).unwrap_or(&empty), "/name", &["/parameters"])
        }
    };
    list.iter()
        .map(|tool| {
            let id = rendering.tool(tool.pointer(name).unwrap().as_str().unwrap()).unwrap();
            let found = schema.iter().find_map(|at| tool.pointer(at)).cloned();
            (id, found.unwrap_or_else(|| json!({"type": "object", "properties": {}})))
        })
        .collect()
}

/// What is neither said nor reported.
struct Search<'r> {
    target: Target,
    report: &'r [&'r Loss],
    silent: Vec<String>,
}

impl Search<'_> {
    fn reported(&self, pointer: &str, keyword: &str) -> bool {
        self.report.iter().any(|loss| {
            let here = loss.pointer == format!("{pointer}/{keyword}") || loss.pointer == pointer;
            let listed = loss.note.ends_with("said as a list of `key` and `value`")
                && loss.pointer == format!("{pointer}/additionalProperties")
                && keyword == "type";
            (here && loss.keyword == keyword) || listed || self.swallows(loss, pointer)
        })
    }

    /// Whether a loss further up speaks of everything below it.
    fn swallows(&self, loss: &Loss, pointer: &str) -> bool {
        let below = pointer == loss.pointer || pointer.starts_with(&format!("{}/", loss.pointer));
        below && (loss.note.contains("JSON text") || loss.note.contains("can never be sent"))
    }

    fn schema(&mut self, source: &Map<String, Value>, said: Option<&Value>, at: &str) {
        let nothing = json!({});
        let said = said.unwrap_or(&nothing);
        for (keyword, value) in source {
            let is_said = match keyword.as_str() {
                "type" => types_said(value, said),
                "description" => {
                    let own = value.as_str().unwrap().trim();
                    said["description"].as_str().is_some_and(|text| text.starts_with(own))
                }
                "required" => value.as_array().unwrap().iter().all(|name| {
                    let name = self.wire(name.as_str().unwrap(), at);
                    said["required"].as_array().is_some_and(|names| names.contains(&json!(name)))
                }),
                "properties" => {
                    for (name, schema) in value.as_object().unwrap() {
                        let pointer =
                            format!("{at}/properties/{}", haft_core::pointer::escape(name));
                        let wire = self.wire(name, at);
                        if let Some(schema) = schema.as_object() {
                            self.schema(schema, said["properties"].get(&wire), &pointer);
                        }
                    }
                    true
                }
                "items" if value.is_object() => {
                    let inner = value.as_object().unwrap();
                    self.schema(inner, said.get("items"), &format!("{at}/items"));
                    true
                }
                "additionalProperties" => self.further_said(value, said, at),
                "enum" => value.as_array().unwrap().iter().all(|value| {
                    said["enum"].as_array().is_some_and(|values| values.contains(value))
                }),
                keyword => said.get(keyword) == Some(value),
            };
            if !is_said && !self.reported(at, keyword) {
                self.silent.push(format!("{at}/{keyword} {value} in {said}"));
            }
        }
    }

    fn further_said(&mut self, value: &Value, said: &Value, at: &str) -> bool {
        if let (Some(schema), Some(entry)) =
            (value.as_object(), said.pointer("/items/properties/value"))
        {
            self.schema(schema, Some(entry), &format!("{at}/additionalProperties"));
        }
        let has_members = said["properties"].as_object().is_some_and(|members| !members.is_empty());
        let implied = match self.target.dialect {
            Dialect::Gemini | Dialect::GeminiLive | Dialect::Adm => {
                has_members || said["type"] == "OBJECT" || at == "/parameters"
            }
            Dialect::OpenAiChat
            | Dialect::OpenAiResponses
            | Dialect::OpenAiRealtime
            | Dialect::Anthropic
            | Dialect::Mcp => false,
        };
        said.get("additionalProperties") == Some(value) || (value == &json!(false) && implied)
    }

    /// The name of a member where it is said.
    fn wire(&self, name: &str, at: &str) -> String {
        let pointer = format!("{at}/properties/{}", haft_core::pointer::escape(name));
        let renamed = self.report.iter().find(|loss| {
            loss.pointer == pointer
                && loss.keyword == "properties"
                && loss.note.starts_with("said as `")
        });
        match renamed {
            Some(loss) => loss.note["said as `".len()..loss.note.len() - 1].to_owned(),
            None => name.to_owned(),
        }
    }
}

fn types_said(value: &Value, said: &Value) -> bool {
    let words: Vec<String> = match &said["type"] {
        Value::String(name) => vec![name.to_lowercase()],
        Value::Array(names) => names.iter().map(|n| n.as_str().unwrap().to_lowercase()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let null = said["nullable"] == true;
    let said = |name: &Value| words.iter().any(|word| name == word) || (null && name == "null");
    value.as_array().map_or_else(|| said(value), |names| names.iter().all(said))
}

/// Everything that a rendering neither says nor reports.
pub(crate) fn silent<'t>(
    rendering: &Rendering,
    tools: impl IntoIterator<Item = &'t Tool>,
) -> Vec<String> {
    let said = said_schemas(rendering);
    let mut reports: HashMap<&str, Vec<&Loss>> = HashMap::new();
    for loss in &rendering.report {
        reports.entry(&loss.tool).or_default().push(loss);
    }
    let mut silent = Vec::new();
    for tool in tools {
        let report = reports.get(tool.id.as_str()).map_or(&[][..], Vec::as_slice);
        let mut search = Search { target: rendering.target(), report, silent: Vec::new() };
        let source = tool.contract.parameters.as_object().unwrap();
        search.schema(source, said.get(tool.id.as_str()), "/parameters");
        silent.extend(search.silent.into_iter().map(|what| format!("{}: {what}", tool.id)));
    }
    silent
}

#[test]
fn a_loss_without_a_report_is_noticed() {
    let closed = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    let tool = tool("t", &closed);
    let mut rendering = render(Dialect::Anthropic, Strictness::Strict, [&tool]);
    assert_eq!(silent(&rendering, [&tool]), Vec::<String>::new());
    rendering.report.clear();
    assert_eq!(silent(&rendering, [&tool]).len(), 1);
}

/// Keywords of a schema, wherever they stand.
fn keywords(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                // An empty list of names says nothing.
                if value != &json!([]) {
                    found.push(keyword.clone());
                }
                match (keyword.as_str(), value) {
                    ("properties", Value::Object(named)) => {
                        named.values().for_each(|schema| keywords(schema, found));
                    }
                    // Not every definition is referred to.
                    ("$defs", _) => {}
                    ("enum" | "const" | "default" | "examples" | "required", _) => {}
                    (_, value) => keywords(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|schema| keywords(schema, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn no_kind_of_keyword_is_lost_in_silence() {
    for seed in 10_000..10_300 {
        let schema = dice::schema(&mut Dice::new(seed));
        let tool = tool("t", &schema);
        let mut wanted = Vec::new();
        keywords(&schema, &mut wanted);
        wanted.retain(|keyword| keyword != "$defs");
        let no_members = schema["properties"] == json!({});
        for target in Target::ALL {
            let rendering = target.render([&tool]);
            let mut found = Vec::new();
            for schema in said_schemas(&rendering).values() {
                keywords(schema, &mut found);
            }
            found.extend(rendering.report.iter().map(|loss| loss.keyword.clone()));
            let unquoted = |loss: &Loss| loss.note.ends_with("too long to quote");
            let any_unquoted = rendering.report.iter().any(unquoted);
            let text = rendering.tools.to_string();
            let implied = [Dialect::Gemini, Dialect::GeminiLive, Dialect::Adm];
            for keyword in &wanted {
                if keyword == "additionalProperties" && implied.contains(&target.dialect) {
                    continue;
                }
                // `[7, null]` says what `const` says of a member that may be left out.
                if keyword == "const" && found.iter().any(|found| found == "enum") {
                    continue;
                }
                // A schema that is quoted in a description has its keywords there.
                let quoted = text.contains(&format!("\\\"{keyword}\\\""));
                assert!(
                    found.contains(keyword)
                        || quoted
                        || any_unquoted
                        || no_members
                        || !rendering.quarantined.is_empty(),
                    "seed {seed}, {}: `{keyword}` of {schema} in {text}",
                    target.name()
                );
            }
        }
    }
}

#[test]
fn what_is_said_of_the_root_stands_in_its_description() {
    let r = tool(
        "r",
        &json!({
            "type": "object", "additionalProperties": false, "minProperties": 1,
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "dependentRequired": {"a": ["b"]},
        }),
    );
    let mut told = 0;
    for target in Target::ALL {
        let rendering = target.render([&r]);
        let schemas = said_schemas(&rendering);
        let description = schemas["test__r"]["description"].as_str().unwrap_or_default();
        for loss in &rendering.report {
            if let Some(words) = loss.note.strip_prefix("the description says: ") {
                assert!(description.contains(words), "{}: {words}: {description}", target.name());
                told += 1;
            }
        }
    }
    assert!(told > 0);
}
