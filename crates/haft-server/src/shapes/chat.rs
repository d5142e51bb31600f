//! Conversations, in the shapes that clients of Chat Completions read.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::ToSchema;

use super::Open;

/// A conversation that is to be answered. What an agent's model cannot be asked is refused, and so is
/// what is not named here.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatRequest {
    /// The agent, where the key is for several; else anything.
    model: Option<String>,
    /// The whole conversation, the newest last.
    messages: Vec<ChatMessage>,
    /// Whether the answer comes in pieces.
    stream: Option<bool>,
    /// How it comes in pieces.
    stream_options: Option<ChatStream>,
    /// Whom the client speaks for; a word of its own that allows nothing.
    user: Option<String>,
    /// Tools of the client's own, whose calls are handed back.
    tools: Option<Vec<ChatTool>>,
    /// What the model is to call: `auto`, `none`, `required`, or one tool by name.
    tool_choice: Option<Value>,
    /// Passed over.
    metadata: Option<Open>,
    /// The most that the model may write.
    #[schema(minimum = 1)]
    max_tokens: Option<u64>,
    /// The same.
    #[schema(minimum = 1)]
    max_completion_tokens: Option<u64>,
    /// For the model.
    temperature: Option<f64>,
    /// For the model.
    top_p: Option<f64>,
    /// For the model: a text, or several.
    stop: Option<Value>,
    /// For the model.
    seed: Option<i64>,
    /// For the model.
    frequency_penalty: Option<f64>,
    /// For the model.
    presence_penalty: Option<f64>,
    /// For the model.
    logit_bias: Option<BTreeMap<String, f64>>,
    /// For the model.
    response_format: Option<Open>,
    /// For the model.
    reasoning_effort: Option<String>,
    /// For the model.
    verbosity: Option<String>,
    /// For the model.
    service_tier: Option<String>,
    /// For the model.
    safety_identifier: Option<String>,
    /// For the model.
    prompt_cache_key: Option<String>,
    /// An answer may act, so there is one only.
    #[schema(minimum = 1, maximum = 1)]
    n: Option<u32>,
    /// Only `false`.
    logprobs: Option<bool>,
    /// Only `true`.
    parallel_tool_calls: Option<bool>,
    /// Only `false`.
    store: Option<bool>,
    /// Only `["text"]`.
    modalities: Option<Vec<String>>,
}

/// What somebody said. It may have more members, as its role has them.
#[derive(ToSchema)]
pub(crate) struct ChatMessage {
    /// `system`, `developer`, `user`, `assistant` or `tool`.
    role: String,
    /// A text, or parts.
    content: Option<Value>,
    /// What the assistant called.
    tool_calls: Option<Vec<ChatCall>>,
    /// Which call a tool's message answers.
    tool_call_id: Option<String>,
}

/// How an answer comes in pieces.
#[derive(ToSchema)]
pub(crate) struct ChatStream {
    /// Whether the last piece says what was used.
    include_usage: Option<bool>,
}

/// A tool of the client's own.
#[derive(ToSchema)]
pub(crate) struct ChatTool {
    /// `function`.
    #[schema(rename = "type")]
    kind: String,
    /// Its name, description and parameters.
    function: Open,
}

/// An answer.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatCompletion {
    /// Its id.
    id: String,
    /// `chat.completion`.
    object: String,
    /// When, in seconds of the Unix epoch.
    created: u64,
    /// What the request named.
    model: String,
    /// One.
    choices: Vec<ChatChoice>,
    /// What it took.
    usage: ChatUsage,
    /// What these clients do not know of and may read.
    haft: ChatOurs,
}

/// The one answer.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatChoice {
    /// 0.
    index: u32,
    /// What is said.
    message: ChatAnswer,
    /// Always `null`.
    #[schema(value_type = Option<Vec<Value>>, required)]
    logprobs: Option<Vec<Value>>,
    /// `stop`, `length`, `content_filter` or `tool_calls`.
    finish_reason: String,
}

/// What is said.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatAnswer {
    /// `assistant`.
    role: String,
    /// The text of all rounds; `null` where nothing but calls is handed back.
    #[schema(required)]
    content: Option<String>,
    /// Why the model would not answer.
    #[schema(required)]
    refusal: Option<String>,
    /// Calls of the client's own tools, for the client to make.
    tool_calls: Option<Vec<ChatCall>>,
}

/// A call of one of the client's own tools.
#[derive(ToSchema)]
pub(crate) struct ChatCall {
    /// Its id.
    id: String,
    /// `function`.
    #[schema(rename = "type")]
    kind: String,
    /// What is called.
    function: ChatFunction,
    /// What the provider wants back with the call.
    extra_content: Option<Open>,
}

/// What is called.
#[derive(ToSchema)]
pub(crate) struct ChatFunction {
    /// By this name.
    name: String,
    /// With these arguments, as JSON in a text.
    arguments: String,
}

/// How many tokens an answer took.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatUsage {
    /// Read.
    prompt_tokens: u64,
    /// Written.
    completion_tokens: u64,
    /// Both.
    total_tokens: u64,
}

/// How an answer came about.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatOurs {
    /// The session that the calls belong to.
    session: String,
    /// Answers of the model.
    rounds: u32,
    /// Calls that were made here.
    calls: u32,
    /// Why it ended: `finished`, `handed_back`, `length`, `refused`, `filtered`, `limit` or
    /// `cancelled`.
    reason: String,
    /// Which limit: `rounds`, `calls`, `tokens` or `time`.
    limit: Option<String>,
    /// How much it allows.
    most: Option<u64>,
    /// What people have to approve first.
    confirmations: Option<Vec<ChatQuestion>>,
}

/// What a person has to approve.
#[derive(ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChatQuestion {
    /// The confirmation.
    id: String,
    /// The tool.
    tool: String,
    /// What would be done.
    preview: String,
    /// Arguments that do not look like what they are.
    suspicious: Vec<String>,
    /// The effective arguments.
    arguments: Value,
    /// When the question is void, in milliseconds of the Unix epoch.
    expires_at_ms: i64,
}

/// What went wrong, in the shape that these clients read.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatError {
    /// What it was.
    error: ChatFault,
}

/// What went wrong.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChatFault {
    /// In words.
    message: String,
    /// `authentication_error`, `permission_error`, `rate_limit_error`, `invalid_request_error` or
    /// `server_error`.
    #[schema(rename = "type")]
    kind: String,
    /// Always `null`.
    #[schema(required)]
    param: Option<String>,
    /// The stable code; `/errors/{code}` has a page on it.
    code: String,
}
