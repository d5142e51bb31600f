//! A conversation that somebody else keeps and tells whole each time, in the words of OpenAI's Chat
//! Completions; and what they want of the model.

use std::borrow::Cow;
use std::sync::Arc;

use haft_wire::{Dialect, results};
use serde_json::{Map, Value, json};

use crate::history::History;
use crate::theirs::{self, Theirs};

/// A conversation as it was told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub(crate) history: History,
    pub(crate) wishes: Wishes,
}

/// What is asked of the model, in its dialect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    system: Vec<String>,
    pub(crate) fields: Map<String, Value>,
    pub(crate) max_output_tokens: Option<u64>,
    /// Tools of the client's own.
    pub(crate) theirs: Arc<Theirs>,
}

impl Wishes {
    /// The agent's prompt comes first: what a client says may add to it.
    pub(crate) fn prompt<'a>(&self, ours: &'a str) -> Cow<'a, str> {
        match self.system.is_empty() {
            true => Cow::Borrowed(ours),
            false => Cow::Owned(format!("{ours}\n\n{}", self.system.join("\n\n"))),
        }
    }
}

/// What a client may set: its name in Chat Completions, Responses, Anthropic's Messages and Gemini's
/// `generationConfig`; empty where it cannot be said.
const FIELDS: [[&str; 4]; 13] = [
    ["temperature", "temperature", "temperature", "temperature"],
    ["top_p", "top_p", "top_p", "topP"],
    ["stop", "", "stop_sequences", "stopSequences"],
    ["seed", "", "", "seed"],
    ["frequency_penalty", "", "", "frequencyPenalty"],
    ["presence_penalty", "", "", "presencePenalty"],
    ["logit_bias", "", "", ""],
    ["response_format", "", "", ""],
    ["reasoning_effort", "", "", ""],
    ["verbosity", "", "", ""],
    ["service_tier", "service_tier", "", ""],
    ["safety_identifier", "safety_identifier", "", ""],
    ["prompt_cache_key", "prompt_cache_key", "", ""],
];

impl Told {
    /// Reads the messages of a request, oldest first.
    ///
    /// # Errors
    ///
    /// What is not a message, or cannot be said to a model of this dialect.
    pub fn read(dialect: Dialect, messages: &[Value]) -> Result<Self, String> {
        let mut told = Self::default();
        let leading = messages.iter().take_while(|one| is_system(one)).count();
        let (system, rest) = messages.split_at(leading);
        for (at, message) in system.iter().enumerate() {
            told.wishes.system.push(text(message, at)?);
        }
        if rest.is_empty() {
            return Err(
                "`messages` holds nothing to answer; end it with a message of the user".into()
            );
        }
        let mut all = Vec::with_capacity(rest.len());
        for (at, message) in rest.iter().enumerate() {
            all.extend(translated(dialect, message, leading + at)?);
        }
        told.history.ours(theirs::joined(dialect, all));
        Ok(told)
    }

    /// Offers tools of the client's own, as a request of Chat Completions lists them. Their calls are
    /// handed back.
    ///
    /// # Errors
    ///
    /// What is no such tool, or cannot be told to a model of this dialect.
    pub fn offer(&mut self, dialect: Dialect, tools: &[Value]) -> Result<(), String> {
        self.wishes.theirs = Arc::new(Theirs::read(dialect, tools)?);
        Ok(())
    }

    /// The names of the client's own tools.
    pub fn offered(&self) -> impl Iterator<Item = &str> {
        self.wishes.theirs.names()
    }

    /// Takes a parameter of the request; false where it is none that concerns the model.
    ///
    /// # Errors
    ///
    /// A model of this dialect cannot be asked for that.
    pub fn wish(&mut self, dialect: Dialect, name: &str, value: &Value) -> Result<bool, String> {
        if matches!(name, "max_tokens" | "max_completion_tokens") {
            let most = value.as_u64().filter(|most| *most > 0);
            self.wishes.max_output_tokens =
                Some(most.ok_or_else(|| format!("`{name}` must be a whole number above 0"))?);
            return Ok(true);
        }
        let Some([chat, responses, anthropic, gemini]) =
            FIELDS.iter().find(|[chat, ..]| *chat == name)
        else {
            return Ok(false);
        };
        let own = match dialect {
            Dialect::OpenAiResponses => responses,
            Dialect::Anthropic => anthropic,
            Dialect::Gemini => gemini,
            Dialect::OpenAiChat
            | Dialect::OpenAiRealtime
            | Dialect::GeminiLive
            | Dialect::Mcp
            | Dialect::Adm => chat,
        };
        if own.is_empty() {
            return Err(format!(
                "`{name}` cannot be asked of this agent's model, which speaks `{dialect}`"
            ));
        }
        // Elsewhere it is always a list.
        let value = match (name, value) {
            ("stop", Value::String(one)) if *own != "stop" => json!([one]),
            _ => value.clone(),
        };
        self.wishes.fields.insert((*own).to_owned(), value);
        Ok(true)
    }
}

fn is_system(message: &Value) -> bool {
    matches!(role(message), "system" | "developer")
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn translated(dialect: Dialect, message: &Value, at: usize) -> Result<Vec<Value>, String> {
    let role = role(message);
    if !matches!(role, "system" | "developer" | "user" | "assistant" | "tool" | "function") {
        return Err(format!("`messages[{at}]` has no role that is known"));
    }
    if dialect == Dialect::OpenAiChat {
        return Ok(vec![message.clone()]);
    }
    let said = || text(message, at);
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.map(Vec::as_slice).unwrap_or_default();
    match (role, dialect) {
        ("user", _) => Ok(results::reply(dialect, &[], &[&said()?])),
        ("assistant", _) if !calls.is_empty() => {
            let told = theirs::calls(dialect, &said().unwrap_or_default(), calls);
            told.ok_or_else(|| foreign(at, dialect))
        }
        ("tool", _) => {
            let id = message.get("tool_call_id").and_then(Value::as_str);
            let told =
                id.zip(Some(said()?)).and_then(|(id, text)| theirs::result(dialect, id, &text));
            told.map(|told| vec![told]).ok_or_else(|| foreign(at, dialect))
        }
        ("assistant", Dialect::Gemini) => {
            Ok(vec![json!({ "role": "model", "parts": [{ "text": said()? }] })])
        }
        ("assistant", _) => Ok(vec![json!({ "role": "assistant", "content": said()? })]),
        _ => Err(foreign(at, dialect)),
    }
}

fn foreign(at: usize, dialect: Dialect) -> String {
    format!(
        "`messages[{at}]` cannot be told to this agent's model, which speaks `{dialect}`: only \
         texts of user and assistant can, calls of a client's own tools where that has words for \
         them, and system messages that come first"
    )
}

/// The text of a message.
fn text(message: &Value, at: usize) -> Result<String, String> {
    let part = |part: &Value| -> Option<String> {
        let kind = part.get("type").and_then(Value::as_str);
        let text = part.get("text").and_then(Value::as_str);
        text.filter(|_| kind == Some("text")).map(str::to_owned)
    };
    let found = match message.get("content") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => {
            parts.iter().map(part).collect::<Option<Vec<_>>>().map(|all| all.join("\n"))
        }
        Some(_) | None => None,
    };
    found.ok_or_else(|| format!("`messages[{at}].content` must be text for this agent's model"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, messages: Value, expected: Result<(&str, Value), &str>) {
        let told = Told::read(dialect, messages.as_array().unwrap());
        match (told, expected) {
            (Ok(told), Ok((prompt, history))) => {
                assert_eq!(told.wishes.prompt("ours"), prompt);
                assert_eq!(serde_json::to_value(told.history.items()).unwrap(), history);
            }
            (Err(why), Err(expected)) => assert!(why.contains(expected), "{why}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn a_conversation_is_told_in_the_models_own_shape() {
        let talk = json!([
            { "role": "system", "content": "be brief" },
            { "role": "user", "content": [{ "type": "text", "text": "hi" }] },
            { "role": "assistant", "content": "hello" },
            { "role": "user", "content": "go on" },
        ]);
        let rest = json!(talk.as_array().unwrap()[1..]);
        check(Dialect::OpenAiChat, talk.clone(), Ok(("ours\n\nbe brief", rest)));
        check(
            Dialect::Gemini,
            talk.clone(),
            Ok((
                "ours\n\nbe brief",
                json!([
                    { "role": "user", "parts": [{ "text": "hi" }] },
                    { "role": "model", "parts": [{ "text": "hello" }] },
                    { "role": "user", "parts": [{ "text": "go on" }] },
                ]),
            )),
        );
        let image =
            json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": {} }] }]);
        check(Dialect::Anthropic, image.clone(), Err("`messages[0].content` must be text"));
        check(Dialect::OpenAiChat, image.clone(), Ok(("ours", image)));
        check(Dialect::OpenAiChat, json!([{ "role": "king" }]), Err("`messages[0]` has no role"));
        check(Dialect::OpenAiChat, json!([]), Err("nothing to answer"));
        let tool = json!([{ "role": "tool", "tool_call_id": "a", "content": "b" }]);
        check(Dialect::Gemini, tool, Err("which speaks `gemini`"));
    }

    #[track_caller]
    fn wish(dialect: Dialect, name: &str, value: Value, expected: Result<Option<Value>, &str>) {
        let mut told = Told::default();
        let found = told.wish(dialect, name, &value);
        let fields = json!(told.wishes.fields);
        match expected {
            Ok(None) => assert_eq!(found, Ok(false)),
            Ok(Some(expected)) => assert_eq!((found, fields), (Ok(true), expected)),
            Err(expected) => assert!(found.unwrap_err().contains(expected)),
        }
    }

    #[test]
    fn what_a_model_can_be_asked_for_has_its_own_name_there() {
        wish(Dialect::OpenAiChat, "stop", json!("x"), Ok(Some(json!({ "stop": "x" }))));
        wish(Dialect::Gemini, "stop", json!("x"), Ok(Some(json!({ "stopSequences": ["x"] }))));
        wish(Dialect::Anthropic, "seed", json!(1), Err("cannot be asked of this agent's model"));
        wish(Dialect::OpenAiChat, "stream", json!(true), Ok(None));
        wish(Dialect::OpenAiChat, "max_tokens", json!(0), Err("above 0"));
    }
}
