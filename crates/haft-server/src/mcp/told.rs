//! The end of a call as a result.

use haft_core::Envelope;
use haft_wire::results::CallToolResult;
use serde::Serialize;
use serde_json::Value;

/// How a call ended.
pub(super) struct Told {
    envelope: Box<Envelope>,
    is_dry: bool,
}

impl Told {
    pub(super) fn of(envelope: Envelope, is_dry: bool) -> Self {
        Self { envelope: Box::new(envelope), is_dry }
    }

    /// The same in the protocol's words.
    pub(super) fn result(&self) -> CallToolResult<'_, Noted<'_>> {
        let Self { envelope, is_dry } = self;
        let foreseen = envelope.result.as_ref().ok().filter(|_| *is_dry);
        let result = match foreseen {
            Some(_) => CallToolResult::foreseen(envelope),
            None => CallToolResult::new(envelope),
        };
        let meta = &envelope.meta;
        result.with_meta(Noted { call: &meta.record_id, replayed: meta.cached, foreseen })
    }
}

/// What we say of a call in `_meta`.
#[derive(Serialize)]
pub(super) struct Noted<'a> {
    #[serde(rename = "haft/callId")]
    call: &'a str,
    #[serde(rename = "haft/replayed", skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    /// What a dry run came to, for programs.
    #[serde(rename = "haft/dryRun", skip_serializing_if = "Option::is_none")]
    foreseen: Option<&'a Value>,
}
