//! A JavaScript handler, read and not run.
//!
//! The source is anybody's. The parser is recursive, so the nesting is bounded before it starts
//! ([`depth`]) and it runs on a stack that grows with the source.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "the syntax tree has two hundred kinds of nodes; a check names those it is about"
)]

mod depth;
mod entry;
mod globals;
mod imports;
mod scopes;
#[cfg(test)]
mod tests;
mod uses;

use std::thread;

use haft_core::contract::Capability;
use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{SourceType, Span};

use crate::code;
use crate::diagnostic::{At, File, Findings};

/// The largest source that is read.
const MAX_BYTES: usize = 1 << 20;

/// With brackets bounded, the parser and the walk need less than 512 bytes of stack for each byte
/// of a chain such as `!!!!x`, `a?b:a?b:c` or `x=>x=>x`, measured without optimisation.
const STACK_PER_BYTE: usize = 1 << 10;
const STACK: usize = 4 << 20;

/// What is said where the machine gave no thread to read a source on. It may have one the next time.
pub(crate) const UNREAD: &str = "the source could not be read";

/// What a contract says that its handler may do.
#[derive(Clone, Copy)]
pub(crate) struct May<'a> {
    /// What it lists.
    pub(crate) capabilities: &'a [Capability],
    /// Whether it says that the tool does not write.
    pub(crate) only_reads: bool,
}

/// Reports what is wrong with the source of `handler.js`.
pub(crate) fn check(source: &str, file: &File, may: May<'_>, findings: &mut Findings) {
    let mut report = Report { file, findings };
    if source.len() > MAX_BYTES {
        report.whole(
            &code::HANDLER_SYNTAX,
            format!("the source has {} bytes; at most {MAX_BYTES} are read", source.len()),
            "leave out what the handler does not use",
        );
        return;
    }
    if let Some(at) = depth::too_deep(source) {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        report.at(
            &code::HANDLER_SYNTAX,
            Span::new(at, at.saturating_add(1)),
            format!("brackets are nested more than {} deep", depth::MAX),
            "name the inner parts: a constant or a function each",
        );
        return;
    }
    let stack = STACK + source.len() * STACK_PER_BYTE;
    let started = thread::scope(|scope| {
        let work = || parse(source, may, &mut report);
        let thread = thread::Builder::new().stack_size(stack).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| std::io::Error::other("the parser gave up"))
    });
    if let Err(why) = started {
        report.whole(
            &code::HANDLER_SYNTAX,
            format!("{UNREAD}: {why}"),
            "it is read on a thread of its own: give haft more memory or threads (`ulimit -v`, \
             `ulimit -u`), or make it smaller",
        );
    }
}

fn parse(source: &str, may: May<'_>, report: &mut Report<'_>) {
    let allocator = Allocator::default();
    let options = ParseOptions {
        preserve_parens: false,
        parse_regular_expression: patterns_are_flat(source),
        ..ParseOptions::default()
    };
    let parsed = Parser::new(&allocator, source, SourceType::mjs()).with_options(options).parse();
    for error in parsed.diagnostics.errors() {
        let span =
            error.labels.first().map_or(Span::new(0, 0), |label| visible(label.span(), source));
        let help = error.help.as_deref().map_or_else(|| SYNTAX.to_owned(), plain);
        report.at(&code::HANDLER_SYNTAX, span, plain(&error.message), help);
    }
    // What was recovered from broken text says little about what its author wanted.
    if parsed.diagnostics.has_errors() {
        return;
    }
    imports::check(&parsed.program, report);
    let execute = entry::find(&parsed.program, report);
    uses::check(&parsed.program, execute, may, report);
}

/// The parser of regular expressions recurses with their groups, which the bound on brackets does
/// not see. A literal does not go on in the next line, so a line without many of them has no deep
/// one. Where there is such a line, they are left to the runtime.
fn patterns_are_flat(source: &str) -> bool {
    const MOST: usize = 256;
    source
        .lines()
        .all(|line| line.bytes().filter(|byte| matches!(byte, b'(' | b'[')).count() <= MOST)
}

/// Something missing is a place between two letters; the one after it can be underlined. What does
/// not end can be said to end inside of a letter, or after the last one.
fn visible(span: Span, source: &str) -> Span {
    let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let span = Span::new(
        place(source.floor_char_boundary(span.start as usize)),
        place(source.ceil_char_boundary(span.end as usize)),
    );
    let after = source.get(span.start as usize..).and_then(|rest| rest.chars().next());
    match after.and_then(|letter| u32::try_from(letter.len_utf8()).ok()) {
        Some(length) if span.is_empty() => Span::sized(span.start, length),
        _ => span,
    }
}

const SYNTAX: &str = "a handler is an ES module of plain JavaScript: no types, no JSX";

/// The parser's words in our style.
fn plain(message: &str) -> String {
    let message = message.trim().trim_end_matches('.');
    let mut letters = message.chars();
    // `JSX …` and `V8 …` stay; `Expected …` does not.
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            format!("{}{second}{}", first.to_lowercase(), letters.as_str())
        }
        _ => message.to_owned(),
    }
}

/// Where findings about this source go.
struct Report<'f> {
    file: &'f File,
    findings: &'f mut Findings,
}

impl Report<'_> {
    fn at(
        &mut self,
        code: &'static code::Code,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let at = At::Bytes(self.file.clone(), span.start as usize..span.end as usize);
        self.findings.add(code, at, message).help(help);
    }

    fn whole(
        &mut self,
        code: &'static code::Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.findings.add(code, At::Whole(self.file.clone()), message).help(help);
    }
}
