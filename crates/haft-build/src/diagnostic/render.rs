//! Diagnostics as people and machines read them.

mod github;
mod sarif;
mod text;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Diagnostic, Record};
use crate::folder::normalise;

pub use github::github;
pub use sarif::sarif;
pub use text::{Colour, Show, text};

/// One object with all diagnostics, for scripts.
#[must_use]
pub fn json(diagnostics: &[Diagnostic]) -> Value {
    let list: Vec<Record> = diagnostics.iter().map(Record::from).collect();
    let errors = list.iter().filter(|record| record.severity == "error").count();
    json!({ "errors": errors, "warnings": list.len() - errors, "diagnostics": list })
}

/// A file of the toolset, as the diagnostics' spans speak of it.
fn source(root: &Path, file: &str) -> Option<String> {
    let path = root.join(file);
    // Positions come only from files within the limits; anything larger is not shown.
    let small =
        fs::metadata(&path).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= 2 << 20);
    small.then(|| fs::read_to_string(path).ok().map(normalise)).flatten()
}
