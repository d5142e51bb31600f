//! Texts that come from elsewhere, with everything in them to be seen: what cannot be seen is
//! written as its code, and what looks like another letter is marked.

use haft_runtime::redact::is_hidden;
use maud::{Markup, html};
use unicode_security::skeleton;

/// What addresses are made of: who writes these with other characters means to mislead. Quotes,
/// dashes and dots of good typography are honest.
const SIGNS: [&str; 9] = [".", "/", ":", "@", "\\", "?", "#", "%", "&"];

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// As it is.
    Plain(&'a str),
    /// Cannot be seen, or changes how others are seen.
    Hidden(char),
    /// Looks like these.
    Alike(char, String),
}

/// A text with nothing hidden in it.
pub(crate) fn visible(text: &str) -> Markup {
    html! {
        @for piece in pieces(text) {
            @match piece {
                Piece::Plain(text) => { (text) }
                Piece::Hidden(letter) => {
                    span .odd title=(named(letter)) { (code(letter)) }
                }
                Piece::Alike(letter, like) => {
                    span .odd title={ (code(letter)) " looks like " (like) } {
                        (letter) span .code { (code(letter)) }
                    }
                }
            }
        }
    }
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    for (at, word) in words(text) {
        let is_word = word.starts_with(char::is_alphanumeric);
        let is_alike = is_word && is_alike(word);
        for (offset, letter) in word.char_indices() {
            let found = match letter {
                '\n' | '\t' => None,
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

fn code(letter: char) -> String {
    format!("U+{:04X}", u32::from(letter))
}

/// What the usual ones are called.
fn named(letter: char) -> &'static str {
    match letter {
        '\u{ad}' => "soft hyphen",
        '\u{200b}' => "zero-width space",
        '\u{200c}' | '\u{200d}' => "zero-width joiner",
        '\u{200e}' | '\u{200f}' | '\u{61c}' => "mark of direction",
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "turns the direction of writing",
        '\u{2028}' | '\u{2029}' => "line separator",
        '\u{feff}' => "byte order mark",
        '\u{e0000}'..='\u{e0fff}' => "tag or selector that cannot be seen",
        '\u{1b}' => "escape",
        _ => "cannot be seen",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = visible(text).into_string();
        let plain = shown
            .split('<')
            .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
            .collect::<String>();
        assert_eq!(plain, expected, "{shown}");
    }

    #[test]
    fn what_cannot_be_seen_is_written_as_its_code() {
        check("7\u{200b}0 euro", "7U+200B0 euro");
        check("abc\u{202e}cba", "abcU+202Ecba");
        check("\u{1b}[31mred\u{7}", "U+001B[31mredU+0007");
        check("two\nlines\tand a tab", "two\nlines\tand a tab");
        check("\u{e0041}", "U+E0041");
    }

    #[test]
    fn what_looks_like_another_letter_is_marked() {
        check("p\u{0430}ypal.com", "p\u{0430}U+0430ypal.com");
        check("\u{0441}\u{0430}\u{0440}\u{0435}", "сU+0441аU+0430рU+0440еU+0435");
        check("Ａ", "ＡU+FF21");
        check("paypal\u{2024}com\u{2215}pay", "paypal\u{2024}U+2024com\u{2215}U+2215pay");
    }

    #[test]
    fn honest_words_of_any_language_stay_as_they_are() {
        for text in [
            "Müller",
            "naïve café",
            "привет мир",
            "日本語",
            "Ελλάδα",
            "straße",
            "50 €",
            "Don’t miss “Q4” – the plan… №5",
            "«l’été» — ‘œuvre’ • „so“ ‹x› ‐ −1 × 2",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn nothing_in_a_text_is_markup() {
        check("&lt;", "&amp;lt;");
        let shown = visible("<script>alert(1)</script>\" onload=\"x").into_string();
        assert!(!shown.contains("<script"), "{shown}");
    }
}
