//! What there is in a text that comes from elsewhere: what cannot be seen, and what looks like another
//! letter.

use haft_runtime::redact::is_hidden;
use serde_json::Value;
use unicode_security::skeleton;

/// So many kinds of what cannot be seen are named of one value.
const MOST_NAMED: usize = 12;

/// What addresses are made of: who writes these with other characters means to mislead. Quotes,
/// dashes and dots of good typography are honest.
const SIGNS: [&str; 9] = [".", "/", ":", "@", "\\", "?", "#", "%", "&"];

/// How line ends and tabs are shown: as such in what is read as text, marked in what is judged as a
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Breaks {
    Plain,
    Marked,
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// As it is.
    Plain(&'a str),
    /// Cannot be seen, or changes how others are seen.
    Hidden(char),
    /// Looks like these.
    Alike(char, String),
}

/// A text, taken apart. Line ends and tabs are plain or hidden, as is wanted.
pub(crate) fn pieces(text: &str, breaks: Breaks) -> Vec<Piece<'_>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for (at, word) in words(text) {
        let is_word = word.starts_with(char::is_alphanumeric);
        let is_alike = is_word && is_alike(word);
        for (offset, letter) in word.char_indices() {
            let found = match letter {
                '\n' | '\t' if breaks == Breaks::Plain => None,
                letter if is_hidden(letter) => Some(Piece::Hidden(letter)),
                letter if is_alike => like(letter).map(|like| Piece::Alike(letter, like)),
                letter if !is_word => {
                    let sign = like(letter).filter(|like| SIGNS.contains(&like.as_str()));
                    sign.map(|like| Piece::Alike(letter, like))
                }
                _ => None,
            };
            if let Some(found) = found {
                let place = at + offset;
                pieces.extend(text.get(from..place).filter(|t| !t.is_empty()).map(Piece::Plain));
                pieces.push(found);
                from = place + letter.len_utf8();
            }
        }
    }
    pieces.extend(text.get(from..).filter(|rest| !rest.is_empty()).map(Piece::Plain));
    pieces
}

/// Runs of letters and digits, and of everything else.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_word = first.is_alphanumeric();
        let end = rest.find(|letter: char| letter.is_alphanumeric() != is_word);
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let at = text.len() - rest.len();
        rest = after;
        Some((at, word))
    })
}

/// Whether a word could be taken for one in plain letters, or mixes plain letters with others that
/// look like them. A word of another alphabet that has a letter of its own is neither.
fn is_alike(word: &str) -> bool {
    if word.is_ascii() {
        return false;
    }
    let has_plain = word.chars().any(|letter| letter.is_ascii_alphabetic());
    let foreign = || word.chars().filter(|letter| !letter.is_ascii());
    foreign().all(|letter| like(letter).is_some())
        || (has_plain && foreign().any(|letter| like(letter).is_some()))
}

/// The plain letters that another one looks like.
fn like(letter: char) -> Option<String> {
    // Letters of honest words, which only resemble two others.
    if letter.is_ascii() || matches!(letter, 'œ' | 'Œ' | 'æ' | 'Æ') {
        return None;
    }
    let mut buffer = [0; 4];
    let seen: String = skeleton(letter.encode_utf8(&mut buffer)).collect();
    (seen.is_ascii() && !seen.is_empty()).then_some(seen)
}

/// How a letter that cannot be seen is written.
pub(crate) fn code(letter: char) -> String {
    format!("U+{:04X}", u32::from(letter))
}

/// The letters of a value that cannot be seen, each once and in order; none where there are none.
pub(crate) fn hidden(value: &Value) -> Option<String> {
    let mut found = Vec::new();
    gather(value, &mut found);
    let more = if found.len() > MOST_NAMED { " and others" } else { "" };
    let named: Vec<String> = found.into_iter().take(MOST_NAMED).map(code).collect();
    (!named.is_empty()).then(|| named.join(", ") + more)
}

fn gather(value: &Value, found: &mut Vec<char>) {
    match value {
        Value::String(text) => note(text, found),
        Value::Array(list) => list.iter().for_each(|one| gather(one, found)),
        Value::Object(members) => {
            for (name, value) in members {
                note(name, found);
                gather(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn note(text: &str, found: &mut Vec<char>) {
    for letter in text.chars().filter(|letter| is_hidden(*letter)) {
        if found.len() <= MOST_NAMED && !found.contains(&letter) {
            found.push(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, expected: Option<&str>) {
        assert_eq!(hidden(value).as_deref(), expected, "{value}");
    }

    #[test]
    fn all_that_cannot_be_seen_in_a_value_is_named_once_and_in_order() {
        check(&json!("plain"), None);
        check(&json!(7), None);
        check(&json!("a\u{202e}b\nc\u{200b}d\n"), Some("U+202E, U+000A, U+200B"));
        check(&json!({"a": ["x\u{200b}"], "b\u{ad}": "\t"}), Some("U+200B, U+00AD, U+0009"));
        let many: String = ('\u{fe00}'..='\u{fe0f}').collect();
        let named = hidden(&json!(many)).unwrap();
        assert!(named.ends_with("U+FE0B and others"), "{named}");
    }
}
