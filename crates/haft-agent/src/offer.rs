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
use haft_wire::{Dialect, Rendering, render};
use parking_lot::Mutex;
use serde_json::json;

use crate::prompt;
use crate::settings::Settings;

/// So many renderings are kept.
const MOST: usize = 64;

/// So many tools' sizes are kept: more than fit any request.
const MOST_SIZES: usize = 8 * 1024;

/// Tools and prompt of a request.
pub(crate) struct Offer {
    pub(crate) rendering: Arc<Rendering>,
    pub(crate) prompt: String,
}

/// Renderings that were made before, by what they are made from. Shared by all chats of an agent.
#[derive(Default)]
pub(crate) struct Renderings {
    kept: Mutex<HashMap<Digest, (Arc<Rendering>, usize)>>,
    /// Of tools by themselves. Apart, so that measuring a catalog drives no rendering out.
    sizes: Mutex<HashMap<Digest, usize>>,
}

impl Renderings {
    /// The rendering, and the size of its JSON.
    fn get(
        &self,
        tools: &[&Tool],
        dialect: Dialect,
        settings: &Settings,
    ) -> (Arc<Rendering>, usize) {
        let key = key(tools, dialect, settings);
        if let Some(kept) = self.kept.lock().get(&key) {
            return kept.clone();
        }
        let rendering = render(dialect, settings.strictness, tools.iter().copied());
        let size = size(&rendering);
        let made = (Arc::new(rendering), size);
        let mut kept = self.kept.lock();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, made.clone());
        made
    }

    /// The size of one tool's JSON.
    fn measure(&self, tool: &Tool, dialect: Dialect, settings: &Settings) -> usize {
        let key = key(&[tool], dialect, settings);
        if let Some(known) = self.sizes.lock().get(&key) {
            return *known;
        }
        let size = size(&render(dialect, settings.strictness, [tool]));
        let mut sizes = self.sizes.lock();
        if sizes.len() >= MOST_SIZES {
            sizes.clear();
        }
        sizes.insert(key, size);
        size
    }
}

fn key(tools: &[&Tool], dialect: Dialect, settings: &Settings) -> Digest {
    let parts: Vec<_> = tools.iter().map(|tool| json!([tool.id, tool.digest])).collect();
    let strict = settings.strictness == haft_wire::Strictness::Strict;
    Digest::of_json(&json!([dialect.as_str(), strict, parts]))
}

fn size(rendering: &Rendering) -> usize {
    rendering.tools.to_string().len()
}

/// Decides what is shown.
pub(crate) fn make(
    renderings: &Renderings,
    dialect: Dialect,
    registry: &Registry,
    catalog: &Catalog,
    found: &[String],
    settings: &Settings,
) -> Offer {
    let own: Vec<&Arc<EffectiveTool>> = catalog
        .list()
        .filter(|tool| ![DESCRIBE, SEARCH].contains(&tool.tool.id.as_str()))
        .collect();
    let describe = catalog.get(DESCRIBE).filter(|_| settings.describe);
    let whole: Vec<&Tool> =
        describe.into_iter().chain(own.iter().copied()).map(|tool| &*tool.tool).collect();
    let (rendering, size) = renderings.get(&whole, dialect, settings);
    let compose = |tools: &[&Tool], hidden: usize| {
        prompt::compose(registry, settings.mode, tools, hidden, catalog, settings)
    };
    if size <= settings.tools_budget {
        let prompt = compose(&whole, 0);
        return Offer { rendering, prompt };
    }
    let Some(search) = catalog.get(SEARCH) else {
        // Nobody can search, so as much is shown as fits, in the catalog's order.
        let some = fitting(renderings, dialect, settings, &pinned_first(catalog, &own, settings));
        let (rendering, _) = renderings.get(&some, dialect, settings);
        let prompt = compose(&some, 0);
        return Offer { rendering, prompt };
    };
    let guides = std::iter::once(search).chain(describe);
    let pinned: Vec<&Tool> = guides
        .chain(settings.pinned.iter().filter_map(|name| catalog.get(name)))
        .map(|tool| &*tool.tool)
        .collect();
    let pinned = unique(pinned);
    let found = found.iter().filter_map(|id| catalog.get(id)).map(|tool| &*tool.tool);
    let some = unique(pinned.iter().copied().chain(found).collect());
    let (rendering, _) = renderings.get(&some, dialect, settings);
    // What was found stands in the answers of the search; the prompt stays as it was.
    let named =
        pinned.iter().filter(|tool| ![DESCRIBE, SEARCH].contains(&tool.id.as_str())).count();
    let prompt = compose(&pinned, own.len().saturating_sub(named));
    Offer { rendering, prompt }
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
fn fitting<'a>(
    renderings: &Renderings,
    dialect: Dialect,
    settings: &Settings,
    tools: &[&'a Tool],
) -> Vec<&'a Tool> {
    let mut left = settings.tools_budget;
    let fits = |tool: &&&Tool| {
        let size = renderings.measure(tool, dialect, settings);
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
        let tools: Vec<Tool> = (0..3 * MOST).map(tool).collect();
        let all: Vec<&Tool> = tools.iter().collect();
        let (renderings, settings) = (Renderings::default(), Settings::default());
        let (first, size) = renderings.get(&all, Dialect::OpenAiChat, &settings);
        assert!(size < settings.tools_budget);
        for _ in 0..2 {
            let some = fitting(&renderings, Dialect::OpenAiChat, &settings, &all);
            assert_eq!(some.len(), all.len());
        }
        let (again, _) = renderings.get(&all, Dialect::OpenAiChat, &settings);
        assert!(Arc::ptr_eq(&first, &again), "it was rendered anew");
    }
}
