//! Texts that do not look like what they are.

use serde_json::Value;
use unicode_normalization::char::is_combining_mark;
use unicode_script::{Script, UnicodeScript as _};

use super::direction::Direction;
use super::visible;
use crate::redact::is_hidden;

/// More spaces in a row than any honest text has: they push the rest out of sight.
const MANY_SPACES: usize = 20;
/// The most characters of one text that are named.
const MOST_CODES: usize = 12;
/// The most findings that are told.
const MOST: usize = 50;
/// So many letters of a name or a word are repeated in a finding; the arguments themselves are shown
/// whole.
const LONGEST_WORD: usize = 200;
const LONGEST_PATH: usize = 1_000;

/// Every argument that looks like something else, and why.
pub(super) fn of(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(arguments, "", &mut found);
    found
}

fn look(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(text) => judge(text, path, found),
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                look(value, &format!("{path}[{index}]"), found);
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                let shown = shown(name);
                let path = match path.len() {
                    0 => shown,
                    1..=LONGEST_PATH => format!("{path}.{shown}"),
                    _ => format!("….{shown}"),
                };
                judge(name, &path, found);
                look(value, &path, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A word of others in one of our sentences: it hides nothing, and cannot end its quotes.
fn shown(word: &str) -> String {
    let start: String = word.chars().take(LONGEST_WORD).collect();
    let more = if start.len() < word.len() { "…" } else { "" };
    visible(&start).replace('`', "\\u0060") + more
}

fn judge(text: &str, path: &str, found: &mut Vec<String>) {
    if found.len() >= MOST {
        return;
    }
    let mut hidden: Vec<char> = text.chars().filter(|letter| is_hidden(*letter)).collect();
    hidden.sort_unstable();
    hidden.dedup();
    if !hidden.is_empty() {
        let codes = hidden.iter().take(MOST_CODES).map(|it| format!("U+{:04X}", u32::from(*it)));
        let codes = codes.collect::<Vec<_>>().join(", ");
        let more = if hidden.len() > MOST_CODES { ", …" } else { "" };
        found.push(format!("`{path}` has characters that cannot be seen ({codes}{more})"));
    }
    if text.contains(&" ".repeat(MANY_SPACES)) {
        found.push(format!("`{path}` has a long run of spaces"));
    }
    if let Some(word) = text.split(|letter: char| !letter.is_alphanumeric()).find(|w| is_mixed(w)) {
        let word = shown(word);
        found.push(format!("`{path}` mixes alphabets that look alike in `{word}`"));
    }
    if Direction::of(text) == Direction::Both {
        found.push(format!("`{path}` is written in two directions"));
    }
    if text.chars().any(is_styled) {
        found.push(format!("`{path}` has letters that only look like ordinary ones"));
    }
    if let Some(host) = hosts(text).find(|host| is_strange(host)) {
        let host = shown(host);
        found.push(format!("`{path}` names `{host}`, which may look like another address"));
    }
}

/// Whether letters of two alphabets that share shapes stand in one word.
fn is_mixed(word: &str) -> bool {
    const ALIKE: [Script; 6] = [
        Script::Latin,
        Script::Cyrillic,
        Script::Greek,
        Script::Armenian,
        Script::Cherokee,
        Script::Coptic,
    ];
    let alike = |letter: char| Some(letter.script()).filter(|script| ALIKE.contains(script));
    let mut scripts = word.chars().filter_map(alike);
    scripts.next().is_some_and(|first| scripts.any(|script| script != first))
}

/// Full-width and mathematical letters.
fn is_styled(letter: char) -> bool {
    matches!(letter, '\u{FF01}'..='\u{FF5E}' | '\u{1D400}'..='\u{1D7FF}')
}

/// What ends an address in running text.
const AROUND: &str = "\"'<>()[],;“”„‟‘’«»‹›…";

/// What could be a host: words with a dot inside, after an `@` or a scheme if there is one.
fn hosts(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| letter.is_whitespace() || AROUND.contains(letter));
    words.filter_map(|word| {
        let after_scheme = word.split_once("://").map_or(word, |(_, rest)| rest);
        let authority = after_scheme.split(['/', '?', '#']).next()?;
        let host = authority.rsplit('@').next()?.split(':').next()?.trim_matches('.');
        host.contains('.').then_some(host)
    })
}

/// A host that is not all ASCII, or that says so in punycode. Words of another alphabet with a dot between
/// them are none, and neither are amounts such as `€1.50`.
fn is_strange(host: &str) -> bool {
    let lower = host.to_ascii_lowercase();
    let top = lower.rsplit('.').next().unwrap_or_default();
    let has_letter = || host.chars().any(|it| !it.is_ascii() && it.is_alphabetic());
    let is_name = || top.chars().all(|letter| letter.is_ascii_alphabetic());
    !host.is_ascii() && top.is_ascii() && (has_letter() || is_name())
        || lower.split('.').any(|label| label.starts_with("xn--"))
}

/// Where in a text marks change the letters of an address, as a dot below does that makes `ạ` of `a`, by
/// their bytes and in order.
#[must_use]
pub fn marks_in_addresses(text: &str) -> Vec<usize> {
    let mut marks = Vec::new();
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let is_judged = word.contains(is_combining_mark) && hosts(word).any(is_strange);
        let found =
            word.char_indices().filter(|(_, letter)| is_judged && is_combining_mark(*letter));
        marks.extend(found.map(|(at, _)| start + at));
        start += word.len();
    }
    marks
}
