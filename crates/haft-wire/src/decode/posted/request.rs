//! Dialects in which a call is a request of its own: several of them are one message.

use super::Seen;
use crate::decode::fields::Fields;

/// A `tools/call` has a method; what answers one has not.
pub(super) fn look_mcp(said: &Fields, seen: &mut Seen) {
    let answers = said.given("result").is_some() || said.given("error").is_some();
    if answers && said.given("method").is_none() {
        seen.result();
    }
    seen.part();
}

/// A `ToolResult` has a status; a `FunctionCall` has not.
pub(super) fn look_adm(said: &Fields, seen: &mut Seen) {
    if said.given("status").is_some() {
        seen.result();
    }
    seen.part();
}
