//! A finding before its place is worked out.
//!
//! Checks speak of a JSON pointer or a byte range. Line, column and the exact text are worked out
//! only for what is reported, so that a clean contract is never parsed for positions.

use std::borrow::Cow;
use std::ops::Range;

use super::{Diagnostic, spans};
use crate::code::{Code, Severity};
use crate::lint::text::printable;

/// A file of a tool's folder, or one of the toolset.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum File {
    /// The folder itself.
    Folder,
    /// `schema.json`.
    Contract,
    /// `doc_summary.md`.
    Summary,
    /// `doc.md`.
    Doc,
    /// `tests.json`.
    Tests,
    /// Any other file of the folder, by name.
    Named(String),
}

impl File {
    /// The file's name inside of the folder.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Folder => "",
            Self::Contract => "schema.json",
            Self::Summary => "doc_summary.md",
            Self::Doc => "doc.md",
            Self::Tests => "tests.json",
            Self::Named(name) => name,
        }
    }
}

/// Which side of a JSON member is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its name.
    Key,
    /// Its value.
    Value,
}

/// Where a finding is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    Whole(File),
    /// Bytes of the file.
    Bytes(File, Range<usize>),
    /// A place in a JSON file.
    Pointer(File, String, Part),
}

/// What is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which rule.
    pub code: &'static Code,
    /// Where.
    pub at: At,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

/// The findings about one tool.
#[derive(Debug, Default)]
pub struct Findings {
    list: Vec<Finding>,
}

/// The texts of a tool's files, for working out places.
pub(crate) trait Texts {
    /// The text of a file, where it could be read.
    fn text(&self, file: &File) -> Option<&str>;
}

impl Findings {
    /// Adds one.
    pub fn add(&mut self, code: &'static Code, at: At, message: impl Into<String>) -> &mut Finding {
        self.list.push(Finding { code, at, message: message.into(), help: None });
        let last = self.list.len() - 1;
        // The element was pushed just above.
        #[expect(clippy::indexing_slicing, reason = "`last` is the index of what was pushed")]
        &mut self.list[last]
    }

    /// Adds one about a member of the contract.
    pub fn contract(
        &mut self,
        code: &'static Code,
        pointer: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(
            code,
            At::Pointer(File::Contract, pointer.into().into_owned(), Part::Value),
            message,
        )
    }

    /// Adds one about the name of a member of the contract.
    pub fn contract_key(
        &mut self,
        code: &'static Code,
        pointer: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> &mut Finding {
        self.add(code, At::Pointer(File::Contract, pointer.into().into_owned(), Part::Key), message)
    }

    /// Whether an error was found.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.code.severity == Severity::Error)
    }

    /// Whether an error was found at or below a pointer of the contract.
    pub(crate) fn has_errors_under(&self, pointer: &str) -> bool {
        self.list.iter().any(|finding| {
            finding.code.severity == Severity::Error
                && !finding.code.allowable
                && matches!(&finding.at, At::Pointer(File::Contract, at, _) if at.starts_with(pointer))
        })
    }

    /// The findings.
    #[must_use]
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// Works out every place. `folder` is the tool's, relative to the toolset; `allowed` are the
    /// codes that the contract answers under `lint.allow`.
    pub(crate) fn locate(
        self,
        folder: &str,
        allowed: &[&str],
        texts: &dyn Texts,
    ) -> Vec<Diagnostic> {
        let mut spans = spans::Spans::default();
        let mut list = Vec::with_capacity(self.list.len());
        for finding in self.list {
            let allowed = finding.code.allowable && allowed.contains(&finding.code.id);
            let severity = match (finding.code.severity, allowed) {
                (severity, false) => severity,
                (Severity::Error, true) => Severity::Warning,
                (Severity::Warning, true) => continue,
            };
            list.push(place(finding, severity, folder, texts, &mut spans));
        }
        list
    }
}

impl Finding {
    /// Says what to do.
    pub fn help(&mut self, text: impl Into<String>) -> &mut Self {
        self.help = Some(text.into());
        self
    }
}

fn place(
    finding: Finding,
    severity: Severity,
    folder: &str,
    texts: &dyn Texts,
    spans: &mut spans::Spans,
) -> Diagnostic {
    let (file, span) = match finding.at {
        At::Whole(file) => (file, None),
        At::Bytes(file, span) => (file, Some(span)),
        At::Pointer(file, pointer, part) => {
            let span = texts.text(&file).and_then(|text| spans.find(&file, text, &pointer, part));
            (file, span)
        }
    };
    let (line, column) = match (&span, texts.text(&file)) {
        (Some(span), Some(text)) => spans.line_column(&file, text, span.start),
        _ => (0, 0),
    };
    let name = file.name();
    let file = match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    };
    Diagnostic {
        code: finding.code,
        severity,
        tool: (!folder.is_empty()).then(|| folder.rsplit('/').next().unwrap_or(folder).to_owned()),
        file: printable(file),
        line,
        column,
        span,
        message: printable(finding.message),
        help: finding.help.map(printable),
    }
}
