//! Texts that come from elsewhere, with everything in them to be seen: what cannot be seen is
//! written as its code, and what looks like another letter is marked.

use haft_runtime::preview::Direction;
use haft_runtime::redact::is_hidden;
use maud::{Markup, html};

use crate::pieces::{Marks, Piece, code, mark, pieces};

/// So many marks of a text say what they are when they are pointed at. Who writes more of them means to
/// make a page heavy.
const EXPLAINED: usize = 1_000;

/// A text with nothing hidden in it.
pub(crate) fn visible(text: &str) -> Markup {
    drawn(&pieces(text, Marks::Hidden))
}

/// Text that somebody judges, whose line ends are ours: blanks that are no plain spaces are marked, too.
pub(crate) fn judged(text: &str) -> Markup {
    drawn(&pieces(text, Marks::Spaces))
}

/// A value with nothing hidden in it: line ends, tabs and spaces at its ends are marked, and a run of
/// line ends is one break, so that nothing is pushed out of sight. It is drawn in the order of its
/// letters; what is written from the right as a whole is left to be read so.
pub(crate) fn value(text: &str) -> Markup {
    let pieces = pieces(text, Marks::All);
    let is_plain = matches!(*pieces, [Piece::Plain(_)]);
    let from_right = is_plain && Direction::of(text) == Direction::FromRight;
    html! { span .text dir=[from_right.then_some("rtl")] { (drawn(&pieces)) } }
}

/// The same for places that take letters alone, such as a choice or an example: two values that look the
/// same are not written the same.
pub(crate) fn written(text: &str) -> String {
    let one = |piece: &Piece<'_>| match piece {
        Piece::Plain(text) => (*text).to_owned(),
        Piece::Hidden(letter, count) => mark(*letter, *count),
        Piece::Alike(letter, _) => format!("{letter}{}", code(*letter)),
    };
    pieces(text, Marks::All).iter().map(one).collect()
}

fn drawn(pieces: &[Piece<'_>]) -> Markup {
    let marks = pieces.iter().filter(|piece| !matches!(piece, Piece::Plain(_))).count();
    let explained = marks <= EXPLAINED;
    let is_break = |piece: Option<&Piece<'_>>| matches!(piece, Some(Piece::Hidden('\n', _)));
    html! {
        @for (at, piece) in pieces.iter().enumerate() {
            @match piece {
                Piece::Plain(text) => { (text) }
                Piece::Hidden(letter, count) => {
                    @if explained { span .odd title=(named(*letter)) { (mark(*letter, *count)) } }
                    @else { i { (mark(*letter, *count)) } }
                    @if is_break(Some(piece)) && !is_break(pieces.get(at + 1)) { "\n" }
                }
                Piece::Alike(letter, like) if explained => {
                    span .odd title={ (code(*letter)) " looks like " (like) } {
                        (letter) span .code { (code(*letter)) }
                    }
                }
                Piece::Alike(letter, _) => { i { (letter) (code(*letter)) } }
            }
        }
    }
}

/// What the usual ones are called.
fn named(letter: char) -> &'static str {
    match letter {
        '\n' => "line end",
        '\t' => "tab",
        ' ' => "space at the end",
        '\u{a0}' | '\u{202f}' => "no-break space",
        '\u{ad}' => "soft hyphen",
        '\u{200b}' => "zero-width space",
        '\u{200c}' | '\u{200d}' => "zero-width joiner",
        '\u{200e}' | '\u{200f}' | '\u{61c}' => "mark of direction",
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => "turns the direction of writing",
        '\u{2028}' | '\u{2029}' => "line separator",
        '\u{feff}' => "byte order mark",
        '\u{e0000}'..='\u{e0fff}' => "tag or selector that cannot be seen",
        '\u{1b}' => "escape",
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. => "each font draws it as it likes",
        letter if letter.is_whitespace() => "another space than the plain one",
        letter if is_hidden(letter) => "cannot be seen",
        _ => "changes the letter before it",
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
        check_shown(value("a\n\n\nb\tc"), "aU+000A × 3\nbU+0009c");
        check_shown(value("\u{200b}\n\r\n"), "U+200BU+000A\nU+000DU+000A\n");
    }

    #[test]
    fn spaces_that_do_not_show_are_marked_where_somebody_judges() {
        check_shown(value(" adm in  "), "U+0020adm inU+0020 × 2");
        check_shown(value("a\u{a0}b\u{2003}\u{3000}c"), "aU+00A0bU+2003U+3000c");
        check_shown(value("  "), "U+0020 × 2");
        check_shown(judged(" 5\u{202f}€\n"), " 5U+202F€\n");
        check("5\u{202f}€", "5\u{202f}€");
    }

    #[test]
    fn only_what_is_written_from_the_right_as_a_whole_is_drawn_so() {
        for (text, from_right) in [
            ("\u{5d0}\u{5d1}, \u{5d2}", true),
            ("\u{5d0}/1000/50", false),
            ("a \u{5d0}", false),
            ("\u{5d0}\u{200b}\u{5d1}", false),
            ("plain", false),
        ] {
            let shown = value(text).into_string();
            assert_eq!(shown.contains("dir=\"rtl\""), from_right, "{shown}");
        }
    }

    #[test]
    fn what_is_full_of_marks_makes_no_heavy_page() {
        for unit in ["\u{200b}\u{200c}", "a\u{430}"] {
            let text = unit.repeat(50_000);
            let shown = value(&text).into_string();
            assert!(shown.len() < 8 * text.len(), "{} of {}", shown.len(), text.len());
            assert_eq!(
                shown.matches("<i>").count(),
                100_000 / (1 + usize::from(unit.starts_with('a')))
            );
        }
    }

    #[test]
    fn what_looks_the_same_is_not_written_the_same() {
        for (text, expected) in [
            ("a b", "a b"),
            ("a\u{a0}b", "aU+00A0b"),
            ("a\tb", "aU+0009b"),
            ("a b ", "a bU+0020"),
            ("p\u{430}ypal", "p\u{430}U+0430ypal"),
        ] {
            assert_eq!(written(text), expected);
        }
    }

    #[test]
    fn what_looks_like_another_letter_is_marked() {
        check("p\u{0430}ypal.com", "p\u{0430}U+0430ypal.com");
        check("\u{0441}\u{0430}\u{0440}\u{0435}", "сU+0441аU+0430рU+0440еU+0435");
        check("Ａ", "ＡU+FF21");
        check("at https://paypa\u{323}l.com/x", "at https://paypaU+0323l.com/x");
        check("b\u{332}ank.com\nMu\u{308}ller", "bU+0332ank.com\nMu\u{308}ller");
        check("a\u{e000}b\u{fffc}", "aU+E000bU+FFFC");
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
