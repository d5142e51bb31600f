//! Records from files: Markdown with front matter, JSON lines, CSV.
//!
//! What is wrong is reported with its line, and everything else is read all the same.

mod lines;
mod markdown;
mod table;

use std::fs::File;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::record::{Defaults, Record};

/// What is wrong at one place of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The file, as it is known to the index.
    pub file: String,
    /// The line, from 1; 0 where it is the file as a whole.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.what),
            line => write!(f, "{}:{line}: {}", self.file, self.what),
        }
    }
}

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One record: front matter and text.
    Markdown,
    /// One record a line.
    Lines,
    /// One record a row, named by the first.
    Table,
}

impl Format {
    /// The format that a file's name promises.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "jsonl" | "ndjson" => Some(Self::Lines),
            "csv" => Some(Self::Table),
            _ => None,
        }
    }

    fn source_type(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Lines => "jsonl",
            Self::Table => "csv",
        }
    }
}

/// A record with the line that it began on, or what is wrong there.
pub(super) type Item = Result<(u64, Record), (u64, String)>;

/// Reads a file. `name` is what it is called in the index, `inside` where it stands in its source.
///
/// # Errors
///
/// The disk's own. What is wrong with the content is handed over.
pub(super) fn file(
    path: &Path,
    (name, inside): (&str, &str),
    namespace: &str,
    take: &mut dyn FnMut(Item),
) -> io::Result<()> {
    let Some(format) = Format::of(path) else { return Ok(()) };
    let open = File::open(path)?;
    let changed = open.metadata()?.modified().ok();
    let changed = changed.and_then(|time| Timestamp::try_from(time).ok());
    // To the second: what is finer says nothing about a text.
    let changed = changed.and_then(|time| Timestamp::from_second(time.as_second()).ok());
    let defaults = Defaults {
        id: None,
        title: None,
        namespace: namespace.to_owned(),
        source_type: format.source_type().to_owned(),
        last_updated: changed.unwrap_or(Timestamp::UNIX_EPOCH),
        source: name.to_owned(),
    };
    match format {
        Format::Markdown => markdown::read(open, inside, defaults, take),
        Format::Lines => lines::read(open, &defaults, take),
        Format::Table => table::read(open, &defaults, take),
    }
}

fn finish(line: u64, fields: Map<String, Value>, defaults: &Defaults, take: &mut dyn FnMut(Item)) {
    match Record::read(fields, defaults) {
        Ok(record) => take(Ok((line, record))),
        Err(problems) => problems.into_iter().for_each(|what| take(Err((line, what)))),
    }
}
