//! `haft export`

use anyhow::Context as _;
use haft_build::build::write_whole;
use haft_build::export::{self, Loss, Lost};
use serde_json::Value;

use super::lint::counted;
use crate::cli::{Export, ExportFormat};
use crate::output::{Exit, Output};
use crate::source::Place;

pub(crate) fn run(at: &Place, options: &Export, out: &mut Output) -> anyhow::Result<Exit> {
    let registry = at.registry(options.registry.as_deref(), out)?;
    let (value, losses) = match options.format {
        ExportFormat::Adm => {
            let (tool, losses) = export::adm(&registry);
            let tool = tool.context("none of these tools can be said in this format")?;
            (serde_json::to_value(tool)?, losses)
        }
        ExportFormat::JsonSchema => (export::json_schema(&registry), Vec::new()),
    };
    write(&value, options, out)?;
    if let Some(file) = &options.report {
        let report = serde_json::to_string_pretty(&losses)?;
        write_whole(file, &report)
            .with_context(|| format!("`{}` cannot be written", file.display()))?;
    } else if !losses.is_empty() {
        out.note(&summary(&losses));
    }
    Ok(Exit::Done)
}

fn write(value: &Value, options: &Export, out: &mut Output) -> anyhow::Result<()> {
    let Some(file) = &options.out else { return out.json(value) };
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    write_whole(file, &text).with_context(|| format!("`{}` cannot be written", file.display()))
}

fn summary(losses: &[Loss]) -> String {
    let left_out = losses.iter().filter(|loss| loss.what == Lost::LeftOut).count();
    let left_out = match left_out {
        0 => String::new(),
        number => format!("; {} left out", counted(number, "tool")),
    };
    let things = counted(losses.len(), "thing");
    format!(
        "this format cannot say {things} that the contracts say{left_out} (`--report FILE` lists them)"
    )
}
