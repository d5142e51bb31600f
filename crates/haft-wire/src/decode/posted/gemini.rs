//! Gemini: a model's content, or responses that are one stream; and the frames of Live.

use super::Seen;
use crate::decode::fields::Fields;

pub(super) fn look(said: &Fields, seen: &mut Seen) {
    if said.given("candidates").is_some() {
        for candidate in said.objects("candidates") {
            if let Some(said) = candidate.object("content") {
                content(&said, seen);
            }
        }
        seen.part();
    }
    if said.given("parts").is_some() {
        content(said, seen);
        seen.whole();
    } else if said.given("contents").is_some() {
        seen.request();
    }
}

/// Frames of the service are pieces of one turn; those of its client are not.
pub(super) fn look_live(said: &Fields, seen: &mut Seen) {
    let either = |camel, snake| said.object(camel).or_else(|| said.object(snake));
    if either("toolResponse", "tool_response").is_some() {
        seen.result();
    }
    if either("clientContent", "client_content").is_some() {
        seen.request();
    }
    if let Some(server) = either("serverContent", "server_content") {
        let turn = server.object("modelTurn").or_else(|| server.object("model_turn"));
        if let Some(turn) = turn {
            content(&turn, seen);
        }
    }
    seen.part();
}

fn content(said: &Fields, seen: &mut Seen) {
    seen.role(said);
    let is_result = |part: &Fields| {
        ["functionResponse", "function_response"].iter().any(|name| part.given(name).is_some())
    };
    if said.objects("parts").iter().any(is_result) {
        seen.result();
    }
}
