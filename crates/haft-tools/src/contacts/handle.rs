//! Handles: `@name`, `@name@host`, and names after the word for a network.

use std::sync::LazyLock;

use regex::Regex;

use super::{Confidence, Find, Finds, Kind, pattern};

static AT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"[@＠]([\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_])?)(@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,24})?",
    )
});

static LABELLED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:telegram|instagram|insta|twitter|github|gitlab|discord|skype|tiktok|mastodon|threads|bluesky|snapchat|whatsapp|signal|wechat|weixin|line\s?id)(?:\s?(?:id|name|handle))?\s?[:：]\s?[@＠]?([\p{L}\p{N}_][\p{L}\p{N}_.#-]{1,62}[\p{L}\p{N}_])",
    )
});

/// Words that stylesheets and programs write with an `@`.
const CODE: &[&str] = &[
    "charset",
    "container",
    "decorator",
    "deprecated",
    "font-face",
    "import",
    "include",
    "keyframes",
    "layer",
    "media",
    "mixin",
    "namespace",
    "override",
    "page",
    "param",
    "property",
    "return",
    "returns",
    "supports",
    "test",
    "throws",
    "todo",
];

pub(super) fn find(text: &str, finds: &mut Finds) {
    for found in AT.captures_iter(text) {
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
        let before = text.get(..whole.start()).and_then(|before| before.chars().next_back());
        let after = text.get(whole.end()..).and_then(|after| after.chars().next());
        let joined = before.is_some_and(|c| c.is_alphanumeric() || "._-+/@＠=\"".contains(c));
        // One character is a mark in a text, and a number alone is a price or a time.
        let real =
            name.as_str().chars().count() > 1 && name.as_str().chars().any(char::is_alphabetic);
        if joined || !real || after == Some('(') {
            continue;
        }
        let host = found.get(2).map_or("", |host| host.as_str()).to_lowercase();
        let value = format!("@{}{host}", name.as_str());
        let confidence = match host.is_empty() && CODE.contains(&name.as_str()) {
            true => Confidence::Likely,
            false => Confidence::Exact,
        };
        finds.take(Find::new(Kind::Handle, whole.range(), value, confidence));
    }
    for found in LABELLED.captures_iter(text) {
        let Some(name) = found.get(1) else { continue };
        let named = name.as_str().chars().any(char::is_alphabetic);
        if named && !name.as_str().starts_with("http") {
            finds.take(Find::new(
                Kind::Handle,
                name.range(),
                format!("@{}", name.as_str()),
                Confidence::Likely,
            ));
        }
    }
}
