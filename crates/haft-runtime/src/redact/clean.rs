//! Texts of others, made fit for a log line or a model.

/// A text on one line, without control characters, terminal sequences, or characters that hide or
/// reorder others, and no longer than `most` characters.
///
/// ```
/// use haft_runtime::redact::clean_text;
///
/// assert_eq!(clean_text("done\x1b[31m!\r\nroot: ok\u{202e}", 80), "done! root: ok");
/// assert_eq!(clean_text("a long story", 6), "a long…");
/// ```
#[must_use]
pub fn clean_text(text: &str, most: usize) -> String {
    let clean = String::with_capacity(text.len().min(most.saturating_mul(4)));
    cleaned(clean, text.chars(), most)
}

fn cleaned(mut clean: String, mut rest: impl Iterator<Item = char> + Clone, most: usize) -> String {
    let mut count = 0;
    let mut endless = false;
    while let Some(letter) = rest.next() {
        let kept = match letter {
            '\u{1b}' | '\u{9b}' => {
                skip_sequence(letter, &mut rest, &mut endless);
                continue;
            }
            '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => ' ',
            hidden if is_hidden(hidden) => continue,
            letter => letter,
        };
        // Stuffing with line ends leaves one space.
        if kept == ' ' && (clean.is_empty() || clean.ends_with(' ')) {
            continue;
        }
        if count == most {
            clean.push('…');
            return clean;
        }
        clean.push(kept);
        count += 1;
    }
    clean.truncate(clean.trim_end().len());
    clean
}

/// Steps over what a terminal would obey: `ESC [ … letter`, `ESC ] … BEL`, `ESC x`. Where one such has no end,
/// no later one has: nobody looks again, for each would be looked for through all of the rest.
fn skip_sequence<I: Iterator<Item = char> + Clone>(start: char, rest: &mut I, endless: &mut bool) {
    let mut look = rest.clone();
    let kind = if start == '\u{9b}' { Some('[') } else { look.next() };
    match kind {
        Some('[') => {
            let end = look.find(|letter| !matches!(letter, '0'..='?' | ' '..='/'));
            if end.is_some() {
                *rest = look;
            }
        }
        Some(']' | 'P' | '^' | '_' | 'X') if *endless => {}
        Some(']' | 'P' | '^' | '_' | 'X') => {
            let end = look.find(|letter| matches!(letter, '\u{7}' | '\u{9c}' | '\\'));
            match end {
                Some(_) => *rest = look,
                None => *endless = true,
            }
        }
        Some(_) | None => *rest = look,
    }
}

/// Whether a character cannot be seen, or changes how others are seen: every control, all that Unicode
/// calls ignorable by default, what is drawn as nothing or joins the signs around it, and what is for
/// private use, which each font draws as it likes.
#[must_use]
pub fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{E000}'..='\u{F8FF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFC}' | '\u{FFFE}' | '\u{FFFF}'
            | '\u{13430}'..='\u{1343F}' | '\u{16FE4}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D159}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}' | '\u{F0000}'..='\u{10FFFF}')
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How many characters of a text are looked at, for each that it has.
    fn looked(text: &str) -> usize {
        let count = Cell::new(0);
        let counted = text.chars().inspect(|_| count.set(count.get() + 1));
        assert_eq!(cleaned(String::new(), counted, text.len()), clean_text(text, text.len()));
        count.get() / text.chars().count()
    }

    #[test]
    fn what_a_font_draws_as_it_likes_is_hidden() {
        for letter in ['\u{e000}', '\u{f8ff}', '\u{fffc}', '\u{f0000}', '\u{10fffd}'] {
            assert!(is_hidden(letter), "{letter:?}");
        }
        for letter in ['\u{d7ff}', '\u{f900}', '\u{fffd}', '\u{1f600}', '\u{31350}'] {
            assert!(!is_hidden(letter), "{letter:?}");
        }
    }

    #[test]
    fn sequences_without_an_end_are_looked_through_once() {
        for part in ["\u{1b}]", "\u{1b}P", "\u{1b}[", "\u{9b}", "\u{1b}[0", "\u{1b}^x\u{1b}[1;"] {
            assert!(looked(&part.repeat(10_000)) <= 3, "{part:?}");
        }
        assert_eq!(clean_text("\u{1b}]0;a\u{7}b\u{1b}]c\u{1b}[1md", 80), "b]cd");
    }
}
