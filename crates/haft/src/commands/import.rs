//! `haft import`

use std::io::Read as _;

use anyhow::{Context as _, bail};
use haft_build::import::{self, Given, Import, Overwrite, Severity, Written};

use super::lint::counted;
use crate::cli::{self, ImportFormat};
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &cli::Import, out: &mut Output) -> anyhow::Result<Exit> {
    let text = read(options)?;
    let import = parse(options, &text)?;
    if let Some(file) = &options.report {
        let report = serde_json::to_string_pretty(&import.report)?;
        haft_build::build::write_whole(file, &report)
            .with_context(|| format!("`{}` cannot be written", file.display()))?;
    }
    let written = match options.dry_run {
        true => None,
        false => {
            let overwrite = if options.replace { Overwrite::Replace } else { Overwrite::Refuse };
            Some(import::write(&import, &at.toolset_or_here()?, overwrite)?)
        }
    };
    match options.json {
        true => out.json(&import.report)?,
        false => explain(&import, options, written.as_ref(), out),
    }
    Ok(if import.report.summary().errors > 0 { Exit::Findings } else { Exit::Done })
}

/// Far more than any list of definitions; the importers have a limit of their own.
const MAX_SOURCE: u64 = 1 << 28;

fn read(options: &cli::Import) -> anyhow::Result<String> {
    if options.file.as_os_str() == "-" {
        let mut text = String::new();
        let mut stdin = std::io::stdin().take(MAX_SOURCE + 1);
        stdin.read_to_string(&mut text).context("standard input cannot be read")?;
        return Ok(text);
    }
    haft_build::accept::read_limited(&options.file, MAX_SOURCE)
        .with_context(|| format!("`{}` cannot be read", options.file.display()))
}

fn parse(options: &cli::Import, text: &str) -> anyhow::Result<Import> {
    let format = options.format.unwrap_or_else(|| guess(text));
    if options.provider.is_some() && format != ImportFormat::Openapi {
        bail!("`--provider` is for OpenAPI documents: other definitions make no requests");
    }
    let given =
        Given { base_url: options.base_url.as_deref(), provider: options.provider.as_deref() };
    let import = match format {
        ImportFormat::Functions => import::functions(text),
        ImportFormat::Adm => import::adm(text),
        ImportFormat::Openapi => import::openapi(text, given),
    };
    Ok(import?)
}

/// What a file holds, by the one word that each format cannot do without.
fn guess(text: &str) -> ImportFormat {
    let start: String = text.chars().take(4096).collect();
    if start.contains("function_declarations") {
        ImportFormat::Adm
    } else if start.contains("\"openapi\"") || is_swagger(&start) || is_yaml(&start) {
        ImportFormat::Openapi
    } else {
        ImportFormat::Functions
    }
}

/// Only OpenAPI comes as YAML. Definitions in JSON begin with a bracket.
fn is_yaml(start: &str) -> bool {
    let text = start.trim_start_matches('\u{feff}').trim_start();
    !text.is_empty() && !text.starts_with(['{', '['])
}

/// The version before OpenAPI had its name; it is refused with a word on what to do.
fn is_swagger(start: &str) -> bool {
    let json = start.trim_start().starts_with('{') && start.contains("\"swagger\":");
    json || start.lines().any(|line| line.starts_with("swagger:"))
}

/// The numbers, what was not imported, and the kinds of changes with how often each was made.
fn explain(import: &Import, options: &cli::Import, written: Option<&Written>, out: &mut Output) {
    for entry in import.report.entries.iter().filter(|entry| entry.severity == Severity::Error) {
        out.error(&format!("`{}` was not imported: {}", entry.source, entry.what));
    }
    match written {
        Some(written) => out.line(&format!(
            "{} new, {} replaced, {} unchanged",
            counted(written.created.len(), "folder"),
            written.replaced.len(),
            written.unchanged.len()
        )),
        None => out.line(&format!(
            "nothing was written; {} would be",
            counted(import.tools.len(), "tool")
        )),
    }
    out.line(&import.report.summary().to_string());
    match (&options.report, import.report.entries.is_empty()) {
        (Some(file), _) => out.line(&format!("every difference is in {}", file.display())),
        (None, false) => out.line("`--report FILE` writes every difference"),
        (None, true) => {}
    }
    if let Some(entry) = import.report.entries.iter().find(|entry| entry.source == "security") {
        out.line(&entry.what);
    }
    if written.is_some() {
        out.line("next: `haft lint` says what an import could not know");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_read_as_yaml_so_that_its_mistake_is_named() {
        for (text, expected) in [
            ("[{\"name\": \"a\"}]", ImportFormat::Functions),
            ("{\"name\": \"a\"}\n{\"name\": \"b\"}", ImportFormat::Functions),
            ("{\"function_declarations\": []}", ImportFormat::Adm),
            (" {\"openapi\": \"3.1.0\"}", ImportFormat::Openapi),
            ("# a note\ninfo: {title: x\n", ImportFormat::Openapi),
            ("\u{feff}openapi: 3.1.0\n", ImportFormat::Openapi),
            ("", ImportFormat::Functions),
        ] {
            assert_eq!(guess(text), expected, "{text}");
        }
    }
}
