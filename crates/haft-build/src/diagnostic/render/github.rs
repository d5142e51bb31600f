//! For GitHub Actions: one workflow command a line.

use crate::diagnostic::Diagnostic;

/// Renders annotations; `prefix` leads from the repository's root to the toolset.
#[must_use]
pub fn github(diagnostics: &[Diagnostic], prefix: &str) -> String {
    diagnostics.iter().map(|diagnostic| line(diagnostic, prefix)).collect()
}

fn line(diagnostic: &Diagnostic, prefix: &str) -> String {
    let file = property(&format!("{prefix}{}", diagnostic.file));
    let place = match diagnostic.line {
        0 => String::new(),
        line => format!(",line={line},col={}", diagnostic.column),
    };
    let help = diagnostic.help.as_ref().map(|help| format!("\n{help}")).unwrap_or_default();
    let message = data(&format!("{}{help}", diagnostic.message));
    format!(
        "::{} file={file}{place},title={}::{message}\n",
        diagnostic.severity.as_str(),
        diagnostic.code.id
    )
}

/// A message may hold anything but the characters that would end the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
