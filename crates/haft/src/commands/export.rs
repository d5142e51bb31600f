//! `haft export`

use anyhow::{Context as _, bail};
use haft_build::build::write_whole;
use haft_build::export;
use haft_core::Registry;
use haft_core::contract::Mode;
use haft_wire::tools::target::has_strict;
use haft_wire::{Dialect, Loss, Quarantined, Strictness, Target};
use serde_json::{Value, json};

use super::lint::counted;
use crate::cli::{Export, ExportFormat, ModeName};
use crate::output::{Exit, Output, misuse};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Export, out: &mut Output) -> anyhow::Result<Exit> {
    let target = target(options)?;
    let registry = at.registry(options.registry.as_deref(), out)?;
    let Some(target) = target else {
        write(&export::json_schema(&registry), options, out)?;
        return report(&[], &[], options, out);
    };
    let rendering = target.render(shown(&registry, options));
    if rendering.tools.is_null() {
        bail!("none of these tools can be said in this format");
    }
    write(&rendering.tools, options, out)?;
    for excess in rendering.excess() {
        out.note(&format!("too much for one request: {excess}"));
    }
    report(&rendering.report, &rendering.quarantined, options, out)
}

/// Nothing for plain definitions.
fn target(options: &Export) -> anyhow::Result<Option<Target>> {
    let dialect = match options.format {
        ExportFormat::Openai => Dialect::OpenAiChat,
        ExportFormat::OpenaiResponses => Dialect::OpenAiResponses,
        ExportFormat::OpenaiRealtime => Dialect::OpenAiRealtime,
        ExportFormat::Anthropic => Dialect::Anthropic,
        ExportFormat::Gemini => Dialect::Gemini,
        ExportFormat::GeminiLive => Dialect::GeminiLive,
        ExportFormat::Mcp => Dialect::Mcp,
        ExportFormat::Adm => Dialect::Adm,
        ExportFormat::JsonSchema if options.strict || options.json_schema => {
            return Err(misuse("`--strict` and `--json-schema` are for the formats of providers"));
        }
        ExportFormat::JsonSchema => return Ok(None),
    };
    if options.strict && !has_strict(dialect) {
        return Err(misuse(format!("`{dialect}` has no strict mode; leave `--strict` out")));
    }
    if options.json_schema && dialect != Dialect::Gemini {
        return Err(misuse(
            "only `gemini` has a second way to write schemas; leave `--json-schema` out",
        ));
    }
    let strictness = if options.strict { Strictness::Strict } else { Strictness::Plain };
    let target = Target::new(dialect, strictness);
    Ok(Some(if options.json_schema { target.with_json_schema() } else { target }))
}

fn shown<'r>(
    registry: &'r Registry,
    options: &Export,
) -> impl Iterator<Item = &'r haft_core::Tool> {
    let mode = options.mode.map(|mode| match mode {
        ModeName::Text => Mode::Text,
        ModeName::Voice => Mode::Voice,
    });
    registry
        .tools
        .iter()
        .filter(move |tool| mode.is_none_or(|mode| tool.contract.allowed_modes.contains(&mode)))
}

fn report(
    losses: &[Loss],
    quarantined: &[Quarantined],
    options: &Export,
    out: &mut Output,
) -> anyhow::Result<Exit> {
    if let Some(file) = &options.report {
        let report = json!({"losses": losses, "quarantined": quarantined});
        let mut text = serde_json::to_string_pretty(&report)?;
        text.push('\n');
        write_whole(file, &text)
            .with_context(|| format!("`{}` cannot be written", file.display()))?;
    } else if !losses.is_empty() || !quarantined.is_empty() {
        out.note(&summary(losses, quarantined));
    }
    Ok(Exit::Done)
}

fn write(value: &Value, options: &Export, out: &mut Output) -> anyhow::Result<()> {
    let Some(file) = &options.out else { return out.json(value) };
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    write_whole(file, &text).with_context(|| format!("`{}` cannot be written", file.display()))
}

fn summary(losses: &[Loss], quarantined: &[Quarantined]) -> String {
    let lost = losses.iter().filter(|loss| loss.fate.is_loss()).count();
    let changed = losses.len() - lost;
    let mut parts = Vec::new();
    if lost > 0 {
        parts.push(format!(
            "this format cannot say {} as the contracts say them",
            counted(lost, "thing")
        ));
    }
    if changed > 0 {
        parts.push(format!("{} said in another form that is undone", counted(changed, "thing")));
    }
    if !quarantined.is_empty() {
        let names: Vec<&str> = quarantined.iter().map(|left| left.tool.as_str()).collect();
        parts.push(format!("{} left out: {}", counted(names.len(), "tool"), names.join(", ")));
    }
    format!("{} (`--report FILE` lists them)", parts.join("; "))
}
