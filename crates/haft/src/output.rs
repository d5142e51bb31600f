//! What the command prints, and how it ends.

mod table;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::ColorChoice;
use haft_build::diagnostic::render::Colour;

pub(crate) use self::table::table;
use self::table::{Table, room};

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
    /// What was done whether or not that can be written.
    done: Option<String>,
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
        Self { colour: if wanted { Colour::Yes } else { Colour::No }, closed: None, done: None }
    }

    /// The same, for somebody who prints at the same time.
    pub(crate) fn again(&self) -> Self {
        Self { colour: self.colour, closed: None, done: None }
    }

    /// Whether diagnostics are coloured.
    pub(crate) fn colour(&self) -> Colour {
        self.colour
    }

    /// Says what was done, where the result cannot be written: it is not as if nothing had been.
    pub(crate) fn done_anyway(&mut self, what: String) {
        self.done = Some(what);
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

    /// Prints a table. The first `stay` columns are shown whatever room there is; of others that were
    /// left out it is said so beside the result.
    pub(crate) fn table(&mut self, head: &[&str], stay: usize, rows: &[Vec<String>]) {
        let fitted = Table::new(head, stay, rows).fit(room());
        self.result(&fitted.text);
        if let Some(note) = fitted.note() {
            self.note(&note);
        }
    }

    /// Prints what a list has of the `most` that were wanted, where one more was asked for: a part is
    /// not taken for the whole.
    pub(crate) fn cut<T>(&self, found: &mut Vec<T>, most: usize) {
        if found.len() > most {
            found.truncate(most);
            let more = most.saturating_mul(10);
            self.note(&format!(
                "these are the newest {most}, and there are more: `--limit {more}` shows more of them"
            ));
        }
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
                self.done.iter().for_each(|done| self.note(&format!("  {done}")));
                ExitCode::from(Exit::Failed.code())
            }
            (exit, None) => ExitCode::from(exit.code()),
        }
    }
}

/// An instant, for people.
pub(crate) fn instant(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map_or_else(|_| at_ms.to_string(), |at| format!("{at:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_value_is_told_from_a_failure() {
        let bad = Err::<(), _>("`bob` is nobody").given("--as").unwrap_err();
        assert_eq!(bad.to_string(), "--as: `bob` is nobody");
        assert_eq!(Exit::of(&bad), Exit::Misused);
        assert_eq!(Exit::of(&bad.context("more")), Exit::Misused);
        assert_eq!(Exit::of(&anyhow::anyhow!("no such file")), Exit::Failed);
    }
}
