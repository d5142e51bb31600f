//! What there is in a text that comes from elsewhere: what cannot be seen, and what looks like another
//! letter.

use haft_runtime::preview::marks_in_addresses;
use haft_runtime::redact::is_hidden;
use serde_json::Value;
use unicode_security::skeleton;

/// So many kinds of what cannot be seen are named of one value.
const MOST_NAMED: usize = 12;

/// What addresses are made of: who writes these with other characters means to mislead. Quotes,
/// dashes and dots of good typography are honest.
const SIGNS: [&str; 9] = [".", "/", ":", "@", "\\", "?", "#", "%", "&"];

/// How much of a text is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// What cannot be seen, but for line ends and tabs: it is read as text.
    Hidden,
    /// Spaces that are not the plain one as well: it is judged, and its line ends are ours.
    Spaces,
    /// These, line ends, tabs, and spaces at either end: it is judged as a value.
    All,
}

impl Marks {
    fn mark(self, letter: char) -> bool {
        match letter {
            '\n' | '\t' => self == Self::All,
            letter => is_hidden(letter) || self != Self::Hidden && is_odd_space(letter),
        }
    }
}

/// A space that looks like the plain one and is none.
fn is_odd_space(letter: char) -> bool {
    letter != ' ' && letter.is_whitespace() && !letter.is_control()
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// As it is.
    Plain(&'a str),
    /// Cannot be seen, or changes how others are seen; so often in a row.
    Hidden(char, usize),
    /// Looks like these.
    Alike(char, String),
}

/// A text, taken apart.
pub(crate) fn pieces(text: &str, marks: Marks) -> Vec<Piece<'_>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    let inner = match marks {
        Marks::All => ends(text),
        Marks::Hidden | Marks::Spaces => 0..text.len(),
    };
    let changed = marks_in_addresses(text);
    for (at, word) in words(text) {
        let is_word = word.starts_with(char::is_alphanumeric);
        let is_alike = is_word && is_alike(word);
        for (offset, letter) in word.char_indices() {
            let place = at + offset;
            let found = match letter {
                ' ' if !inner.contains(&place) => Some(Piece::Hidden(' ', 1)),
                letter if marks.mark(letter) => Some(Piece::Hidden(letter, 1)),
                '\n' | '\t' => None,
                letter if changed.binary_search(&place).is_ok() => Some(Piece::Hidden(letter, 1)),
                letter if is_alike => like(letter).map(|like| Piece::Alike(letter, like)),
                letter if !is_word => {
                    let sign = like(letter).filter(|like| SIGNS.contains(&like.as_str()));
                    sign.map(|like| Piece::Alike(letter, like))
                }
                _ => None,
            };
            let Some(found) = found else { continue };
            pieces.extend(text.get(from..place).filter(|t| !t.is_empty()).map(Piece::Plain));
            from = place + letter.len_utf8();
            match (pieces.last_mut(), &found) {
                (Some(Piece::Hidden(last, count)), Piece::Hidden(letter, _)) if last == letter => {
                    *count += 1;
                }
                _ => pieces.push(found),
            }
        }
    }
    pieces.extend(text.get(from..).filter(|rest| !rest.is_empty()).map(Piece::Plain));
    pieces
}

/// What is left of a text without the plain spaces at its ends.
fn ends(text: &str) -> std::ops::Range<usize> {
    let start = text.len() - text.trim_start_matches(' ').len();
    start..text.trim_end_matches(' ').len()
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

/// A mark: the letter's code, and how often it stands there.
pub(crate) fn mark(letter: char, count: usize) -> String {
    match count {
        1 => code(letter),
        count => format!("{} × {count}", code(letter)),
    }
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
    for letter in text.chars().filter(|letter| is_hidden(*letter) || is_odd_space(*letter)) {
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
        check(&json!("a\u{a0}b c"), Some("U+00A0"));
        check(&json!("a\u{202e}b\nc\u{200b}d\n"), Some("U+202E, U+000A, U+200B"));
        check(&json!({"a": ["x\u{200b}"], "b\u{ad}": "\t"}), Some("U+200B, U+00AD, U+0009"));
        let many: String = ('\u{fe00}'..='\u{fe0f}').collect();
        let named = hidden(&json!(many)).unwrap();
        assert!(named.ends_with("U+FE0B and others"), "{named}");
    }

    #[test]
    fn a_run_of_one_character_is_one_piece() {
        let many = format!("a{}b", "\u{200b}".repeat(330_000));
        let expected = [Piece::Plain("a"), Piece::Hidden('\u{200b}', 330_000), Piece::Plain("b")];
        assert_eq!(pieces(&many, Marks::All), expected);
        let two = [Piece::Hidden('\u{200b}', 1), Piece::Plain("x"), Piece::Hidden('\u{200b}', 1)];
        assert_eq!(pieces("\u{200b}x\u{200b}", Marks::Hidden), two);
    }
}
