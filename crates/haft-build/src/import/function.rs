//! Plain function definitions, as providers, frameworks and test sets write them: a name, a
//! description and a schema of the arguments, under one of a few names each.

use haft_core::Digest;
use haft_core::contract::OriginKind;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use super::draft::{Read, assemble};
use super::log::Log;
use super::plain::Plain;
use super::report::{Part, Severity};
use super::{Import, ImportError, pointer, read, text};

/// Where the schema of the arguments stands; the first that is there is taken. A `raw_` field is
/// the author's own where someone else's reading of it stands beside.
const PARAMETERS: [&str; 4] = ["raw_parameters", "parameters", "input_schema", "inputSchema"];

/// Where the schema of the result stands.
const OUTPUTS: [&str; 4] = ["raw_response", "outputSchema", "output_schema", "response"];

/// Imports plain function definitions: a JSON array, one definition, or JSON Lines; as OpenAI,
/// Anthropic or MCP write them, or as the Berkeley leaderboard's corpus does.
///
/// # Errors
///
/// If the text as a whole cannot be read. A definition that cannot is an entry of the report.
pub fn functions(text: &str) -> Result<Import, ImportError> {
    let definitions = read::definitions(text)?;
    let read =
        definitions.into_par_iter().enumerate().map(|(index, definition)| match definition {
            Ok(definition) => read_one(&definition, index),
            Err(why) => {
                let digest = Digest::of_bytes(format!("{index}: {why}").as_bytes());
                unnamed(index, digest, format!("the line is not JSON: {why}"))
            }
        });
    Ok(assemble(read.collect()))
}

fn unnamed(index: usize, digest: Digest, what: String) -> Read {
    Read::refused(format!("#{index}"), digest, Part::Definition, "", what)
}

fn read_one(definition: &Value, index: usize) -> Read {
    let digest = Digest::of_json(definition);
    let mut log = Log::new(Part::Definition);
    let Some((members, at)) = unwrap(definition, &mut log) else {
        return unnamed(index, digest, "a definition is an object; write one".to_owned());
    };
    let Some(raw_name) = members.get("name").and_then(Value::as_str) else {
        return unnamed(index, digest, "it has no `name`; add one".to_owned());
    };
    let name = clean_name(raw_name, &mut log);
    if name.is_empty() {
        return unnamed(index, digest, "its `name` is empty; add one".to_owned());
    }
    let fields = Fields::find(members);
    drop_others(members, at, &fields, &mut log);
    let plain = Plain {
        kind: OriginKind::Function,
        name,
        digest,
        description: members.get("description").and_then(Value::as_str).unwrap_or_default(),
        parameters: fields.parameters(members),
        output: fields.output(members),
        log,
    };
    plain.read()
}

/// A name on one line, with nothing hidden in it.
pub(super) fn clean_name(raw: &str, log: &mut Log) -> String {
    let name = text::one_line(&text::unhide(raw).unwrap_or_else(|| raw.to_owned()));
    if name != raw {
        let what = "the name is one line, without characters that nobody can see";
        log.record(Severity::Changed, "/name", what, (Some(json!(raw)), Some(json!(name))));
    }
    name
}

/// `{"type": "function", "function": {…}}` holds the definition one level down.
fn unwrap<'a>(
    definition: &'a Value,
    log: &mut Log,
) -> Option<(&'a Map<String, Value>, &'static str)> {
    let members = definition.as_object()?;
    match members.get("function") {
        Some(Value::Object(inner)) if !members.contains_key("name") => {
            for (name, value) in members {
                if name != "function" && !is_function_type(name, value) {
                    drop_field(name, value, "", log);
                }
            }
            Some((inner, "/function"))
        }
        _ => Some((members, "")),
    }
}

fn is_function_type(name: &str, value: &Value) -> bool {
    name == "type" && value == "function"
}

/// Which of the possible fields a definition uses.
struct Fields {
    parameters: Option<&'static str>,
    output: Option<&'static str>,
}

impl Fields {
    fn find(members: &Map<String, Value>) -> Self {
        let parameters = PARAMETERS.into_iter().find(|name| members.contains_key(*name));
        let output =
            OUTPUTS.into_iter().find(|name| members.get(*name).is_some_and(Value::is_object));
        Self { parameters, output }
    }

    fn parameters<'a>(&self, members: &'a Map<String, Value>) -> Option<&'a Value> {
        self.parameters.and_then(|name| members.get(name))
    }

    fn output<'a>(&self, members: &'a Map<String, Value>) -> Option<&'a Value> {
        self.output.and_then(|name| members.get(name))
    }

    fn reads(&self, name: &str, value: &Value) -> bool {
        (name == "name" && value.is_string())
            || (name == "description" && value.is_string())
            || self.parameters == Some(name)
            || self.output == Some(name)
            || is_function_type(name, value)
    }
}

fn drop_others(members: &Map<String, Value>, at: &str, fields: &Fields, log: &mut Log) {
    for (name, value) in members.iter().filter(|(name, value)| !fields.reads(name, value)) {
        drop_field(name, value, at, log);
    }
}

/// Says that a field was there, of which type and with which digest. Its value might be a secret.
pub(super) fn drop_field(name: &str, value: &Value, at: &str, log: &mut Log) {
    let what = match name {
        "annotations" => "hints about effects are the source's own claims; nothing relies on them",
        _ => "no field that describes a tool; it was not read",
    };
    log.record(Severity::Dropped, &pointer::step(at, name), what, (Some(seen(value)), None));
}

/// What may be told of a value that was not read.
pub(super) fn seen(value: &Value) -> Value {
    json!({"type": kind(value), "digest": Digest::of_json(value)})
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
