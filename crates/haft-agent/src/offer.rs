//! Which tools a request shows, and how.
//!
//! The whole catalog where it fits the budget. Where it does not: the tools that tell about tools,
//! then the pinned ones in their order, then those that were found, in the order in which they were.
//! So what has been shown stays where it was, and a provider's cache of it holds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use haft_core::{Digest, Registry, Tool};
use haft_runtime::guide::{DESCRIBE, SEARCH};
use haft_runtime::toolbox::{Catalog, EffectiveTool};
use haft_wire::{Dialect, Kept, Rendering, Renderings, Target};
use parking_lot::Mutex;
use serde_json::json;

use crate::prompt;
use crate::settings::Settings;

/// So many tools' sizes are kept: more than fit any request.
const MOST_SIZES: usize = 8 * 1024;

/// Tools and prompt of a request.
pub(crate) struct Offer {
    pub(crate) rendering: Arc<Rendering>,
    pub(crate) prompt: String,
    /// The tools whose documents stand in the prompt.
    pub(crate) documented: Vec<String>,
}

/// Renderings that were made before. Shared by all chats of an agent.
#[derive(Default)]
pub(crate) struct Shelf {
    kept: Renderings,
    /// Of tools by themselves. Apart, so that measuring a catalog drives no rendering out.
    sizes: Mutex<HashMap<Digest, usize>>,
}

impl Shelf {
    /// The size of one tool's JSON.
    fn measure(&self, tool: &Tool, target: Target) -> usize {
        let key = Digest::of_json(&json!([target.name(), tool.id, tool.digest]));
        if let Some(known) = self.sizes.lock().get(&key) {
            return *known;
        }
        let size = target.render([tool]).tools.to_string().len();
        let mut sizes = self.sizes.lock();
        if sizes.len() >= MOST_SIZES {
            sizes.clear();
        }
        sizes.insert(key, size);
        size
    }
}

/// How many tools a request may have beside so many of the client's own; none where there is no
/// limit.
pub(crate) fn room(target: Target, theirs: usize) -> Option<usize> {
    target.per_request().tools.map(|most| most.saturating_sub(theirs))
}

/// Decides what is shown beside so many tools of the client's own.
pub(crate) fn make(
    shelf: &Shelf,
    dialect: Dialect,
    registry: &Registry,
    catalog: &Catalog,
    found: &[String],
    theirs: usize,
    settings: &Settings,
) -> Offer {
    let own: Vec<&Arc<EffectiveTool>> = catalog
        .list()
        .filter(|tool| ![DESCRIBE, SEARCH].contains(&tool.tool.id.as_str()))
        .collect();
    let describe = catalog.get(DESCRIBE).filter(|_| settings.describe);
    let whole: Vec<&Tool> =
        describe.into_iter().chain(own.iter().copied()).map(|tool| &*tool.tool).collect();
    let target = Target::new(dialect, settings.strictness);
    let Kept { rendering, size } = shelf.kept.get(target, &whole);
    let offer = |tools: &[&Tool], hidden: usize, rendering: Arc<Rendering>| {
        let changed = |id: &str| rendering.is_changed(id);
        let prompt =
            prompt::compose(registry, settings.mode, tools, hidden, catalog, settings, &changed);
        let documented = prompt::documented(tools, catalog, settings);
        let documented = documented.into_iter().map(|tool| tool.id.clone()).collect();
        Offer { rendering, prompt, documented }
    };
    let most = room(target, theirs).unwrap_or(usize::MAX);
    if size <= settings.tools_budget && whole.len() <= most {
        return offer(&whole, 0, rendering);
    }
    let Some(search) = catalog.get(SEARCH) else {
        // Nobody can search, so as much is shown as fits, in the catalog's order.
        let mut some =
            fitting(shelf, target, settings.tools_budget, &pinned_first(catalog, &own, settings));
        some.truncate(most);
        return offer(&some, 0, shelf.kept.get(target, &some).rendering);
    };
    let guides = std::iter::once(search).chain(describe);
    let pinned: Vec<&Tool> = guides
        .chain(settings.pinned.iter().filter_map(|name| catalog.get(name)))
        .map(|tool| &*tool.tool)
        .collect();
    let mut pinned = unique(pinned);
    pinned.truncate(most);
    let found = found.iter().filter_map(|id| catalog.get(id)).map(|tool| &*tool.tool);
    let mut some = unique(pinned.iter().copied().chain(found).collect());
    some.truncate(most);
    let rendering = shelf.kept.get(target, &some).rendering;
    // What was found stands in the answers of the search; the prompt stays as it was.
    let named =
        pinned.iter().filter(|tool| ![DESCRIBE, SEARCH].contains(&tool.id.as_str())).count();
    offer(&pinned, own.len().saturating_sub(named), rendering)
}

fn pinned_first<'a>(
    catalog: &'a Catalog,
    own: &[&'a Arc<EffectiveTool>],
    settings: &Settings,
) -> Vec<&'a Tool> {
    let pinned = settings.pinned.iter().filter_map(|name| catalog.get(name));
    unique(pinned.chain(own.iter().copied()).map(|tool| &*tool.tool).collect())
}

/// The first tools that fit the budget together.
fn fitting<'a>(shelf: &Shelf, target: Target, budget: usize, tools: &[&'a Tool]) -> Vec<&'a Tool> {
    let mut left = budget;
    let fits = |tool: &&&Tool| {
        let size = shelf.measure(tool, target);
        let enough = size <= left;
        left = left.saturating_sub(size);
        enough
    };
    tools.iter().take_while(fits).copied().collect()
}

fn unique(tools: Vec<&Tool>) -> Vec<&Tool> {
    let mut seen = HashSet::new();
    tools.into_iter().filter(|tool| seen.insert(tool.id.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use haft_core::registry::{Entry, Implementation};
    use haft_core::{Contract, parameters};

    use super::*;

    fn tool(n: usize) -> Tool {
        let contract: Contract = serde_json::from_value(json!({
            "toolId": format!("part_{n:03}"), "version": "1.0.0", "description": "A part.",
            "category": "utility", "sideEffects": "read_only", "effect": "read_only",
            "sideEffectPolicy": "pure", "idempotent": true, "requiresConfirmation": false,
            "allowedModes": ["text"], "latencyBudgetMs": 800,
            "parameters": { "type": "object", "additionalProperties": false, "properties": {} },
            "redaction": { "allow": [], "allowArgs": [] },
            "arguments": { "mode": "lenient", "fraction": "refuse" },
        }))
        .unwrap();
        let mut tool = Tool {
            id: format!("shop__part_{n:03}"),
            digest: Digest::of_bytes(b""),
            parameters: parameters::view(&contract.parameters),
            contract,
            summary: String::new(),
            doc: String::new(),
            handler: Implementation::Native,
        };
        tool.digest = Entry::seal(&tool).digest;
        tool
    }

    #[test]
    fn measuring_many_tools_leaves_the_renderings_where_they_are() {
        let tools: Vec<Tool> = (0..100).map(tool).collect();
        let all: Vec<&Tool> = tools.iter().collect();
        let (shelf, budget) = (Shelf::default(), Settings::default().tools_budget);
        let target = Target::new(Dialect::OpenAiChat, haft_wire::Strictness::Plain);
        let first = shelf.kept.get(target, &all);
        assert!(first.size < budget);
        for _ in 0..2 {
            let some = fitting(&shelf, target, budget, &all);
            assert_eq!(some.len(), all.len());
        }
        let again = shelf.kept.get(target, &all);
        assert!(Arc::ptr_eq(&first.rendering, &again.rendering), "it was rendered anew");
    }
}
