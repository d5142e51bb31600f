//! The body of a request, in each dialect that models are asked in.

use haft_wire::{Dialect, Rendering};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::history::{History, Item};
use crate::settings::Settings;
use crate::wishes::Wishes;

/// Anthropic must be told how long an answer may be.
const ANTHROPIC_OUTPUT: u64 = 8_192;

/// All that a request is made of.
pub(crate) struct Request<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) model: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) history: &'a History,
    pub(crate) tools: &'a Rendering,
    /// The field that says what is to be called, and its value.
    pub(crate) choice: Option<(&'static str, Value)>,
    pub(crate) settings: &'a Settings,
    pub(crate) wishes: &'a Wishes,
}

#[derive(Default, Serialize)]
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

impl Body<'_> {
    fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.fields.insert(key.to_owned(), value.into());
    }
}

impl Request<'_> {
    /// Writes it.
    ///
    /// # Errors
    ///
    /// The dialect is none that a model is asked in over HTTP, or the request cannot be written.
    pub(crate) fn body(&self) -> Result<String, String> {
        let system = Item::Ours(json!({ "role": "system", "content": self.prompt }));
        let mut body = match self.dialect {
            Dialect::OpenAiChat => self.chat(&system),
            Dialect::OpenAiResponses => self.responses(),
            Dialect::Anthropic => self.anthropic(),
            Dialect::Gemini => self.gemini(),
            Dialect::OpenAiRealtime | Dialect::GeminiLive | Dialect::Mcp | Dialect::Adm => {
                return Err(format!("no model is asked in `{}` over HTTP", self.dialect));
            }
        };
        if let Some((key, value)) = &self.choice {
            body.set(key, value.clone());
        }
        // An empty list is refused by some.
        let theirs = &self.wishes.theirs;
        let both = (!theirs.is_empty()).then(|| theirs.beside(self.tools));
        let ours = Some(&self.tools.tools).filter(|_| shown(self.tools) > 0);
        body.tools = both.as_ref().or(ours);
        serde_json::to_string(&body).map_err(|why| format!("the request cannot be written: {why}"))
    }

    /// The most tokens of an answer, where someone says.
    fn most(&self) -> Option<u64> {
        match (self.settings.max_output_tokens, self.wishes.max_output_tokens) {
            (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
            (ours, theirs) => ours.or(theirs),
        }
    }

    fn streamed<'b>(&self) -> Body<'b> {
        let mut body = Body::default();
        body.set("model", self.model);
        body.set("stream", true);
        body
    }

    fn wished(&self, body: &mut Body<'_>) {
        let fields = self.wishes.fields.iter();
        body.fields.extend(fields.map(|(key, value)| (key.clone(), value.clone())));
    }

    fn chat<'b>(&'b self, system: &'b Item) -> Body<'b> {
        let mut body = self.streamed();
        body.set("stream_options", json!({ "include_usage": true }));
        self.most().into_iter().for_each(|most| body.set("max_completion_tokens", most));
        self.wished(&mut body);
        body.messages = Some(std::iter::once(system).chain(self.history.items()).collect());
        body
    }

    fn responses(&self) -> Body<'_> {
        let mut body = self.streamed();
        body.set("instructions", self.prompt);
        // Nothing stays with the provider, so reasoning comes along to be repeated.
        body.set("store", false);
        body.set("include", json!(["reasoning.encrypted_content"]));
        self.most().into_iter().for_each(|most| body.set("max_output_tokens", most));
        self.wished(&mut body);
        body.input = Some(self.history.items());
        body
    }

    fn anthropic(&self) -> Body<'_> {
        let mut body = self.streamed();
        body.set("max_tokens", self.most().unwrap_or(ANTHROPIC_OUTPUT));
        body.set("system", self.prompt);
        self.wished(&mut body);
        body.messages = Some(self.history.items().iter().collect());
        body
    }

    fn gemini(&self) -> Body<'_> {
        let mut body = Body::default();
        body.set("systemInstruction", json!({ "parts": [{ "text": self.prompt }] }));
        let mut generation = self.wishes.fields.clone();
        generation.extend(self.most().map(|most| ("maxOutputTokens".to_owned(), json!(most))));
        if !generation.is_empty() {
            body.set("generationConfig", generation);
        }
        body.contents = Some(self.history.items());
        body
    }
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
