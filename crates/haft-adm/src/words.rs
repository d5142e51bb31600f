//! How a user's own words are quoted in a message.

use serde_json::Value;

/// Longest excerpt that a message repeats; more would drown what the message has to say.
const EXCERPT: usize = 64;

/// The words as they are, or their beginning when they are long.
pub(crate) fn excerpt(words: &str) -> String {
    match words.char_indices().nth(EXCERPT) {
        None => words.to_owned(),
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
    }
}

/// What a reader would call this JSON value.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// `a`, `b` and so on, at most five of them.
pub(crate) fn list<'a>(words: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 5;
    let more = words.len().saturating_sub(SHOWN);
    let shown: Vec<_> = words.take(SHOWN).map(|word| format!("`{}`", excerpt(word))).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(excerpt("short"), "short");
        assert_eq!(excerpt(&"é".repeat(65)), format!("{}…", "é".repeat(64)));
    }

    #[test]
    fn long_lists_say_how_many_are_left_out() {
        assert_eq!(list(["a", "b"].into_iter()), "`a`, `b`");
        assert_eq!(list(["a"; 7].into_iter()), "`a`, `a`, `a`, `a`, `a` and 2 more");
    }
}
