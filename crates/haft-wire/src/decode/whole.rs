//! Whether what was to become a call is one.

use serde::de::IgnoredAny;
use serde_json::error::Category;

use crate::said::Broken;

/// What is wrong with a call whose message the provider has finished; `None` when nothing is.
///
/// Empty arguments are no arguments. A string is let through where it holds an object, which some
/// models write: the one path reads it, or refuses it, as the contract says.
pub(super) fn flaw(name: &str, arguments: &str) -> Option<Broken> {
    if name.trim().is_empty() {
        return Some(Broken::Unnamed);
    }
    let text = arguments.trim_ascii();
    if text.is_empty() {
        return None;
    }
    match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) if error.classify() == Category::Eof => Some(Broken::Cut),
        Err(_) => Some(Broken::NotJson),
        Ok(_) if text.starts_with('{') || holds_object(text) => None,
        Ok(_) => Some(Broken::NotObject),
    }
}

fn holds_object(text: &str) -> bool {
    text.starts_with('"')
        && serde_json::from_str::<String>(text).is_ok_and(|inner| {
            inner.trim_ascii().starts_with('{')
                && serde_json::from_str::<IgnoredAny>(&inner).is_ok()
        })
}

/// The arguments as an object that a provider takes back: what they are not is put into one, as
/// Anthropic recommends for input that is not JSON.
pub(super) fn sendable(arguments: &str) -> String {
    let text = arguments.trim_ascii();
    if text.is_empty() {
        return "{}".to_owned();
    }
    if text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return arguments.to_owned();
    }
    serde_json::json!({ "INVALID_JSON": arguments }).to_string()
}
