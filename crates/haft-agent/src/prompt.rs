//! The system prompt of one agent: the toolset's own texts, its tools' summaries, remarks.

use haft_build::prompt::compose_for;
use haft_core::contract::Mode;
use haft_core::{Registry, Tool};
use haft_runtime::toolbox::Catalog;

use crate::settings::Settings;

/// So many tools that could be enabled are named.
const MOST_NAMED: usize = 20;

/// Composes it. `hidden` is how many tools there are beside those that are shown.
pub(crate) fn compose(
    registry: &Registry,
    mode: Mode,
    tools: &[&Tool],
    hidden: usize,
    catalog: &Catalog,
    settings: &Settings,
) -> String {
    let mut remarks = Vec::new();
    if hidden > 0 {
        remarks.push(format!(
            "There are {hidden} more tools than are listed here. When none of these does what is \
             needed, describe the task to haft__reg_search; the tools that it finds can be called \
             from then on."
        ));
    }
    for name in &settings.documented {
        if let Some(tool) = catalog.get(name) {
            remarks.push(format!("## How to use {}\n\n{}", tool.tool.id, tool.tool.doc.trim()));
        }
    }
    if settings.mention_unavailable {
        remarks.extend(unavailable(catalog));
    }
    let composed = compose_for(registry, mode, tools, &remarks);
    match &settings.instructions {
        Some(first) if !first.trim().is_empty() => format!("{}\n\n{composed}", first.trim()),
        Some(_) | None => composed,
    }
}

/// What the agent may say about tools that it does not have.
fn unavailable(catalog: &Catalog) -> Option<String> {
    let all = catalog.unavailable();
    let lines: Vec<String> = all
        .iter()
        .take(MOST_NAMED)
        .map(|one| format!("- {}: {}", one.tool.id, one.enable))
        .collect();
    (!lines.is_empty()).then(|| {
        format!(
            "These tools are not yours now. Do not call them; where one would help, tell the user \
             what would enable it:\n{}",
            lines.join("\n")
        )
    })
}
