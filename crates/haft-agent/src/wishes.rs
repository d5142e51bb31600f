//! What whoever keeps a conversation wants of the model, in its dialect.

use std::borrow::Cow;
use std::sync::Arc;

use haft_runtime::toolbox::Catalog;
use haft_wire::tools::choice;
use haft_wire::{Choice, Dialect, Rendering};
use serde_json::{Map, Value, json};

use crate::theirs::Theirs;

/// What is asked of the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) system: Vec<String>,
    pub(crate) fields: Map<String, Value>,
    pub(crate) max_output_tokens: Option<u64>,
    /// Tools of the client's own.
    pub(crate) theirs: Arc<Theirs>,
    pub(crate) chosen: Chosen,
}

/// What the model is to call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// What it sees fit.
    #[default]
    Auto,
    /// Nothing.
    Nothing,
    /// Something, before it answers.
    Something,
    /// This tool of the agent, by id, before anything else.
    Ours(String),
    /// This tool of the client, before anything else.
    Theirs(String),
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

impl Wishes {
    /// The agent's prompt comes first: what a client says may add to it.
    pub(crate) fn prompt<'a>(&self, ours: &'a str) -> Cow<'a, str> {
        match self.system.is_empty() {
            true => Cow::Borrowed(ours),
            false => Cow::Owned(format!("{ours}\n\n{}", self.system.join("\n\n"))),
        }
    }

    /// Takes a parameter of the request; false where it is none that concerns the model.
    pub(crate) fn wish(
        &mut self,
        dialect: Dialect,
        name: &str,
        value: &Value,
    ) -> Result<bool, String> {
        if matches!(name, "max_tokens" | "max_completion_tokens") {
            let most = value.as_u64().filter(|most| *most > 0);
            self.max_output_tokens =
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
        self.fields.insert((*own).to_owned(), value);
        Ok(true)
    }

    /// Takes a request's `tool_choice`.
    pub(crate) fn choose(&mut self, wanted: &Value, catalog: &Catalog) -> Result<(), String> {
        self.chosen = match wanted.as_str() {
            Some("auto") => Chosen::Auto,
            Some("none") => Chosen::Nothing,
            Some("required") if catalog.list().next().is_none() && self.theirs.is_empty() => {
                return Err("`tool_choice`: there is no tool that could be called".into());
            }
            Some("required") => Chosen::Something,
            Some(_) | None => self.function(wanted, catalog)?,
        };
        Ok(())
    }

    fn function(&self, wanted: &Value, catalog: &Catalog) -> Result<Chosen, String> {
        let is_function = wanted.get("type").is_some_and(|kind| kind == "function");
        let name = wanted.pointer("/function/name").and_then(Value::as_str);
        let Some(name) = name.filter(|_| is_function) else {
            return Err("`tool_choice` must be `auto`, `none`, `required` or \
                        `{\"type\": \"function\", \"function\": {\"name\": …}}`"
                .into());
        };
        match catalog.get(name) {
            _ if self.theirs.has(name) => Ok(Chosen::Theirs(name.to_owned())),
            Some(ours) => Ok(Chosen::Ours(ours.tool.id.clone())),
            None => Err(format!(
                "`tool_choice`: `{}` is neither a tool of the agent nor one of `tools`",
                name.chars().take(64).collect::<String>().escape_debug()
            )),
        }
    }

    /// The request's field for what is to be called in this round, the first or a later one. Only the
    /// first is forced: forced in each, a model would never come to an answer.
    pub(crate) fn choice(
        &self,
        first: bool,
        shown: &Rendering,
    ) -> Result<Option<(&'static str, Value)>, String> {
        let dialect = shown.target().dialect;
        let (wanted, found) = match &self.chosen {
            Chosen::Nothing if crate::request::shown(shown) == 0 && self.theirs.is_empty() => {
                return Ok(None);
            }
            Chosen::Nothing => ("none", shown.choice(&Choice::None)),
            Chosen::Auto => return Ok(None),
            Chosen::Something | Chosen::Ours(_) | Chosen::Theirs(_) if !first => return Ok(None),
            Chosen::Something => ("required", shown.choice(&Choice::Required)),
            Chosen::Ours(id) => (id.as_str(), shown.choice(&Choice::Tool(id.clone()))),
            Chosen::Theirs(name) => (name.as_str(), choice::named(dialect, self.theirs.wire(name))),
        };
        let field = found.ok_or_else(|| {
            format!("`tool_choice`: `{wanted}` cannot be told to this agent's model (`{dialect}`)")
        })?;
        Ok(Some(field))
    }
}
