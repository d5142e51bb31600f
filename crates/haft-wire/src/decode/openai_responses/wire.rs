//! Responses and events as they are written.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decode::text::Piece;

#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) response_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text_or_none")]
    pub(super) delta: Option<Piece<'a>>,
    #[serde(borrow, default, deserialize_with = "text_or_json")]
    pub(super) arguments: Option<Piece<'a>>,
    #[serde(borrow, default, deserialize_with = "text_or_json")]
    pub(super) input: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    /// Only a whole response has it.
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
}

/// Some events have an object where others have text.
fn text_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Piece<'de>>, D::Error> {
    let raw = Option::<&'de RawValue>::deserialize(from)?;
    Ok(raw.and_then(|raw| serde_json::from_str(raw.get()).ok()))
}

/// Some imitators send arguments as an object: then its text is what was meant.
fn text_or_json<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Piece<'de>>, D::Error> {
    let raw = Option::<&'de RawValue>::deserialize(from)?.map(RawValue::get);
    Ok(raw.filter(|raw| *raw != "null").map(|raw| match raw.starts_with('"') {
        true => serde_json::from_str(raw).unwrap_or_default(),
        false => Piece(Cow::Borrowed(raw.as_bytes())),
    }))
}

#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) status_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct OutputItem<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) call_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "text_or_json")]
    pub(super) arguments: Option<Piece<'a>>,
    #[serde(borrow, default, deserialize_with = "text_or_json")]
    pub(super) input: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) summary: Option<&'a RawValue>,
}

/// A part of a message or of reasoning.
#[derive(Deserialize)]
pub(super) struct Said<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) transcript: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Piece<'a>>,
}
