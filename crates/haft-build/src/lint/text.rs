//! What must not stand in any file: secrets, and text that people cannot see.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use crate::code;
use crate::diagnostic::{At, File, Findings, escape};

/// Checks one file.
pub(crate) fn check(file: &File, text: &str, out: &mut Findings) {
    for span in secrets(text) {
        out.add(&code::LITERAL_SECRET, At::Bytes(file.clone(), span), "this looks like a secret")
            .help("take it out and revoke it; credentials belong into a connection");
    }
    if let Some((at, found)) = invisible(text) {
        let span = at..at + found.len_utf8();
        out.add(&code::INVISIBLE_TEXT, At::Bytes(file.clone(), span), named(found))
            .help("a reviewer cannot see what a model reads here; take it out");
    }
}

fn named(found: char) -> String {
    let kind = if is_private(found) { "a private-use" } else { "an invisible" };
    format!("{kind} character, U+{:04X}", u32::from(found))
}

/// Characters that mean what two parties agreed on, and show as a box or as nothing to all others.
fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

fn invisible(text: &str) -> Option<(usize, char)> {
    // Nearly every text is plain, and bytes are looked through faster than characters.
    if text.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        return None;
    }
    let mut before = ' ';
    text.char_indices().find(|(at, c)| {
        let joins = matches!(c, '\u{200c}' | '\u{200d}');
        let after = text.get(at + c.len_utf8()..).and_then(|rest| rest.chars().next());
        // Joiners belong between the letters of some scripts and between emoji, and one variation
        // selector after an emoji says how to draw it; in a row they carry a message.
        let visible = |c: char| !c.is_ascii() && (!is_invisible(c) || c == '\u{fe0f}');
        let joined = joins && visible(before) && after.is_some_and(visible);
        let drawn = matches!(c, '\u{fe0e}' | '\u{fe0f}') && !is_invisible(before);
        before = *c;
        is_invisible(*c) && !joined && !drawn
    })
}

/// Checks the strings of a contract: what is escaped in the file is plain to the model.
pub(crate) fn values(contract: &Value, out: &mut Findings) {
    walk(contract, String::new(), out);
}

fn walk(value: &Value, at: String, out: &mut Findings) {
    match value {
        Value::String(text) => decoded(text, at, out),
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                walk(value, format!("{at}/{index}"), out);
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                let place = format!("{at}/{}", escape(name));
                decoded(name, place.clone(), out);
                walk(value, place, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text of the contract, after its escapes are read.
fn decoded(text: &str, at: String, out: &mut Findings) {
    if let Some((_, found)) = invisible(text) {
        out.contract(&code::INVISIBLE_TEXT, at.clone(), named(found))
            .help("a reviewer cannot see what a model reads here; take it out");
    }
    if has_secret(text) {
        out.contract(&code::LITERAL_SECRET, at, "this looks like a secret")
            .help("take it out and revoke it; credentials belong into a connection");
    }
}

/// Whether a text must not reach a model.
pub(crate) fn is_unfit(text: &str) -> bool {
    has_secret(text) || invisible(text).is_some()
}

/// Whether there is a secret in a text.
pub(crate) fn has_secret(text: &str) -> bool {
    !secrets(text).is_empty()
}

/// A text that is safe to print: without secrets, and without characters that a terminal obeys or
/// nobody sees.
pub(crate) fn printable(text: String) -> String {
    let text = masked(text);
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text;
    }
    let plain = |c: char| !c.is_control() && !is_invisible(c);
    if text.chars().all(plain) {
        return text;
    }
    text.chars().fold(String::new(), |mut safe, c| {
        if plain(c) {
            safe.push(c)
        } else {
            safe.extend(c.escape_unicode())
        }
        safe
    })
}

/// A message without the secrets in it.
fn masked(message: String) -> String {
    let mut found = secrets(&message);
    if found.is_empty() {
        return message;
    }
    found.sort_by_key(|span| std::cmp::Reverse(span.start));
    found.into_iter().fold(message, |mut text, span| {
        if text.get(span.clone()).is_some() {
            text.replace_range(span, "[secret]");
        }
        text
    })
}

/// How well-known credentials begin, and how many more characters make one.
const MARKS: &[(&str, usize)] = &[
    ("sk-ant-", 20),
    ("sk-proj-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("ghp_", 30),
    ("gho_", 30),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("xoxp-", 20),
    ("AKIA", 16),
    ("AIza", 35),
    ("hf_", 30),
    ("-----BEGIN PRIVATE KEY", 0),
    ("-----BEGIN RSA PRIVATE KEY", 0),
    ("-----BEGIN OPENSSH PRIVATE KEY", 0),
    ("-----BEGIN EC PRIVATE KEY", 0),
];

/// All marks at once, wherever they start.
static FINDER: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::new(MARKS.iter().map(|(mark, _)| mark)).ok());

/// Whether there is any mark at all. Every text of every tool is looked through, and a search that
/// may stop at the first mark has faster ways than one that must find those that overlap.
static ANY: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let kind = aho_corasick::MatchKind::LeftmostFirst;
    AhoCorasick::builder().match_kind(kind).build(MARKS.iter().map(|(mark, _)| mark)).ok()
});

fn secrets(text: &str) -> Vec<Range<usize>> {
    if ANY.as_ref().is_some_and(|any| !any.is_match(text)) {
        return Vec::new();
    }
    let Some(finder) = FINDER.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    let mut measured = 0;
    for hit in finder.find_overlapping_iter(text) {
        let Some((_, more)) = MARKS.get(hit.pattern().as_usize()) else { continue };
        let before = text.get(..hit.start()).and_then(|before| before.chars().next_back());
        let inside = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        // What starts inside of a word that was looked at belongs to it; looking again at every
        // such place would take time with the square of the word's length.
        if hit.start() < measured || (inside && *more > 0) {
            continue;
        }
        let tail = text.get(hit.end()..).unwrap_or_default();
        let length = tail
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')
            .unwrap_or(tail.len());
        // Names are made of words; credentials are made of letters and digits.
        let random = tail.bytes().take(length).any(|byte| byte.is_ascii_digit()) || *more == 0;
        measured = hit.end() + length;
        if length >= *more && random {
            found.push(hit.start()..hit.end() + length);
        }
    }
    found
}

/// Bidirectional controls, zero-width characters, tag characters, control characters other than
/// line ends and tabs, code points that are set aside or stand for no character, and private ones.
fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, '\u{0}'..='\u{8}' | '\u{b}'..='\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}');
    }
    let nothing = u32::from(c) & 0xfffe == 0xfffe;
    nothing
        || is_private(c)
        || matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2028}'..='\u{2029}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffc}' | '\u{fdd0}'..='\u{fdef}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{13430}'..='\u{13455}' | '\u{1bca0}'..='\u{1bca3}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_found_and_words_are_not() {
        for (text, found) in [
            (format!("key: sk_live_{}", "a1".repeat(10)), true),
            (format!("ghp_{}", "x7".repeat(18)), true),
            ("-----BEGIN PRIVATE KEY-----".to_owned(), true),
            ("the sk-ant- prefix alone".to_owned(), false),
            (format!("bask_live_{}", "a".repeat(40)), false),
            ("hf_model".to_owned(), false),
            ("hf_some_long_function_name_that_goes_on".to_owned(), false),
        ] {
            assert_eq!(!secrets(&text).is_empty(), found, "{text}");
        }
    }
}
