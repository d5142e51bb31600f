//! The system prompt of one agent: the toolset's own texts, its tools' summaries, remarks.

use haft_build::prompt::compose_for;
use haft_core::contract::{Documentation, Mode};
use haft_core::{Registry, Tool};
use haft_runtime::toolbox::Catalog;

use crate::settings::Settings;

/// So many tools that could be enabled are named.
const MOST_NAMED: usize = 20;

/// The most of a document that a model is given.
const MOST_DOCUMENT: usize = 16 * 1024;

/// What follows a document whose examples are in the contract's form, not the dialect's.
pub(crate) const OTHER_FORM: &str = "\n\n(The tool's parameters were given to you in another form \
    than this document has them in; send them in the form that you were given.)";

/// The tools whose documents stand in the prompt: those that the agent's settings name, and those of
/// the tools that are always shown whose contracts ask for it.
pub(crate) fn documented<'a>(
    tools: &[&'a Tool],
    catalog: &'a Catalog,
    settings: &Settings,
) -> Vec<&'a Tool> {
    let named = settings.documented.iter().filter_map(|name| catalog.get(name));
    let mut all: Vec<&Tool> = named.map(|tool| &*tool.tool).collect();
    for tool in tools.iter().copied().filter(|tool| asks_for_it(tool)) {
        if !all.iter().any(|known| known.id == tool.id) {
            all.push(tool);
        }
    }
    all
}

/// Whether a contract wants its document read before the tool is used.
pub(crate) fn asks_for_it(tool: &Tool) -> bool {
    match tool.contract.documentation {
        Documentation::BeforeUse => !tool.doc.trim().is_empty(),
        Documentation::OnDemand => false,
    }
}

/// A tool's document, for a model that may have been shown the tool in another form.
pub(crate) fn document(tool: &Tool, changed: bool) -> String {
    let doc = tool.doc.trim();
    let end = (0..=MOST_DOCUMENT.min(doc.len())).rev().find(|at| doc.is_char_boundary(*at));
    let mut text = doc.get(..end.unwrap_or(0)).unwrap_or_default().to_owned();
    if text.len() < doc.len() {
        text.push('…');
    }
    if changed {
        text.push_str(OTHER_FORM);
    }
    text
}

/// Composes it. `hidden` is how many tools there are beside those that are shown; `changed` says
/// whether a tool's arguments are shown in another form than the contract's.
pub(crate) fn compose(
    registry: &Registry,
    mode: Mode,
    tools: &[&Tool],
    hidden: usize,
    catalog: &Catalog,
    settings: &Settings,
    changed: &dyn Fn(&str) -> bool,
) -> String {
    let mut remarks = Vec::new();
    if hidden > 0 {
        remarks.push(format!(
            "There are {hidden} more tools than are listed here. When none of these does what is \
             needed, describe the task to haft__reg_search; the tools that it finds can be called \
             from then on."
        ));
    }
    for tool in documented(tools, catalog, settings) {
        remarks.push(format!("## How to use {}\n\n{}", tool.id, document(tool, changed(&tool.id))));
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
