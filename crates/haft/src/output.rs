//! What the command prints, and how it ends.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ColorChoice;
use haft_build::diagnostic::render::Colour;

/// How a command ended. The numbers are documented in `docs/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The toolset has errors, or the comparison found what `--fail-on` names.
    Findings,
    /// The command could not do its work: a file, a key, a registry that was refused.
    Failed,
}

/// Standard output and standard error. A reader that goes away (`haft show | head`) ends the
/// output, not the program with a panic.
pub(crate) struct Output {
    colour: Colour,
    /// Why standard output takes no more.
    closed: Option<io::ErrorKind>,
}

impl Output {
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let wanted = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                io::stderr().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Self { colour: if wanted { Colour::Yes } else { Colour::No }, closed: None }
    }

    /// Whether diagnostics are coloured.
    pub(crate) fn colour(&self) -> Colour {
        self.colour
    }

    /// Prints a result.
    pub(crate) fn result(&mut self, text: &str) {
        if self.closed.is_none()
            && let Err(error) = io::stdout().lock().write_all(text.as_bytes())
        {
            self.closed = Some(error.kind());
        }
    }

    /// Prints a result and ends the line.
    pub(crate) fn line(&mut self, text: &str) {
        self.result(text);
        self.result("\n");
    }

    /// Prints JSON, indented.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.line(&text);
        Ok(())
    }

    /// Says something beside the result.
    pub(crate) fn note(&self, text: &str) {
        // Nobody is left to tell when standard error is gone.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// Says what went wrong.
    pub(crate) fn error(&self, text: &str) {
        match self.colour {
            Colour::Yes => self.note(&format!("\u{1b}[1;31merror\u{1b}[0m: {text}")),
            Colour::No => self.note(&format!("error: {text}")),
        }
    }

    pub(crate) fn finish(self, exit: Exit) -> ExitCode {
        let flushed = io::stdout().flush().err().map(|error| error.kind());
        // A result that did not arrive is not done, unless its reader chose to leave.
        let lost = self.closed.or(flushed).filter(|kind| *kind != io::ErrorKind::BrokenPipe);
        match (exit, lost) {
            (_, Some(kind)) => {
                self.error(&format!("the result could not be written: {kind}"));
                ExitCode::from(3)
            }
            (Exit::Findings, None) => ExitCode::from(1),
            (Exit::Failed, None) => ExitCode::from(3),
            (Exit::Done, None) => ExitCode::SUCCESS,
        }
    }
}

/// A table whose columns line up, for terminals and for `column`-less pipes alike.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    use unicode_width::UnicodeWidthStr as _;
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let mut text = String::new();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// An instant, for people.
pub(crate) fn instant(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map_or_else(|_| at_ms.to_string(), |at| format!("{at:.0}"))
}
