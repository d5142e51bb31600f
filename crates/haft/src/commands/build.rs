//! `haft build`

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use haft_build::build::{Checked, Reuse, Unchanged, Written, unchanged};
use haft_build::diagnostic::render;
use haft_core::registry::SigningKey;

use super::lint::{counted, counts, print, show, summary, verdict};
use super::show::overview;
use crate::cli::{Build, Format};
use crate::output::{Exit, Output};
use crate::source::{self, Place};

/// More tools than this are not read in a terminal.
const FEW: usize = 40;

pub(crate) fn run(at: &Place, options: &Build, out: &mut Output) -> anyhow::Result<Exit> {
    let toolset = at.toolset()?;
    let key = options.sign.as_deref().map(read_key).transpose()?;
    let file = options.out.clone().unwrap_or_else(|| toolset.join("tool_registry.json"));
    if let Some(known) = up_to_date(&toolset, options, &file) {
        print(
            &known.diagnostics,
            &toolset,
            options.reporting.format,
            show(options.reporting.all),
            out,
        )?;
        if options.reporting.format == Format::Text {
            let done = Done { state: Written::UpToDate, version: &known.version, compiled: 0 };
            done.report(&known.diagnostics, known.folders, &file, out);
        }
        return Ok(verdict(&known.diagnostics, options.reporting.deny_warnings));
    }
    // What is signed is made from the sources, not from what an earlier build left behind.
    let fresh = options.reporting.fresh || key.is_some();
    let reuse = if fresh { Reuse::Nothing } else { Reuse::Unchanged };
    if key.is_none() && at.config()?.trust.key.is_some() {
        out.note("note: haft.toml pins a key, but this registry is not signed; use `--sign KEY`");
    }
    let checked = source::checked(&toolset, reuse)?;
    let verdict = verdict(&checked.diagnostics, options.reporting.deny_warnings);
    if options.reporting.format == Format::Json {
        return json(&checked, verdict, &file, key.as_ref(), out);
    }
    print(
        &checked.diagnostics,
        &toolset,
        options.reporting.format,
        show(options.reporting.all),
        out,
    )?;
    if verdict != Exit::Done {
        let summary = summary(&checked.diagnostics, checked.folders);
        out.note(&format!("{summary}; nothing was written"));
        return Ok(verdict);
    }
    let state = write(&checked, &file, key.as_ref())?;
    if options.reporting.format == Format::Text {
        list(&checked, out);
        let version = &checked.version().unwrap_or_default();
        let done = Done { state, version, compiled: checked.compiled };
        done.report(&checked.diagnostics, checked.folders, &file, out);
    }
    Ok(Exit::Done)
}

fn write(checked: &Checked, file: &Path, key: Option<&SigningKey>) -> anyhow::Result<Written> {
    checked.write_to(file, key).with_context(|| format!("`{}` cannot be written", file.display()))
}

/// The diagnostics, and the registry that came of it: none where something kept it from being
/// written.
fn json(
    checked: &Checked,
    verdict: Exit,
    file: &Path,
    key: Option<&SigningKey>,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    let mut report = render::json(&checked.diagnostics);
    let registry = match verdict {
        Exit::Done => serde_json::json!({
            "state": match write(checked, file, key)? {
                Written::New => "written",
                Written::UpToDate => "up_to_date",
            },
            "file": file,
            "version": checked.version(),
            "digest": checked.digest(),
            "tools": checked.entries.len(),
            "compiled": checked.compiled,
        }),
        Exit::Findings | Exit::Misused | Exit::Failed => serde_json::Value::Null,
    };
    if let Some(report) = report.as_object_mut() {
        report.insert("registry".to_owned(), registry);
    }
    out.json(&report)?;
    Ok(verdict)
}

/// A build that has nothing to do and no table to show.
fn up_to_date(toolset: &Path, options: &Build, file: &Path) -> Option<Unchanged> {
    // What is remembered is enough for people; scripts are told the digest as well.
    if options.reporting.fresh || options.sign.is_some() || options.reporting.format == Format::Json
    {
        return None;
    }
    let known = unchanged(toolset)?;
    let nothing_to_do = !known.has_errors() && known.folders > FEW && known.is_written_at(file);
    nothing_to_do.then_some(known)
}

fn read_key(file: &Path) -> anyhow::Result<SigningKey> {
    let pem = fs::read_to_string(file)
        .with_context(|| format!("the key `{}` cannot be read", file.display()))?;
    SigningKey::from_pem(&pem).with_context(|| format!("`{}`", file.display()))
}

fn list(checked: &Checked, out: &mut Output) {
    if checked.entries.len() <= FEW
        && let Ok(registry) = checked.registry()
    {
        out.line(&overview(&registry));
    }
}

/// How a build ended.
struct Done<'a> {
    state: Written,
    version: &'a str,
    compiled: usize,
}

impl Done<'_> {
    fn report(
        &self,
        diagnostics: &[haft_build::diagnostic::Diagnostic],
        folders: usize,
        file: &Path,
        out: &mut Output,
    ) {
        let state = match self.state {
            Written::New => "wrote",
            Written::UpToDate => "up to date:",
        };
        out.line(&format!(
            "{state} {} (version {}; {}: {} compiled, {} unchanged)",
            file.display().to_string().trim_start_matches("./"),
            self.version,
            counted(folders, "tool"),
            self.compiled,
            folders - self.compiled
        ));
        if counts(diagnostics).1 > 0 {
            out.line(&summary(diagnostics, folders));
        }
    }
}
