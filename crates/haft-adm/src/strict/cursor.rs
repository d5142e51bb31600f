//! A place in the text that only moves forward.

use super::{Position, Problem};
use crate::path::Path;
use crate::report::{Report, Reported};

pub(super) struct Cursor<'t, 'r> {
    text: &'t str,
    at: usize,
    /// The last position that was worked out: the next one is found from here, so that many
    /// errors in a long text cost one walk in all.
    known: Position,
    report: &'r mut Report,
}

impl<'t, 'r> Cursor<'t, 'r> {
    pub(super) fn new(text: &'t str, report: &'r mut Report) -> Self {
        Cursor { text, at: 0, known: Position::START, report }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Steps over `byte` if it is next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    /// Steps over every byte that is `wanted`; says how many.
    pub(super) fn eat_while(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let count = rest.iter().position(|byte| !wanted(*byte)).unwrap_or(rest.len());
        self.at += count;
        count
    }

    /// Steps over every byte of a string that stands for itself, and gives them: what stops it is
    /// ASCII or the end, and so is what stood before them.
    #[inline]
    pub(super) fn eat_plain(&mut self) -> &'t str {
        let rest = self.rest();
        let length = plain(rest.as_bytes());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    pub(super) fn starts_with(&self, word: &str) -> bool {
        self.rest().starts_with(word)
    }

    /// The text from `start` to here; both lie between characters wherever this is called.
    pub(super) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    pub(super) fn next_char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Something else stands here than the grammar calls for.
    pub(super) fn unexpected(&mut self, path: &Path<'_>, expected: &'static str) -> Reported {
        let problem = match self.next_char() {
            Some(found) => Problem::Unexpected { expected, found },
            None => Problem::End { expected },
        };
        self.problem(path, self.at, problem)
    }

    /// Reports a problem that starts at byte `at`.
    pub(super) fn problem(&mut self, path: &Path<'_>, at: usize, problem: Problem) -> Reported {
        let (text, known) = (self.text, &mut self.known);
        self.report.add_at(path, problem, || {
            if at < known.offset {
                *known = Position::START;
            }
            *known = known.advance(text.get(known.offset..at).unwrap_or_default());
            Some(*known)
        })
    }
}

/// How many bytes at the start are neither a quote, nor a backslash, nor a control character.
/// Eight are looked at together: most of what is read lies inside strings.
#[inline]
fn plain(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            return index * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    words.len() * 8 + rest.iter().position(|byte| !plain(byte)).unwrap_or(rest.len())
}

/// Marks the bytes of a word that do not stand for themselves with their highest bit. A byte above
/// a marked one can be marked wrongly, so only the lowest mark counts.
fn special(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | is(b'"') | is(b'\\')) & (ONES * 0x80)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_plain_up_to_its_first_special_byte() {
        let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        for first in 0..=u8::MAX {
            for second in [b'a', 0x1f, b'"', b'\\', 0x7f, 0x80, 0xff, 0] {
                for at in 0..20 {
                    let mut bytes = [b'~'; 24];
                    bytes[at] = first;
                    bytes[at + 1] = second;
                    let expected = bytes.iter().position(|byte| !is_plain(*byte));
                    assert_eq!(plain(&bytes), expected.unwrap_or(24), "{bytes:?}");
                }
            }
        }
    }
}
