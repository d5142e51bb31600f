//! OpenAI Responses: output items, a response, or the events of one; and the frames of Realtime.

use super::Seen;
use crate::decode::fields::Fields;
use crate::decode::openai_responses::{is_end, is_item};

pub(super) fn look(said: &Fields, seen: &mut Seen) {
    match said.text("type").as_deref() {
        // Frames of Realtime also tell of what the conversation held before.
        Some(kind) if kind.contains('.') => {
            if let Some(item) = said.object("item") {
                pair(&item, seen);
            }
            if let Some(response) = said.object("response") {
                response.objects("output").iter().for_each(|item| pair(item, seen));
            }
            if kind.starts_with("response.") {
                seen.part();
            }
            if is_end(kind) {
                seen.end();
            }
        }
        Some(kind) => item(said, kind, seen),
        None if said.given("output").is_some() => {
            for item in said.objects("output") {
                seen.role(&item);
                pair(&item, seen);
            }
            seen.whole();
        }
        // A message among the items of a request needs no type.
        None if said.given("role").is_some() => {
            seen.role(said);
            seen.part();
        }
        None if said.given("input").is_some() => seen.request(),
        None => {}
    }
}

/// An item alone: one that a model puts out.
fn item(said: &Fields, kind: &str, seen: &mut Seen) {
    match kind {
        "function_call_output" | "custom_tool_call_output" => seen.result(),
        "item_reference" => seen.request(),
        _ if is_item(kind) => {
            seen.role(said);
            pair(said, seen);
            seen.part();
        }
        // Signs of life, errors, and what is still to be invented: nothing is read from them.
        _ => {}
    }
}

/// A response may list results, of the provider's own tools and of calls that it was sent the results
/// of: only a call must not have one beside it.
fn pair(item: &Fields, seen: &mut Seen) {
    let Some(id) = item.text("call_id") else { return };
    match item.text("type").as_deref() {
        Some("function_call" | "custom_tool_call") => seen.called.insert(id),
        Some(kind) if kind.ends_with("_output") => seen.answered.insert(id),
        Some(_) | None => false,
    };
}
