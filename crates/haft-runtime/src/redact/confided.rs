//! What the tools that a handler calls hide from others: whatever the handler says then may quote it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use haft_core::ToolError;
use parking_lot::Mutex;

use super::quoted::{HIDDEN, LONGEST, SHORT};

/// Of more errors, and of more or longer words, nobody looks which ones are quoted.
const MAX_ERRORS: usize = 64;
const MAX_WORDS: usize = 2_048;
const MAX_BYTES: usize = 256 << 10;

/// What others see where nobody can say what is quoted.
pub(crate) const WITHHELD: &str =
    "the tool's words are withheld: they may quote what the tools that it called hide";

/// What one call's handler was told that others may not see.
#[derive(Default)]
pub(crate) struct Confided(Mutex<Noted>);

#[derive(Default)]
struct Noted {
    /// What errors of nested calls say, and the words in which others may see that.
    errors: Vec<(String, String)>,
    /// What is hidden of the arguments of nested calls, and whatever else their errors hid.
    words: BTreeSet<String>,
    /// How long all of it is.
    bytes: usize,
    /// Whether there was more.
    too_much: bool,
}

impl std::fmt::Debug for Confided {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Confided")
    }
}

impl Confided {
    /// Takes note of what is hidden of the arguments of a nested call.
    pub(crate) fn words(&self, hidden: Vec<String>) {
        let mut noted = self.0.lock();
        hidden.iter().for_each(|word| noted.word(word));
    }

    /// Takes note of what a nested call ended in, where others see less of that.
    pub(crate) fn error(&self, error: &ToolError) {
        let (message, shown) = (&error.message, error.shown());
        if message != shown {
            self.0.lock().error(message, shown);
        }
    }

    /// What others may see of a handler's words, where that is not all of them. `without` takes the
    /// words that it is given out of a text.
    pub(crate) fn seen(
        &self,
        said: &str,
        without: impl FnOnce(&str, &[&str]) -> Option<String>,
    ) -> Option<String> {
        let noted = self.0.lock();
        if noted.too_much {
            return Some(WITHHELD.to_owned());
        }
        let hidden: Vec<&str> = noted.words.iter().map(String::as_str).collect();
        let safe = noted.in_safe_words(said);
        let seen = without(&safe, &hidden);
        match safe {
            Cow::Borrowed(_) => seen,
            Cow::Owned(safe) => Some(seen.unwrap_or(safe)),
        }
    }
}

impl Noted {
    fn word(&mut self, word: &str) {
        let word = word.get(..word.floor_char_boundary(LONGEST)).unwrap_or_default();
        if word.trim().is_empty() || self.words.contains(word) || !self.has_room(word.len()) {
            return;
        }
        if self.words.len() >= MAX_WORDS {
            self.too_much = true;
            return;
        }
        self.words.insert(word.to_owned());
    }

    fn error(&mut self, message: &str, shown: &str) {
        if self.errors.iter().any(|(known, _)| known == message) {
            return;
        }
        if self.errors.len() >= MAX_ERRORS || !self.has_room(message.len() + shown.len()) {
            self.too_much = true;
            return;
        }
        self.errors.push((message.to_owned(), shown.to_owned()));
        // A handler may say less than all of it.
        hidden_in(message, shown).into_iter().for_each(|word| self.word(word));
    }

    /// Whether so much more is remembered.
    fn has_room(&mut self, length: usize) -> bool {
        self.bytes = self.bytes.saturating_add(length);
        self.too_much |= self.bytes > MAX_BYTES;
        !self.too_much
    }

    /// A text in which what nested calls ended in stands as others may see it.
    fn in_safe_words<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let said = |(message, _): &&(String, String)| {
            // What is shorter stands in every text.
            message.len() >= SHORT && text.contains(message.as_str())
        };
        let mut quoted: Vec<_> = self.errors.iter().filter(said).collect();
        // One may be a part of another.
        quoted.sort_by_key(|(message, _)| Reverse(message.len()));
        quoted.into_iter().fold(Cow::Borrowed(text), |text, (message, shown)| {
            Cow::Owned(text.replace(message.as_str(), shown))
        })
    }
}

/// What stands in a message where others see a mark; all of it where they see other words.
fn hidden_in<'m>(message: &'m str, shown: &str) -> Vec<&'m str> {
    let mut parts = shown.split(HIDDEN).peekable();
    let begins = parts.next().and_then(|begin| message.strip_prefix(begin));
    let Some(mut rest) = begins else { return vec![message] };
    let mut hidden = Vec::new();
    while let Some(part) = parts.next() {
        let at = match parts.peek() {
            Some(_) => rest.find(part),
            None => rest.strip_suffix(part).map(str::len),
        };
        let halves = at.and_then(|at| Some((rest.get(..at)?, rest.get(at + part.len()..)?)));
        // One of the two was cut off.
        let Some((word, after)) = halves else {
            hidden.push(rest);
            break;
        };
        hidden.push(word);
        rest = after;
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, shown: &str, expected: &[&str]) {
        assert_eq!(hidden_in(message, shown), expected, "{shown}");
    }

    #[test]
    fn what_others_see_says_what_is_hidden() {
        check("no card 4111 of mara", "no card [redacted] of [redacted]", &["4111", "mara"]);
        check("4111 is no card", "[redacted] is no card", &["4111"]);
        check("no x c y c", "no [redacted] c", &["x c y"]);
        check(
            "`card` must be less than 4111",
            "maximum at `/card`",
            &["`card` must be less than 4111"],
        );
        check("no card 4111 of ma…", "no card [redacted] of mara", &["4111 of ma…"]);
    }
}
