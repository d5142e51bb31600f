//! Which tools the model may or must use, in the dialect's words.

use serde_json::{Value, json};

use super::Rendering;
use crate::Dialect;

/// Whether and what to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// As the model sees fit.
    Auto,
    /// Nothing.
    None,
    /// Something.
    Required,
    /// This one, by canonical id.
    Tool(String),
    /// As the model sees fit, among these canonical ids: the list of tools, and so the provider's
    /// cache of it, stays the same.
    Only(Vec<String>),
}

impl Rendering {
    /// The request's field for a choice, and its value. Nothing where the dialect has no such field,
    /// or no way to say this choice, or shows none of the tools that it names.
    #[must_use]
    pub fn choice(&self, choice: &Choice) -> Option<(&'static str, Value)> {
        said(self.target().dialect, choice, &self.wire_names(choice)?)
    }

    fn wire_names(&self, choice: &Choice) -> Option<Vec<&str>> {
        let ids = match choice {
            Choice::Auto | Choice::None | Choice::Required => return Some(Vec::new()),
            Choice::Tool(id) => std::slice::from_ref(id),
            Choice::Only(ids) => ids,
        };
        let names: Vec<&str> = ids.iter().filter_map(|id| self.wire_name(id)).collect();
        (!names.is_empty()).then_some(names)
    }
}

/// The request's field for a call of the tool that has this name on the wire, whether or not it is one
/// of a rendering; nothing where the dialect has no such field.
#[must_use]
pub fn named(dialect: Dialect, wire: &str) -> Option<(&'static str, Value)> {
    said(dialect, &Choice::Tool(wire.to_owned()), &[wire])
}

fn said(dialect: Dialect, choice: &Choice, names: &[&str]) -> Option<(&'static str, Value)> {
    match dialect {
        Dialect::OpenAiChat => Some(("tool_choice", chat(choice, names))),
        Dialect::OpenAiResponses => Some(("tool_choice", responses(choice, names))),
        Dialect::OpenAiRealtime => Some(("tool_choice", realtime(choice, names)?)),
        Dialect::Anthropic => Some(("tool_choice", anthropic(choice, names)?)),
        Dialect::Gemini => Some(("toolConfig", gemini(choice, names))),
        Dialect::GeminiLive | Dialect::Mcp | Dialect::Adm => None,
    }
}

fn chat(choice: &Choice, names: &[&str]) -> Value {
    let function = |name: &&str| json!({"type": "function", "function": {"name": name}});
    match choice {
        Choice::Auto => json!("auto"),
        Choice::None => json!("none"),
        Choice::Required => json!("required"),
        Choice::Tool(_) => names.iter().map(function).next().unwrap_or(json!("none")),
        Choice::Only(_) => {
            let tools: Vec<Value> = names.iter().map(function).collect();
            json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}})
        }
    }
}

fn responses(choice: &Choice, names: &[&str]) -> Value {
    let function = |name: &&str| json!({"type": "function", "name": name});
    match choice {
        Choice::Auto => json!("auto"),
        Choice::None => json!("none"),
        Choice::Required => json!("required"),
        Choice::Tool(_) => names.iter().map(function).next().unwrap_or(json!("none")),
        Choice::Only(_) => {
            let tools: Vec<Value> = names.iter().map(function).collect();
            json!({"type": "allowed_tools", "mode": "auto", "tools": tools})
        }
    }
}

/// Realtime has no list of allowed tools.
fn realtime(choice: &Choice, names: &[&str]) -> Option<Value> {
    match choice {
        Choice::Only(_) => None,
        Choice::Auto | Choice::None | Choice::Required | Choice::Tool(_) => {
            Some(responses(choice, names))
        }
    }
}

/// Anthropic names one tool at most.
fn anthropic(choice: &Choice, names: &[&str]) -> Option<Value> {
    match choice {
        Choice::Auto => Some(json!({"type": "auto"})),
        Choice::None => Some(json!({"type": "none"})),
        Choice::Required => Some(json!({"type": "any"})),
        Choice::Tool(_) => Some(json!({"type": "tool", "name": names.first()?})),
        Choice::Only(_) => None,
    }
}

/// Gemini lists names only with the mode that forces a call; `VALIDATED` is the one that lists
/// them and leaves the model free to answer in words.
fn gemini(choice: &Choice, names: &[&str]) -> Value {
    let config = match choice {
        Choice::Auto => json!({"mode": "AUTO"}),
        Choice::None => json!({"mode": "NONE"}),
        Choice::Required => json!({"mode": "ANY"}),
        Choice::Tool(_) => json!({"mode": "ANY", "allowedFunctionNames": names}),
        Choice::Only(_) => json!({"mode": "VALIDATED", "allowedFunctionNames": names}),
    };
    json!({"functionCallingConfig": config})
}
