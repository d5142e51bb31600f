//! A conversation that somebody else keeps and tells whole each time, in the words of OpenAI's Chat
//! Completions; and what they want of the model.

use std::collections::HashSet;
use std::sync::Arc;

use haft_runtime::toolbox::Catalog;
use haft_wire::{Dialect, Strictness, Target, results};
use serde_json::{Value, json};

use crate::history::History;
use crate::offer;
use crate::theirs::Theirs;
use crate::theirs::words::{self, Teller};
use crate::wishes::Wishes;

/// A conversation as it was told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub(crate) history: History,
    pub(crate) wishes: Wishes,
    /// Ids of calls that it speaks of: no other call of the conversation gets one of these.
    pub(crate) ids: HashSet<String>,
}

impl Told {
    /// Reads the messages of a request, oldest first, and the tools of the client's own that it lists
    /// as one of Chat Completions does. Calls of those are handed back.
    ///
    /// # Errors
    ///
    /// What is neither, or cannot be told to a model of this dialect.
    pub fn read(dialect: Dialect, messages: &[Value], tools: &[Value]) -> Result<Self, String> {
        let mut told = Self::default();
        let theirs = Theirs::read(dialect, tools)?;
        let leading = messages.iter().take_while(|one| is_system(one)).count();
        let (system, rest) = messages.split_at(leading);
        for (at, message) in system.iter().enumerate() {
            told.wishes.system.push(text(message, at)?);
        }
        if rest.is_empty() {
            return Err("`messages` holds nothing to answer; add what the user said".into());
        }
        let mut all = Vec::with_capacity(rest.len());
        let mut teller = Teller::new(dialect, &theirs);
        for (at, message) in words::in_order(rest) {
            all.extend(translated(dialect, &mut teller, message, leading + at)?);
        }
        told.history.ours(words::joined(dialect, all));
        told.wishes.theirs = Arc::new(theirs);
        told.ids = words::ids(rest);
        Ok(told)
    }

    /// The names of the client's own tools.
    pub fn offered(&self) -> impl Iterator<Item = &str> {
        self.wishes.theirs.names()
    }

    /// Whether a request has room for tools of the agent, whose `catalog` it is, beside the client's.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn fits(&self, dialect: Dialect, catalog: &Catalog) -> Result<(), String> {
        let theirs = self.wishes.theirs.count();
        let room = offer::room(Target::new(dialect, Strictness::Plain), theirs);
        match room == Some(0) && catalog.list().next().is_some() {
            true => Err(format!(
                "`tools`: there are {theirs}, which is as many as this agent's model takes, and the \
                 agent has tools too; send fewer"
            )),
            false => Ok(()),
        }
    }

    /// Takes a parameter of the request; false where it is none that concerns the model.
    ///
    /// # Errors
    ///
    /// A model of this dialect cannot be asked for that.
    pub fn wish(&mut self, dialect: Dialect, name: &str, value: &Value) -> Result<bool, String> {
        self.wishes.wish(dialect, name, value)
    }

    /// Takes the request's `tool_choice`; `catalog` is the agent's.
    ///
    /// # Errors
    ///
    /// What cannot be chosen.
    pub fn choose(&mut self, wanted: &Value, catalog: &Catalog) -> Result<(), String> {
        self.wishes.choose(wanted, catalog)
    }
}

fn is_system(message: &Value) -> bool {
    matches!(role(message), "system" | "developer")
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

fn translated(
    dialect: Dialect,
    teller: &mut Teller<'_>,
    message: &Value,
    at: usize,
) -> Result<Vec<Value>, String> {
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
            let told = teller.calls(&beside(message, at)?, calls);
            told.ok_or_else(|| foreign(at, dialect))
        }
        ("tool", _) => {
            let id = message.get("tool_call_id").and_then(Value::as_str);
            let told = id.zip(Some(said()?)).and_then(|(id, text)| teller.result(id, &text));
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
    let found = match message.get("content") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => {
            parts.iter().map(part).collect::<Option<Vec<_>>>().map(|all| all.join("\n"))
        }
        Some(_) | None => None,
    };
    found.ok_or_else(|| format!("`messages[{at}].content` must be text for this agent's model"))
}

/// The text beside calls: there need not be any, and what is not text cannot be told.
fn beside(message: &Value, at: usize) -> Result<String, String> {
    match message.get("content") {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::Array(parts)) => {
            Ok(parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"))
        }
        Some(_) => text(message, at),
    }
}

/// The text of one part.
fn part(part: &Value) -> Option<&str> {
    let kind = part.get("type").and_then(Value::as_str);
    part.get("text").and_then(Value::as_str).filter(|_| kind == Some("text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, messages: Value, expected: Result<(&str, Value), &str>) {
        let told = Told::read(dialect, messages.as_array().unwrap(), &[]);
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

    #[test]
    fn what_was_said_beside_calls_is_kept() {
        let said = |content: Value| {
            let call = json!({ "id": "c1", "type": "function",
                "function": { "name": "now", "arguments": "" } });
            json!([{ "role": "user", "content": "hi" },
                { "role": "assistant", "content": content, "tool_calls": [call] },
                { "role": "tool", "tool_call_id": "c1", "content": "noon" }])
        };
        let text = |text: &str| json!({ "type": "text", "text": text });
        let refusal = json!({ "type": "refusal", "refusal": "no more" });
        for (content, expected) in [
            (json!([text("Wait."), refusal, text("So.")]), Some("Wait.\nSo.")),
            (json!([refusal]), None),
            (json!("Wait."), Some("Wait.")),
            (json!([]), None),
            (Value::Null, None),
        ] {
            let told = Told::read(Dialect::Anthropic, said(content).as_array().unwrap(), &[]);
            let told = serde_json::to_value(told.unwrap().history.items()).unwrap();
            let first = &told[1]["content"][0];
            assert_eq!(first.get("text").and_then(Value::as_str), expected, "{told}");
        }
        check(Dialect::Anthropic, said(json!(7)), Err("`messages[1].content` must be text"));
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
