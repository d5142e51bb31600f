//! OpenAI Realtime: the events of a response, in frames.
//!
//! One decoder reads one response, from `response.created` to `response.done`. The provider keeps
//! the conversation, so the next request repeats nothing.

use super::openai_responses::{Door, Responses};

pub(super) fn realtime() -> Responses {
    Responses::new(Door::Realtime)
}
