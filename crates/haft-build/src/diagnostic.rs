//! What the compiler has to say: one finding, where it is, and what to do about it.

mod finding;
mod hint;
pub mod render;
mod spans;

use std::ops::Range;

use serde::Serialize;

use crate::code::{Code, Severity};

pub(crate) use finding::Texts;
pub use finding::{At, File, Finding, Findings, Part};
pub(crate) use haft_core::pointer::escape;
pub(crate) use hint::json_hint;
pub(crate) use spans::{spans_of, token_end};

/// A finding with its place worked out.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// Which rule.
    pub code: &'static Code,
    /// How bad it is here (`lint.allow` can lower it).
    pub severity: Severity,
    /// The tool's folder, where it is about one tool.
    pub tool: Option<String>,
    /// Relative to the toolset, with `/`.
    pub file: String,
    /// From 1; 0 when the finding is about the file as a whole.
    pub line: usize,
    /// In characters, from 1; 0 when the finding is about the file as a whole.
    pub column: usize,
    /// The text that is meant, as bytes of the file.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// One line: `doc.md:41:3: … [H212]`.
    #[must_use]
    pub fn one_line(&self) -> String {
        let place = match self.line {
            0 => self.file.clone(),
            line => format!("{}:{line}:{}", self.file, self.column),
        };
        format!("{place}: {}: {} [{}]", self.severity.as_str(), self.message, self.code.id)
    }
}

/// A diagnostic as scripts read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    /// `H212`.
    pub code: String,
    /// `error` or `warning`.
    pub severity: String,
    /// The tool's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Relative to the toolset.
    pub file: String,
    /// From 1; 0 for the whole file.
    pub line: usize,
    /// From 1; 0 for the whole file.
    pub column: usize,
    /// First and last byte + 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl From<&Diagnostic> for Record {
    fn from(from: &Diagnostic) -> Self {
        Self {
            code: from.code.id.to_owned(),
            severity: from.severity.as_str().to_owned(),
            tool: from.tool.clone(),
            file: from.file.clone(),
            line: from.line,
            column: from.column,
            span: from.span.as_ref().map(|span| (span.start, span.end)),
            message: from.message.clone(),
            help: from.help.clone(),
        }
    }
}
