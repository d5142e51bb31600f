//! One tool's arguments as a target shows them, and what holds for them beyond that: for whoever
//! describes a tool to a model that was shown it in a dialect's words.

use haft_core::Tool;
use haft_core::pointer::unescape;
use serde_json::{Value, json};

use super::profile::Profile;
use super::target::{Schemas, Target};
use crate::Dialect;
use crate::loss::{Fate, Loss, Quarantined};
use crate::names::{Names, Rule};

/// Longer rules are named and not quoted.
const QUOTE: usize = 500;
/// References that follow one another.
const HOPS: usize = 8;

/// A tool's arguments in a target's words.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The schema, letter for letter as it is shown.
    pub parameters: Value,
    /// What the contract demands and the schema does not say, a sentence each.
    pub notes: Vec<String>,
    /// Whether arguments have another form than in the contract.
    pub changed: bool,
}

impl Target {
    /// A tool's arguments as this target shows them.
    ///
    /// # Errors
    ///
    /// Why the tool is not shown at all.
    pub fn describe(self, tool: &Tool) -> Result<Description, Quarantined> {
        let rendering = self.render([tool]);
        if let Some(quarantined) = rendering.quarantined.first().cloned() {
            return Err(quarantined);
        }
        let names = Profile::of(self).names;
        let note = |loss: &Loss| note(loss, &tool.contract.parameters, names);
        Ok(Description {
            parameters: parameters(self, &rendering.tools, 0).cloned().unwrap_or_else(nothing),
            notes: rendering.report.iter().filter_map(note).collect(),
            changed: rendering.is_changed(&tool.id),
        })
    }
}

/// The parameters of the tool at a place of the list, as they are shown.
pub(super) fn parameters(target: Target, tools: &Value, place: usize) -> Option<&Value> {
    let schema = match (target.dialect, target.schemas) {
        (Dialect::OpenAiChat, _) => return tools.get(place)?.get("function")?.get("parameters"),
        (Dialect::OpenAiResponses | Dialect::OpenAiRealtime, _) => "parameters",
        (Dialect::Anthropic, _) => "input_schema",
        (Dialect::Mcp, _) => "inputSchema",
        (Dialect::Gemini | Dialect::GeminiLive, schemas) => {
            let all = tools.get(0)?.get("functionDeclarations")?;
            return all.get(place)?.get(match schemas {
                Schemas::Own => "parameters",
                Schemas::JsonSchema => "parametersJsonSchema",
            });
        }
        (Dialect::Adm, _) => {
            return tools.get("function_declarations")?.get(place)?.get("parameters");
        }
    };
    tools.get(place)?.get(schema)
}

/// Where a function without parameters has none to show.
fn nothing() -> Value {
    json!({"type": "object", "properties": {}})
}

/// What a loss leaves unsaid, where it is a rule that arguments are held to.
fn note(loss: &Loss, contract: &Value, names: Option<Rule>) -> Option<String> {
    let unsaid = matches!(loss.fate, Fate::Approximated | Fate::Dropped);
    let of_arguments = loss.pointer.strip_prefix("/parameters").filter(|_| unsaid)?;
    if !loss.binds() {
        return None;
    }
    let at = of_arguments.strip_suffix(&format!("/{}", loss.keyword)).unwrap_or(of_arguments);
    let subject = spoken(at, names);
    let rule = follow(contract, at).and_then(|schema| schema.get(&loss.keyword));
    let rule = rule.map(Value::to_string).filter(|rule| rule.len() <= QUOTE);
    Some(match (rule, loss.fate) {
        (Some(rule), _) => format!("{subject}: `{}` is {rule}; {}", loss.keyword, loss.note),
        (None, Fate::Dropped) => {
            format!("{subject}: there is `{}` as well; {}", loss.keyword, loss.note)
        }
        (None, _) => format!("{subject}: {}", loss.note),
    })
}

/// The schema at a place that may lie beyond references.
fn follow<'s>(root: &'s Value, at: &str) -> Option<&'s Value> {
    let resolved = |schema: &'s Value| {
        (0..HOPS).fold(schema, |schema, _| {
            let target = schema.get("$ref").and_then(Value::as_str);
            target.and_then(|target| root.pointer(target.strip_prefix('#')?)).unwrap_or(schema)
        })
    };
    at.split('/').skip(1).map(unescape).try_fold(root, |schema, step| match resolved(schema) {
        Value::Object(members) => members.get(&step),
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// A place in a schema as the place in arguments that it is about, by the names that are shown.
fn spoken(at: &str, names: Option<Rule>) -> String {
    let wire = |name: &str| match names {
        Some(rule) => Names::new(rule, [name]).wire(name).to_owned(),
        None => name.to_owned(),
    };
    let mut path = String::new();
    let mut steps = at.split('/').skip(1).map(unescape);
    while let Some(keyword) = steps.next() {
        match keyword.as_str() {
            "properties" => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&steps.next().map(|name| wire(&name)).unwrap_or_default());
            }
            "$defs" => path = format!("$defs.{}", steps.next().unwrap_or_default()),
            "items" => path.push_str("[]"),
            "prefixItems" => path.push_str(&format!("[{}]", steps.next().unwrap_or_default())),
            "additionalProperties" | "unevaluatedProperties" => path.push_str(".*"),
            // Alternatives and conditions are about the same value.
            "anyOf" | "oneOf" | "allOf" => drop(steps.next()),
            _ => {}
        }
    }
    match path.is_empty() {
        true => "the arguments".to_owned(),
        false => format!("`{path}`"),
    }
}
