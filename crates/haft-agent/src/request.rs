//! The body of a request, in each dialect that models are asked in.

use haft_wire::{Dialect, Rendering};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::history::{History, Item};
use crate::settings::Settings;
use crate::told::Wishes;

/// Anthropic must be told how long an answer may be.
const ANTHROPIC_OUTPUT: u64 = 8_192;

#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    fields: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<&'a Item>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a [Item]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<&'a [Item]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a Value>,
}

/// Writes a request.
///
/// # Errors
///
/// The dialect is none that a model is asked in over HTTP, or the request cannot be written.
pub(crate) fn body(
    dialect: Dialect,
    model: &str,
    prompt: &str,
    history: &History,
    tools: &Rendering,
    settings: &Settings,
    wishes: &Wishes,
) -> Result<String, String> {
    let items = history.items();
    let most = match (settings.max_output_tokens, wishes.max_output_tokens) {
        (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
        (ours, theirs) => ours.or(theirs),
    };
    let (mut messages, mut input, mut contents) = (None, None, None);
    let system = Item::Ours(json!({ "role": "system", "content": prompt }));
    let mut fields = Map::new();
    let mut set = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    match dialect {
        Dialect::OpenAiChat => {
            set("model", json!(model));
            set("stream", json!(true));
            set("stream_options", json!({ "include_usage": true }));
            most.into_iter().for_each(|most| set("max_completion_tokens", json!(most)));
            messages = Some(std::iter::once(&system).chain(items).collect());
        }
        Dialect::OpenAiResponses => {
            set("model", json!(model));
            set("stream", json!(true));
            set("instructions", json!(prompt));
            // Nothing stays with the provider, so reasoning comes along to be repeated.
            set("store", json!(false));
            set("include", json!(["reasoning.encrypted_content"]));
            most.into_iter().for_each(|most| set("max_output_tokens", json!(most)));
            input = Some(items);
        }
        Dialect::Anthropic => {
            set("model", json!(model));
            set("stream", json!(true));
            set("max_tokens", json!(most.unwrap_or(ANTHROPIC_OUTPUT)));
            set("system", json!(prompt));
            messages = Some(items.iter().collect());
        }
        Dialect::Gemini => {
            set("systemInstruction", json!({ "parts": [{ "text": prompt }] }));
            let mut generation = wishes.fields.clone();
            most.into_iter()
                .for_each(|most| drop(generation.insert("maxOutputTokens".into(), json!(most))));
            if !generation.is_empty() {
                set("generationConfig", Value::Object(generation));
            }
            contents = Some(items);
        }
        Dialect::OpenAiRealtime | Dialect::GeminiLive | Dialect::Mcp | Dialect::Adm => {
            return Err(format!("no model is asked in `{dialect}` over HTTP"));
        }
    }
    if dialect != Dialect::Gemini {
        wishes.fields.iter().for_each(|(key, value)| set(key, value.clone()));
    }
    // An empty list is refused by some.
    let both = (!wishes.theirs.is_empty()).then(|| wishes.theirs.beside(tools));
    let tools = both.as_ref().or_else(|| Some(&tools.tools).filter(|_| shown(tools) > 0));
    let body = Body { fields, messages, input, contents, tools };
    serde_json::to_string(&body).map_err(|why| format!("the request cannot be written: {why}"))
}

/// How many tools a rendering shows.
pub(crate) fn shown(rendering: &Rendering) -> usize {
    let list = |value: &Value| value.as_array().map_or(0, Vec::len);
    match rendering.target().dialect {
        Dialect::Gemini | Dialect::GeminiLive => {
            let groups = rendering.tools.as_array().into_iter().flatten();
            groups.filter_map(|group| group.get("functionDeclarations")).map(list).sum()
        }
        Dialect::OpenAiChat
        | Dialect::OpenAiResponses
        | Dialect::OpenAiRealtime
        | Dialect::Anthropic
        | Dialect::Mcp
        | Dialect::Adm => list(&rendering.tools),
    }
}
