//! MCP: a `CallToolResult` for a call. The same answer as text and, where it is an object, as
//! structured content.

use std::borrow::Cow;

use haft_core::Envelope;
use haft_core::content::{Contents, MEMBER};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::told;

/// The end of a call as a `CallToolResult`. It is written from where the answer stands: an answer may
/// be large, and copies of it on its way out serve nobody.
///
/// ```
/// use haft_core::outcome::{Envelope, Meta};
/// use haft_wire::results::CallToolResult;
/// use serde_json::json;
///
/// let envelope = Envelope { result: Ok(json!("three")), intents: vec![], meta: Meta::default() };
/// let told = CallToolResult::new(&envelope).with_meta(json!({"haft/callId": "call_1"}));
/// assert_eq!(
///     serde_json::to_value(&told).unwrap(),
///     json!({
///         "content": [{"type": "text", "text": "three"}], "isError": false,
///         "resultType": "complete", "_meta": {"haft/callId": "call_1"},
///     })
/// );
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CallToolResult<'a, M = ()> {
    envelope: &'a Envelope,
    is_foreseen: bool,
    meta: Option<M>,
}

impl<'a> CallToolResult<'a> {
    /// The end of a call, without `_meta`.
    #[must_use]
    pub fn new(envelope: &'a Envelope) -> Self {
        Self { envelope, is_foreseen: false, meta: None }
    }

    /// What a dry run came to. It is no answer of the tool: clients hold whatever is no error to the
    /// tool's output schema, and it must not have structured content, which they hold to it always.
    #[must_use]
    pub fn foreseen(envelope: &'a Envelope) -> Self {
        Self { is_foreseen: true, ..Self::new(envelope) }
    }

    /// The same with `_meta`.
    #[must_use]
    pub fn with_meta<M: Serialize>(self, meta: M) -> CallToolResult<'a, M> {
        let Self { envelope, is_foreseen, .. } = self;
        CallToolResult { envelope, is_foreseen, meta: Some(meta) }
    }
}

impl<M: Serialize> Serialize for CallToolResult<'_, M> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut result = to.serialize_map(None)?;
        let answer = &self.envelope.result;
        match answer {
            Ok(data) => result.serialize_entry("content", &content(self.envelope, data))?,
            Err(_) => {
                let text = told::told(self.envelope).text();
                result.serialize_entry("content", &[Block::text(text)])?;
            }
        }
        let is_error = answer.is_err() || self.is_foreseen;
        result.serialize_entry("isError", &is_error)?;
        // The revision of 2026 asks for it, and the ones before ignore it.
        result.serialize_entry("resultType", "complete")?;
        let data = answer.as_ref().ok().filter(|_| !is_error).and_then(Value::as_object);
        if let Some(beside) = data.and_then(Beside::of) {
            result.serialize_entry("structuredContent", &beside)?;
        }
        if let Some(meta) = &self.meta {
            result.serialize_entry("_meta", meta)?;
        }
        result.end()
    }
}

/// What is shown, and then what else the model should know.
fn content<'a>(envelope: &Envelope, data: &'a Value) -> Vec<Block<'a>> {
    let mut blocks = match Contents::of(data) {
        Some(shown) => shown.blocks.into_iter().map(Block::Shown).collect(),
        None => vec![Block::text(told::in_text(data))],
    };
    let notes = told::notes(envelope);
    blocks.extend(notes.into_iter().map(|note| Block::text(format!("note: {note}"))));
    blocks
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Text {
        #[serde(rename = "type")]
        kind: &'static str,
        text: Cow<'a, str>,
    },
    Shown(haft_core::content::Content),
}

impl<'a> Block<'a> {
    fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { kind: "text", text: text.into() }
    }
}

/// An answer that is an object, without what stands in the content already.
struct Beside<'a>(&'a Map<String, Value>);

impl<'a> Beside<'a> {
    /// None where nothing is left.
    fn of(data: &'a Map<String, Value>) -> Option<Self> {
        (data.len() != 1 || !data.contains_key(MEMBER)).then_some(Self(data))
    }
}

impl Serialize for Beside<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().filter(|(name, _)| *name != MEMBER))
    }
}
