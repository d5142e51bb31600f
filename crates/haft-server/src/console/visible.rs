//! Texts that come from elsewhere, with everything in them to be seen: what cannot be seen is
//! written as its code, and what looks like another letter is marked.

use maud::{Markup, html};

use crate::pieces::{Breaks, Piece, code, pieces};

/// A text with nothing hidden in it.
pub(crate) fn visible(text: &str) -> Markup {
    shown(text, Breaks::Plain)
}

/// A value with nothing hidden in it: line ends and tabs are marked, and a run of them is one break, so
/// that nothing is pushed out of sight.
pub(crate) fn value(text: &str) -> Markup {
    shown(text, Breaks::Marked)
}

fn shown(text: &str, breaks: Breaks) -> Markup {
    let pieces = pieces(text, breaks);
    let is_break = |piece: Option<&Piece<'_>>| matches!(piece, Some(Piece::Hidden('\n')));
    html! {
        @for (at, piece) in pieces.iter().enumerate() {
            @match piece {
                Piece::Plain(text) => { (text) }
                Piece::Hidden(letter) => {
                    span .odd title=(named(*letter)) { (code(*letter)) }
                    @if is_break(Some(piece)) && !is_break(pieces.get(at + 1)) { "\n" }
                }
                Piece::Alike(letter, like) => {
                    span .odd title={ (code(*letter)) " looks like " (like) } {
                        (letter) span .code { (code(*letter)) }
                    }
                }
            }
        }
    }
}

/// What the usual ones are called.
fn named(letter: char) -> &'static str {
    match letter {
        '\n' => "line end",
        '\t' => "tab",
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
        check_shown(visible(text), expected);
    }

    #[track_caller]
    fn check_shown(shown: Markup, expected: &str) {
        let shown = shown.into_string();
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
    fn line_ends_and_tabs_in_a_value_are_marked_and_push_nothing_out_of_sight() {
        check_shown(value("a\nTool: b"), "aU+000A\nTool: b");
        check_shown(value("a\n\n\nb\tc"), "aU+000AU+000AU+000A\nbU+0009c");
        check_shown(value("\u{200b}\n\r\n"), "U+200BU+000A\nU+000DU+000A\n");
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
