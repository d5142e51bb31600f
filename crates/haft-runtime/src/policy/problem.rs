//! What is wrong with a policy or a directory, and where.

use std::fmt;

use haft_core::nearest;

/// One thing that somebody should mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether it keeps the whole from being used.
    pub severity: Severity,
    /// The file that it stands in.
    pub file: String,
    /// The line, counted from 1, where that is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing of it is used.
    Error,
    /// It is used, and is probably not what was meant.
    Warning,
}

impl Problem {
    /// An error.
    #[must_use]
    pub fn error(file: &str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            file: file.to_owned(),
            line: None,
            message: message.into(),
            help: None,
        }
    }

    /// A warning.
    #[must_use]
    pub fn warning(file: &str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(file, message) }
    }

    /// At a line.
    #[must_use]
    pub fn at(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }

    /// With what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether it keeps the whole from being used.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for Problem {}

/// Says what serde says about an unknown key or word, with the nearest one that is known.
///
/// ```
/// use haft_runtime::policy::suggest;
/// let said = "unknown field `alow`, expected one of `allow`, `deny`";
/// assert_eq!(suggest(said), "unknown key `alow`; did you mean `allow`?");
/// ```
#[must_use]
pub fn suggest(said: &str) -> String {
    let Some((kind, rest)) = ["unknown field `", "unknown variant `"]
        .iter()
        .find_map(|lead| said.split_once(lead).map(|(_, rest)| (*lead, rest)))
    else {
        return said.to_owned();
    };
    let mut quoted = rest.split('`');
    let word = quoted.next().unwrap_or_default();
    let known: Vec<&str> = quoted.skip(1).step_by(2).collect();
    let what = if kind.contains("field") { "key" } else { "word" };
    if known.is_empty() {
        return format!("unknown {what} `{word}`; nothing is expected here");
    }
    format!("unknown {what} `{word}`; {}", nearest::suggest(word, &known))
}

/// The errors among problems, or what goes on and its warnings.
pub(crate) fn divide(problems: Vec<Problem>) -> Result<Vec<Problem>, Vec<Problem>> {
    if problems.iter().any(Problem::is_error) { Err(problems) } else { Ok(problems) }
}

/// The line, counted from 1, that a byte stands in.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}
