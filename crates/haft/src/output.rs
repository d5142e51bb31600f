//! What the command prints, and how it ends.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ColorChoice;
use haft_build::diagnostic::render::Colour;
use unicode_width::UnicodeWidthStr as _;

/// How a command ended. The numbers are documented in `docs/cli.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// The toolset has errors, or the comparison found what `--fail-on` names.
    Findings,
    /// The command line makes no sense: a missing or bad value.
    Misused,
    /// The command could not do its work: a file, a key, a registry that was refused.
    Failed,
}

/// What is wrong with the command line, where its parser cannot know.
#[derive(Debug)]
struct Misuse(String);

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// An error of whoever typed the command.
pub(crate) fn misuse(why: impl Into<String>) -> anyhow::Error {
    Misuse(why.into()).into()
}

/// Why files cannot be read or written, most often.
const IN_WORDS: [(io::ErrorKind, &str); 7] = [
    (io::ErrorKind::NotFound, "there is no such file or folder"),
    (io::ErrorKind::PermissionDenied, "whoever runs this may not"),
    (io::ErrorKind::IsADirectory, "it is a folder"),
    (io::ErrorKind::NotADirectory, "something on the way to it is no folder"),
    (io::ErrorKind::ReadOnlyFilesystem, "nothing can be written there"),
    (io::ErrorKind::StorageFull, "the disk is full"),
    (io::ErrorKind::InvalidData, "it is not text"),
];

/// Why a file could not be read or written, for people.
pub(crate) fn in_words(why: &io::Error) -> String {
    let known = IN_WORDS.iter().find(|(kind, _)| *kind == why.kind());
    known.map_or_else(
        // The system's own words, without its number for them.
        || why.to_string().split(" (os error").next().unwrap_or_default().to_owned(),
        |(_, words)| (*words).to_owned(),
    )
}

/// A value from the command line.
pub(crate) trait Given<T> {
    /// Says which option holds it, where it is wrong.
    fn given(self, option: &str) -> anyhow::Result<T>;
}

impl<T, E: std::fmt::Display> Given<T> for Result<T, E> {
    fn given(self, option: &str) -> anyhow::Result<T> {
        self.map_err(|why| misuse(format!("{option}: {why:#}")))
    }
}

impl Exit {
    /// The number that the process ends with.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Findings => 1,
            Self::Misused => 2,
            Self::Failed => 3,
        }
    }

    /// How a command ends that gives an error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        match error.chain().any(|cause| cause.is::<Misuse>()) {
            true => Self::Misused,
            false => Self::Failed,
        }
    }
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

    /// The same, for somebody who prints at the same time.
    pub(crate) fn again(&self) -> Self {
        Self { colour: self.colour, closed: None }
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
                ExitCode::from(Exit::Failed.code())
            }
            (exit, None) => ExitCode::from(exit.code()),
        }
    }
}

/// How wide a table may be: as wide as the terminal that shows it, and without a bound where none
/// does, since a script or a file has room.
fn room() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || {
        let size = terminal_size::terminal_size().filter(|_| io::stdout().is_terminal());
        size.map(|(terminal_size::Width(columns), _)| usize::from(columns))
    };
    told.or_else(terminal).filter(|columns| *columns > 0).unwrap_or(usize::MAX)
}

/// A table whose columns line up, for terminals and for `column`-less pipes alike.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head = head.iter().map(|cell| (*cell).to_owned()).collect();
    let lines = std::iter::once(head).chain(rows.iter().cloned()).collect();
    Table { lines, left_out: Vec::new() }.fit(room())
}

/// The first line names the columns.
struct Table {
    lines: Vec<Vec<String>>,
    left_out: Vec<String>,
}

/// A last column that is wider than this holds sentences, which can go on in the next line.
const WORDY: usize = 24;

impl Table {
    /// Columns that there is no room for are left out from the right, all but the first and one of
    /// sentences at the end.
    fn fit(mut self, room: usize) -> String {
        loop {
            let widths = self.widths();
            let whole: usize = widths.iter().map(|width| width + 2).sum();
            let last = widths.last().copied().unwrap_or_default();
            let others = whole.saturating_sub(last + 2);
            let kept = if last > WORDY { 2 } else { 1 };
            if whole.saturating_sub(2) <= room {
                return self.print(&widths);
            }
            if last > WORDY && others + WORDY <= room || widths.len() <= kept {
                self.wrap(room.saturating_sub(others).max(WORDY));
                return self.print(&self.widths());
            }
            self.leave_out(widths.len() - kept);
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for line in &self.lines {
            widths.resize(widths.len().max(line.len()), 0);
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.width());
            }
        }
        widths
    }

    fn leave_out(&mut self, column: usize) {
        for (index, line) in self.lines.iter_mut().enumerate() {
            if column < line.len() {
                let cell = line.remove(column);
                if index == 0 {
                    self.left_out.insert(0, cell);
                }
            }
        }
    }

    /// Lets the last column go on in further lines.
    fn wrap(&mut self, width: usize) {
        let lines = std::mem::take(&mut self.lines);
        for mut line in lines {
            let columns = line.len();
            let mut parts = wrapped(&line.pop().unwrap_or_default(), width).into_iter();
            line.push(parts.next().unwrap_or_default());
            self.lines.push(line);
            for part in parts {
                let mut line = vec![String::new(); columns.saturating_sub(1)];
                line.push(part);
                self.lines.push(line);
            }
        }
    }

    fn print(&self, widths: &[usize]) -> String {
        let mut text = String::new();
        for row in &self.lines {
            let mut line = String::new();
            for (width, cell) in widths.iter().zip(row) {
                line.push_str(cell);
                line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        if !self.left_out.is_empty() {
            let names = self.left_out.join(", ");
            text.push_str(&format!("(no room for {names}; `--json` has them)\n"));
        }
        text
    }
}

/// Lines of at most `width`; a longer word has a line to itself.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// An instant, for people.
pub(crate) fn instant(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map_or_else(|_| at_ms.to_string(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(room: usize, expected: &str) {
        let line = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let lines = vec![
            line(["NAME", "KIND", "REQUIRED", "DESCRIPTION"]),
            line(["top_k", "number", "no", "How many results to return at most"]),
        ];
        assert_eq!(Table { lines, left_out: Vec::new() }.fit(room), expected);
    }

    #[test]
    fn a_bad_value_is_told_from_a_failure() {
        let bad = Err::<(), _>("`bob` is nobody").given("--as").unwrap_err();
        assert_eq!(bad.to_string(), "--as: `bob` is nobody");
        assert_eq!(Exit::of(&bad), Exit::Misused);
        assert_eq!(Exit::of(&bad.context("more")), Exit::Misused);
        assert_eq!(Exit::of(&anyhow::anyhow!("no such file")), Exit::Failed);
    }

    #[test]
    fn a_table_fits_its_terminal() {
        check(
            80,
            "NAME   KIND    REQUIRED  DESCRIPTION\ntop_k  number  no        How many results to return at most\n",
        );
        check(
            52,
            "NAME   KIND    REQUIRED  DESCRIPTION\ntop_k  number  no        How many results to return\n                         at most\n",
        );
        check(
            40,
            "NAME   KIND    DESCRIPTION\ntop_k  number  How many results to\n               return at most\n(no room for REQUIRED; `--json` has them)\n",
        );
        check(
            20,
            "NAME   DESCRIPTION\ntop_k  How many results to\n       return at most\n(no room for KIND, REQUIRED; `--json` has them)\n",
        );
    }
}
