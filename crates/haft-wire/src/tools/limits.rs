//! How much providers take, as data. Only what a provider documents, or says when it refuses a
//! request, is in here; where it names no number (Gemini's "too complex" schemas, Anthropic's size of a
//! compiled grammar), there is none.
//!
//! What one schema may hold is kept by lowering: values are left unlisted, what is too deep becomes
//! text, a tool that is too large is left out. What one request may hold depends on the tools that
//! are sent together, so whoever makes requests asks for it: [`Rendering::for_request`].

use serde_json::Value;

use super::{Rendering, Target};
use crate::loss::{Fate, Loss};
use crate::{Dialect, Strictness};

/// How much one schema may hold.
#[derive(Clone, Copy, Debug)]
pub struct PerSchema {
    /// Properties.
    pub properties: usize,
    /// Values in lists of values.
    pub values: usize,
    /// Characters in names, definitions and values.
    pub characters: usize,
    /// A list of more texts than this is long.
    pub long_list: usize,
    /// The most characters in the texts of a long list.
    pub long_list_characters: usize,
}

/// OpenAI's strict mode, as its guide to structured outputs has it (February 2026).
pub const OPENAI_STRICT: PerSchema = PerSchema {
    properties: 5_000,
    values: 1_000,
    characters: 120_000,
    long_list: 250,
    long_list_characters: 15_000,
};

/// How much one request may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerRequest {
    /// Tools.
    pub tools: Option<usize>,
    /// Tools that the model is held to, all together.
    pub strict: Option<Strict>,
}

/// How much there may be in the strict tools of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strict {
    /// Tools.
    pub tools: usize,
    /// Parameters that may be left out.
    pub optional: usize,
    /// Parameters of several types.
    pub unions: usize,
}

/// Chat Completions refuse a longer list of tools with `array_above_max_length`.
const OPENAI_CHAT: PerRequest = PerRequest { tools: Some(128), strict: None };
/// The limits on schemas that Anthropic compiles.
const ANTHROPIC_STRICT: PerRequest =
    PerRequest { tools: None, strict: Some(Strict { tools: 20, optional: 24, unions: 16 }) };
/// As the type of its tools says.
const GEMINI: PerRequest = PerRequest { tools: Some(512), strict: None };
const UNKNOWN: PerRequest = PerRequest { tools: None, strict: None };

impl Target {
    /// How much one request may hold.
    #[must_use]
    pub fn per_request(self) -> PerRequest {
        match (self.dialect, self.strictness) {
            (Dialect::OpenAiChat, _) => OPENAI_CHAT,
            (Dialect::Anthropic, Strictness::Strict) => ANTHROPIC_STRICT,
            (Dialect::Gemini | Dialect::GeminiLive, _) => GEMINI,
            (
                Dialect::OpenAiResponses
                | Dialect::OpenAiRealtime
                | Dialect::Anthropic
                | Dialect::Mcp
                | Dialect::Adm,
                _,
            ) => UNKNOWN,
        }
    }
}

impl Strict {
    /// What a lowered schema takes of it.
    fn of(schema: &Value) -> Self {
        let mut taken = Self { tools: 1, ..Self::default() };
        taken.count(schema);
        taken
    }

    fn count(&mut self, schema: &Value) {
        let Some(map) = schema.as_object() else { return };
        self.unions +=
            usize::from(map.contains_key("anyOf") || map.get("type").is_some_and(Value::is_array));
        let members = map.get("properties").and_then(Value::as_object);
        let needed = map.get("required").and_then(Value::as_array).map_or(0, Vec::len);
        self.optional += members.map_or(0, |all| all.len().saturating_sub(needed));
        let defined = map.get("$defs").and_then(Value::as_object);
        members.into_iter().chain(defined).for_each(|all| all.values().for_each(|s| self.count(s)));
        map.get("anyOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .for_each(|s| self.count(s));
        map.get("items").into_iter().for_each(|items| self.count(items));
    }

    fn with(self, more: Self) -> Self {
        Self {
            tools: self.tools + more.tools,
            optional: self.optional + more.optional,
            unions: self.unions + more.unions,
        }
    }

    /// What there is too much of, in words.
    fn exceeded_by(self, taken: Self) -> Option<String> {
        let parts = [
            (taken.tools, self.tools, "strict tools"),
            (taken.optional, self.optional, "parameters that may be left out in strict tools"),
            (taken.unions, self.unions, "parameters of several types in strict tools"),
        ];
        let (_, most, of) = parts.into_iter().find(|(taken, most, _)| taken > most)?;
        Some(format!("a request takes at most {most} {of}"))
    }
}

/// A tool that no request could hold the model to is shown without that.
pub(super) fn alone(target: Target, tool: &mut Value) -> Option<Loss> {
    let most = target.per_request().strict?;
    let taken = Strict::of(tool.get("input_schema")?);
    relaxed(tool, most.exceeded_by(taken)?)
}

fn relaxed(tool: &mut Value, why: String) -> Option<Loss> {
    tool.as_object_mut()?.shift_remove("strict")?;
    Some(Loss {
        tool: String::new(),
        pointer: String::new(),
        keyword: "strict".to_owned(),
        fate: Fate::Dropped,
        note: format!("the model is not held to this tool's schema: {why}"),
    })
}

impl Rendering {
    /// The same tools as one request takes them: where the model can be held to some of the schemas
    /// only, it is held to the first ones.
    #[must_use]
    pub fn for_request(mut self) -> Self {
        let Some(most) = self.target.per_request().strict else { return self };
        let mut taken = Strict::default();
        let tools = self.tools.as_array_mut().into_iter().flatten();
        for (tool, offered) in tools.zip(&self.offered) {
            let (Some(schema), Some(_)) = (tool.get("input_schema"), tool.get("strict")) else {
                continue;
            };
            let with = taken.with(Strict::of(schema));
            match most.exceeded_by(with) {
                None => taken = with,
                Some(why) => self.report.extend(
                    relaxed(tool, why).map(|loss| Loss { tool: offered.id.to_string(), ..loss }),
                ),
            }
        }
        self
    }

    /// What a provider would refuse a request with all of these tools for, a sentence each.
    #[must_use]
    pub fn excess(&self) -> Vec<String> {
        let PerRequest { tools, strict } = self.target.per_request();
        let shown = self.offered.len();
        let many = tools.filter(|most| shown > *most);
        let many =
            many.map(|most| format!("a request takes at most {most} tools, and here are {shown}"));
        let held = self.tools.as_array().into_iter().flatten();
        let held = held.filter(|tool| tool.get("strict") == Some(&Value::Bool(true)));
        let taken = held
            .filter_map(|tool| tool.get("input_schema"))
            .fold(Strict::default(), |taken, schema| taken.with(Strict::of(schema)));
        let strict = strict.and_then(|most| most.exceeded_by(taken));
        many.into_iter().chain(strict).collect()
    }
}
