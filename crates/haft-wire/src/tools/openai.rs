//! The shapes of OpenAI: Chat Completions, Responses and Realtime.

use serde_json::{Map, Value};

use super::show::{Shown, object_of, word};
use crate::Strictness;

pub(super) fn chat(shown: Shown<'_>, strictness: Strictness) -> Value {
    let mut function = function(shown, []);
    if strictness == Strictness::Strict {
        function.insert("strict".to_owned(), Value::Bool(true));
    }
    let function = Value::Object(function);
    Value::Object(object_of([("type", word("function")), ("function", function)]))
}

/// `strict` is always said: left out, Responses takes it for `true`.
pub(super) fn responses(mut shown: Shown<'_>, strictness: Strictness) -> Value {
    let output = shown.output.take();
    let mut tool = function(shown, [("type", word("function"))]);
    tool.insert("strict".to_owned(), Value::Bool(strictness == Strictness::Strict));
    tool.extend(output.map(|output| ("output_schema".to_owned(), output)));
    Value::Object(tool)
}

/// Realtime has no `strict`.
pub(super) fn realtime(shown: Shown<'_>) -> Value {
    Value::Object(function(shown, [("type", word("function"))]))
}

fn function<const N: usize>(shown: Shown<'_>, first: [(&str, Value); N]) -> Map<String, Value> {
    let mut function = Map::with_capacity(N + 5);
    let own = [
        ("name", word(shown.name)),
        ("description", Value::String(shown.description)),
        ("parameters", Value::Object(shown.parameters)),
    ];
    for (name, value) in first.into_iter().chain(own) {
        function.insert(name.to_owned(), value);
    }
    function
}
