//! Chat Completions: a message, a completion, or the chunks of one.

use super::Seen;
use crate::decode::fields::Fields;

pub(super) fn look(said: &Fields, seen: &mut Seen) {
    if said.given("choices").is_none() {
        return message(said, seen);
    }
    let (mut whole, mut part) = (false, false);
    for choice in said.objects("choices") {
        if let Some(message) = choice.object("message") {
            seen.role(&message);
            whole = true;
        }
        if let Some(delta) = choice.object("delta") {
            seen.role(&delta);
            part = true;
        }
    }
    match (whole, part) {
        (true, _) => seen.whole(),
        (false, true) => seen.part(),
        // The last chunk of many streams has nothing but what it cost.
        (false, false) => {}
    }
}

fn message(said: &Fields, seen: &mut Seen) {
    if said.given("role").is_some() || said.given("tool_calls").is_some() {
        seen.role(said);
        seen.whole();
    } else if said.given("messages").is_some() {
        seen.request();
    }
}
