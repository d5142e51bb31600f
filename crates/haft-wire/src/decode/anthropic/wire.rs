//! Messages and events as they are written.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decode::text::Piece;

#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
    pub(super) stop_reason: Option<String>,
}

/// A message with all of its content.
#[derive(Deserialize)]
pub(super) struct Whole<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
}

/// What a content block says when it begins.
#[derive(Deserialize)]
pub(super) struct Begun<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) text: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Piece<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Piece<'a>>,
}
