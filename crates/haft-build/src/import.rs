//! Definitions from elsewhere, made into tool folders.
//!
//! **Nothing is invented and nothing is lost in silence.** What a source does not say is written
//! down as assumed, in the contract; whatever was changed or left out on the way stands in the
//! [`Report`], and [`restore`] proves it: it undoes the report and gives the source's
//! schemas back.
//!
//! A definition is data about a tool, never an instruction to us: only the fields that describe a
//! tool are read. A `command`, an `env` or a `url` beside them is named in the report and goes no
//! further. A tool of unknown effect is taken to be irreversible until someone says otherwise.
//!
//! ```
//! let import = haft_build::import::functions(r#"{
//!     "name": "math.sum",
//!     "description": "Adds numbers.",
//!     "parameters": {"type": "dict", "properties": {"numbers": {"type": "tuple"}}}
//! }"#)?;
//! assert_eq!(import.tools[0].folder, "math-sum");
//! assert_eq!(import.report.summary().errors, 0);
//! # Ok::<(), haft_build::import::ImportError>(())
//! ```

mod adm;
mod contract;
mod document;
mod draft;
mod function;
mod log;
mod naming;
mod openapi;
mod plain;
mod pointer;
mod read;
mod report;
mod schema;
mod text;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;

pub use adm::adm;
pub use function::functions;
pub use openapi::{Given, openapi};
pub use report::{Part, Report, ReportEntry, Severity, Summary, restore, restore_output};
pub use write::{Overwrite, WriteError, Written, write};

/// What an import gives: folders that are not yet on disk, and what is different in them.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The tools, in the order of the source.
    pub tools: Vec<ImportedTool>,
    /// Every difference.
    pub report: Report,
}

/// One tool's folder.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedTool {
    /// The folder's name.
    pub folder: String,
    /// File names and their contents.
    pub files: Vec<(String, String)>,
}

impl ImportedTool {
    /// The content of a file.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&str> {
        self.files.iter().find(|(file, _)| file == name).map(|(_, content)| content.as_str())
    }
}

/// Why nothing at all could be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportError {
    /// The text is too large to be a list of definitions.
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// The text cannot be read.
    Unreadable {
        /// The format that was expected.
        format: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The text is a Swagger 2.0 document, which says most things in other places.
    Swagger,
    /// The text can be read and is something else.
    NotDefinitions {
        /// What was expected.
        expected: &'static str,
    },
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(
                f,
                "the source has {bytes} bytes and at most {} are read; split it",
                read::MOST_BYTES
            ),
            Self::Unreadable { format, why } => write!(f, "the source is not {format}: {why}"),
            Self::Swagger => f.write_str(
                "the source is a Swagger 2.0 document, and OpenAPI 3 is read; convert it first: \
                 `npx swagger2openapi FILE`, or open it in editor.swagger.io and choose \
                 \"Convert to OpenAPI 3\"",
            ),
            Self::NotDefinitions { expected } => {
                write!(f, "the source holds no definitions; expected {expected}")
            }
        }
    }
}

impl std::error::Error for ImportError {}
