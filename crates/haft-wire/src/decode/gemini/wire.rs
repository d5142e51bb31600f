//! Responses as they are written: in camel case by Google, in snake case by some proxies and SDKs.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decode::text::Piece;

#[derive(Deserialize)]
pub(crate) struct Response<'a> {
    #[serde(borrow)]
    pub(crate) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, rename = "promptFeedback", alias = "prompt_feedback")]
    pub(crate) feedback: Option<Feedback<'a>>,
    #[serde(borrow, rename = "usageMetadata", alias = "usage_metadata")]
    pub(crate) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) error: Option<&'a RawValue>,
    /// A model's content alone.
    #[serde(borrow)]
    pub(crate) parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
pub(crate) struct Feedback<'a> {
    #[serde(borrow, rename = "blockReason", alias = "block_reason")]
    pub(crate) reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(crate) struct Candidate<'a> {
    pub(crate) index: Option<u32>,
    #[serde(borrow)]
    pub(crate) content: Option<Content<'a>>,
    #[serde(borrow, rename = "finishReason", alias = "finish_reason")]
    pub(crate) finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "finishMessage", alias = "finish_message")]
    pub(crate) finish_message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(crate) struct Content<'a> {
    #[serde(borrow)]
    pub(crate) parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
pub(crate) struct Part<'a> {
    #[serde(borrow)]
    pub(crate) text: Option<Piece<'a>>,
    pub(crate) thought: Option<bool>,
    #[serde(borrow, rename = "thoughtSignature", alias = "thought_signature")]
    pub(crate) signature: Option<&'a RawValue>,
    #[serde(borrow, rename = "functionCall", alias = "function_call")]
    pub(crate) call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
pub(crate) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) args: Option<&'a RawValue>,
    #[serde(borrow, rename = "partialArgs", alias = "partial_args")]
    pub(crate) partial: Option<Vec<PartialArg<'a>>>,
    #[serde(rename = "willContinue", alias = "will_continue")]
    pub(crate) more: Option<bool>,
}

/// One piece of one argument.
#[derive(Deserialize)]
pub(crate) struct PartialArg<'a> {
    #[serde(borrow, rename = "jsonPath", alias = "json_path")]
    pub(crate) path: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "stringValue", alias = "string_value")]
    pub(crate) text: Option<Piece<'a>>,
    #[serde(borrow, rename = "numberValue", alias = "number_value")]
    pub(crate) number: Option<&'a RawValue>,
    #[serde(rename = "boolValue", alias = "bool_value")]
    pub(crate) boolean: Option<bool>,
    #[serde(rename = "willContinue", alias = "will_continue")]
    pub(crate) more: Option<bool>,
}
