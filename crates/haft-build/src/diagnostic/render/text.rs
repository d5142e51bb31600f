//! For a terminal, in the manner of rustc.

use std::collections::HashMap;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::source;
use crate::code::{LITERAL_SECRET, Severity};
use crate::diagnostic::Diagnostic;
use crate::lint::text::has_secret;

/// Whether to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// For a terminal.
    Yes,
    /// For a file or a pipe.
    No,
}

/// How many findings of one kind are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// All of them.
    All,
    /// The first hundred errors and the first ten warnings of each code.
    Some,
}

/// How many findings of one code are enough to see what it is about.
fn enough(severity: Severity) -> usize {
    match severity {
        Severity::Error => 100,
        Severity::Warning => 10,
    }
}

/// Renders the diagnostics of the toolset at `root`; `prefix` is put before each file's path.
#[must_use]
pub fn text(
    diagnostics: &[Diagnostic],
    root: &Path,
    prefix: &str,
    show: Show,
    colour: Colour,
) -> String {
    let renderer = match colour {
        Colour::Yes => Renderer::styled(),
        Colour::No => Renderer::plain(),
    };
    let mut seen: HashMap<(&str, Severity), usize> = HashMap::new();
    let mut sources: HashMap<&str, Option<String>> = HashMap::new();
    let mut text = String::new();
    for diagnostic in diagnostics {
        let count = seen.entry((diagnostic.code.id, diagnostic.severity)).or_default();
        *count += 1;
        if show == Show::Some && *count > enough(diagnostic.severity) {
            continue;
        }
        let source = sources
            .entry(&diagnostic.file)
            .or_insert_with(|| source(root, &diagnostic.file))
            .as_deref();
        text.push_str(&one(&renderer, diagnostic, prefix, source));
        text.push_str("\n\n");
    }
    if show == Show::Some {
        let mut more: Vec<_> =
            seen.into_iter().filter(|((_, severity), count)| *count > enough(*severity)).collect();
        more.sort_unstable();
        for ((id, severity), count) in more {
            let rest = count - enough(severity);
            text.push_str(&format!("… and {rest} more of {id} (`--all` shows them)\n"));
        }
    }
    text
}

fn one(renderer: &Renderer, diagnostic: &Diagnostic, prefix: &str, source: Option<&str>) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let path = format!("{prefix}{}", diagnostic.file);
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.id);
    let group = match shown(diagnostic, source) {
        Some((lines, span)) => title.element(
            Snippet::source(lines)
                .line_start(diagnostic.line)
                .path(path)
                .annotation(AnnotationKind::Primary.span(span)),
        ),
        None => {
            let origin = match diagnostic.line {
                0 => Origin::path(path),
                line => Origin::path(path).line(line).char_column(diagnostic.column),
            };
            title.element(origin)
        }
    };
    let group: Group<'_> = match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    };
    renderer.render(&[group])
}

/// The text to underline. A line with a secret on it is never shown: this goes to logs.
fn shown<'a>(
    diagnostic: &Diagnostic,
    source: Option<&'a str>,
) -> Option<(&'a str, std::ops::Range<usize>)> {
    let (source, span) = (source?, diagnostic.span.clone()?);
    let before = source.get(..span.start)?;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let after = source.get(span.end..)?;
    let end = span.end + after.find('\n').unwrap_or(after.len());
    let lines = source.get(start..end)?;
    let hidden = diagnostic.code == &LITERAL_SECRET || has_secret(lines);
    // Only these lines are handed on: the renderer would look through the whole file each time.
    (span.start <= span.end && !hidden).then(|| (lines, span.start - start..span.end - start))
}
