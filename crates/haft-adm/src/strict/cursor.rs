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

    pub(super) fn skip_space(&mut self) {
        self.eat_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
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
