//! A request of Chat Completions, as far as it concerns us.

use haft_core::Digest;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::body;
use crate::problem::Problem;

/// A request.
#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    pub(super) model: String,
    pub(super) messages: Vec<Value>,
    #[serde(default)]
    pub(super) stream: bool,
    stream_options: Option<StreamOptions>,
    /// Whom the client speaks for; a word of its own that allows nothing.
    #[serde(default)]
    pub(super) user: Option<String>,
    /// Tools of the client's own, whose calls are handed back.
    #[serde(default)]
    pub(super) tools: Vec<Value>,
    /// What the model is to call.
    pub(super) tool_choice: Option<Value>,
    /// What is the model's business.
    #[serde(flatten)]
    pub(super) rest: Map<String, Value>,
    /// Over the whole request, as it came.
    #[serde(skip, default = "nothing")]
    pub(super) whole: Digest,
}

fn nothing() -> Digest {
    Digest::of_bytes(b"")
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// Parameters that change nothing here, as long as they have one of these values.
const HARMLESS: [(&str, &[&str]); 5] = [
    ("n", &["1"]),
    ("logprobs", &["false"]),
    ("parallel_tool_calls", &["true"]),
    ("store", &["false"]),
    ("modalities", &["[\"text\"]"]),
];

impl Asked {
    /// Reads it; what would be passed over is refused.
    pub(super) fn read(mut value: Value) -> Result<Self, Problem> {
        let whole = Digest::of_json(&value);
        if let Some(fields) = value.as_object_mut() {
            // Clients send what they leave out as null.
            fields.retain(|_, value| !value.is_null());
            fields.shift_remove("metadata");
        }
        let mut asked: Self = body::shape(value)?;
        asked.whole = whole;
        for (name, allowed) in HARMLESS {
            let Some(value) = asked.rest.shift_remove(name) else { continue };
            if !allowed.contains(&value.to_string().as_str()) {
                return Err(Problem::malformed(why_not(name)));
            }
        }
        Ok(asked)
    }

    pub(super) fn with_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage)
    }

    /// The conversation up to what the user said last.
    pub(super) fn until_the_user(&self) -> &[Value] {
        let role = |message: &Value| message.get("role").and_then(Value::as_str) == Some("user");
        let last = self.messages.iter().rposition(role).map_or(self.messages.len(), |at| at + 1);
        self.messages.get(..last).unwrap_or_default()
    }
}

fn why_not(name: &str) -> String {
    match name {
        "n" => "`n`: an answer may act, so there is one only".to_owned(),
        _ => format!("`{name}` with this value is not supported here"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(request: Value, expected: Result<(), &str>) {
        match (Asked::read(request), expected) {
            (Ok(_), Ok(())) => {}
            (Err(problem), Err(why)) => {
                assert!(problem.in_words().contains(why), "{}", problem.in_words());
            }
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    #[test]
    fn what_would_be_passed_over_is_refused() {
        let with = |name: &str, value: Value| json!({ "messages": [], name: value });
        check(with("n", json!(1)), Ok(()));
        check(with("n", json!(2)), Err("an answer may act"));
        check(with("tools", json!([])), Ok(()));
        check(with("tools", Value::Null), Ok(()));
        check(with("tools", json!("all")), Err("invalid type"));
        check(with("store", json!(true)), Err("`store` with this value"));
        check(with("stream", json!("yes")), Err("invalid type"));
        check(json!({}), Err("missing field `messages`"));
        check(json!([]), Err("a list stands where"));
    }

    #[test]
    fn a_turn_is_what_was_said_up_to_the_user() {
        let messages = json!([
            { "role": "user", "content": "a" }, { "role": "assistant", "content": "b" },
            { "role": "user", "content": "c" }, { "role": "assistant", "content": "d" },
        ]);
        let asked = Asked::read(json!({ "messages": messages })).unwrap();
        assert_eq!(asked.until_the_user().len(), 3);
        let none = Asked::read(json!({ "messages": [{ "role": "system" }] })).unwrap();
        assert_eq!(none.until_the_user().len(), 1);
    }
}
