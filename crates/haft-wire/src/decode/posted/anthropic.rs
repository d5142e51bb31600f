//! Anthropic Messages: a message, or the events of one.

use super::Seen;
use crate::decode::fields::Fields;

pub(super) fn look(said: &Fields, seen: &mut Seen) {
    match said.text("type").as_deref() {
        Some("message_start") => {
            if let Some(begun) = said.object("message") {
                message(&begun, seen);
            }
            seen.part();
        }
        Some("content_block_start") => {
            if let Some(begun) = said.object("content_block") {
                block(&begun, seen);
            }
            seen.part();
        }
        Some("message") => {
            message(said, seen);
            seen.whole();
        }
        Some(kind) if kind.starts_with("content_block_") || kind.starts_with("message_") => {
            seen.part();
            if kind == "message_stop" {
                seen.end();
            }
        }
        None if said.given("role").is_some() => {
            message(said, seen);
            seen.whole();
        }
        None if said.given("messages").is_some() => seen.request(),
        Some(_) | None => {}
    }
}

fn message(said: &Fields, seen: &mut Seen) {
    seen.role(said);
    for part in said.objects("content") {
        block(&part, seen);
    }
}

/// Results of the provider's own tools have longer names, and are the model's to repeat.
fn block(said: &Fields, seen: &mut Seen) {
    if said.text("type").as_deref() == Some("tool_result") {
        seen.result();
    }
}
