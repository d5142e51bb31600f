//! For a terminal, in the manner of rustc.

use std::collections::HashMap;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::source;
use crate::code::Severity;
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
    /// Every error, and the first few warnings of each code.
    Some,
}

/// How many warnings of one code are enough to see what it is about.
const ENOUGH: usize = 10;

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
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut sources: HashMap<&str, Option<String>> = HashMap::new();
    let mut text = String::new();
    for diagnostic in diagnostics {
        if diagnostic.severity == Severity::Warning {
            let count = seen.entry(diagnostic.code.id).or_default();
            *count += 1;
            if show == Show::Some && *count > ENOUGH {
                continue;
            }
        }
        let source = sources
            .entry(&diagnostic.file)
            .or_insert_with(|| source(root, &diagnostic.file))
            .as_deref();
        text.push_str(&one(&renderer, diagnostic, prefix, source));
        text.push_str("\n\n");
    }
    if show == Show::Some {
        let mut more: Vec<(&str, usize)> =
            seen.into_iter().filter(|(_, count)| *count > ENOUGH).collect();
        more.sort_unstable();
        for (id, count) in more {
            let rest = count - ENOUGH;
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
        Some((source, span)) => title.element(
            Snippet::source(source).path(path).annotation(AnnotationKind::Primary.span(span)),
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
    (span.start <= span.end && !has_secret(lines)).then_some((source, span))
}
