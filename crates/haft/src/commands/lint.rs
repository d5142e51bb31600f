//! `haft lint`

use std::path::Path;

use haft_build::build::{Reuse, unchanged};
use haft_build::code::Severity;
use haft_build::diagnostic::Diagnostic;
use haft_build::diagnostic::render::{self, Show};
use haft_build::providers;
use haft_wire::Target;

use crate::cli::{Format, Lint};
use crate::output::{Exit, Output, misuse};
use crate::source::{self, Place, prefix};

pub(crate) fn run(at: &Place, options: &Lint, out: &mut Output) -> anyhow::Result<Exit> {
    let toolset = at.toolset()?;
    let targets = targets(&options.providers)?;
    // What providers can be told is worked out from the tools, which are not kept with the findings.
    let again = options.reporting.fresh || !targets.is_empty();
    let known = if again { None } else { unchanged(&toolset) };
    let (diagnostics, folders) = match known {
        Some(known) => (known.diagnostics, known.folders),
        None => {
            let reuse = if options.reporting.fresh { Reuse::Nothing } else { Reuse::Unchanged };
            let mut checked = source::checked(&toolset, reuse)?;
            let unsaid = providers::check(&checked, &targets);
            checked.diagnostics.extend(unsaid);
            (checked.diagnostics, checked.folders)
        }
    };
    print(&diagnostics, &toolset, options.reporting.format, show(options.reporting.all), out)?;
    if options.reporting.format == Format::Text {
        out.line(&summary(&diagnostics, folders));
    }
    Ok(verdict(&diagnostics, options.reporting.deny_warnings))
}

fn targets(words: &[String]) -> anyhow::Result<Vec<Target>> {
    let mut targets = Vec::new();
    for word in words {
        let named = Target::named(word.trim());
        if named.is_empty() {
            let known: Vec<String> = Target::ALL.iter().map(|target| target.name()).collect();
            let why =
                format!("--providers: `{word}` is none; use `all` or some of {}", known.join(", "));
            return Err(misuse(why));
        }
        targets.extend(named);
    }
    Ok(targets)
}

pub(crate) fn show(all: bool) -> Show {
    if all { Show::All } else { Show::Some }
}

/// Whether what was found is a failure.
pub(crate) fn verdict(diagnostics: &[Diagnostic], deny_warnings: bool) -> Exit {
    let (errors, _) = counts(diagnostics);
    // An error that its contract answers is shown as a warning, but it is settled.
    let open = diagnostics.iter().any(|diagnostic| {
        diagnostic.severity == Severity::Warning && diagnostic.code.severity == Severity::Warning
    });
    match errors > 0 || (deny_warnings && open) {
        true => Exit::Findings,
        false => Exit::Done,
    }
}

/// Text goes beside the result, machine formats are the result.
pub(crate) fn print(
    diagnostics: &[Diagnostic],
    toolset: &Path,
    format: Format,
    show: Show,
    out: &mut Output,
) -> anyhow::Result<()> {
    match format {
        Format::Text => source::report(diagnostics, toolset, show, out),
        Format::Json => out.json(&render::json(diagnostics))?,
        Format::Sarif => out.json(&render::sarif(diagnostics, &prefix(toolset)))?,
        Format::Github => out.result(&render::github(diagnostics, &prefix(toolset))),
    }
    Ok(())
}

/// `16 tools: 2 errors, 1 warning`
pub(crate) fn summary(diagnostics: &[Diagnostic], folders: usize) -> String {
    let (errors, warnings) = counts(diagnostics);
    let tools = counted(folders, "tool");
    match (errors, warnings) {
        (0, 0) => format!("{tools}: no errors, no warnings"),
        (0, warnings) => format!("{tools}: no errors, {}", counted(warnings, "warning")),
        (errors, warnings) => format!(
            "{tools}: {}, {}; `haft explain CODE` says more",
            counted(errors, "error"),
            counted(warnings, "warning")
        ),
    }
}

/// How many are errors, and how many are warnings.
pub(crate) fn counts(diagnostics: &[Diagnostic]) -> (usize, usize) {
    let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
    (errors, diagnostics.len() - errors)
}

/// `1 tool`, `2 tools`
pub(crate) fn counted(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}
