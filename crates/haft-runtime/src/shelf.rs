//! The registries that are loaded, and what each tool compiles to.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use haft_core::record::Written;
use haft_core::validator::{self, Validator};
use haft_core::{Registry, Tool};
use serde_json::Value;

use crate::arguments::Reader;
use crate::guide::{self, Index, Place};
use crate::policy::Problem;
use crate::redact::{self, Marker, Scrubber, View};
use crate::toolbox::{self, Stock};

/// One registry; of a tenant that brings tools along the same with those beside it.
pub(crate) struct Shelf {
    /// The registry's; with a `+` and what stands for the tenant's tools behind it.
    pub(crate) version: Arc<str>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) stock: Stock,
    own: Option<Own>,
    /// Compiled when first used: a registry of ten thousand tools loads at once.
    loaded: foldhash::HashMap<String, OnceLock<Result<Arc<Loaded>, String>>>,
    /// For searching the stock; made when first used.
    index: OnceLock<Index>,
    marker: Arc<Marker>,
}

/// What a tenant brings along.
struct Own {
    tools: Registry,
    /// What everybody has: compiled and indexed once for all.
    common: Arc<Shelf>,
}

/// A tool, ready to be called.
pub(crate) struct Loaded {
    pub(crate) id: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) reader: Reader,
    pub(crate) output: Option<Validator>,
    pub(crate) view: View,
    arguments: View,
    /// Names that the contract declares.
    own: BTreeSet<String>,
    marker: Arc<Marker>,
}

impl Shelf {
    /// A registry, and the tools that tell about its tools where they are wanted.
    pub(crate) fn new(
        registry: Registry,
        guide: Option<&Registry>,
        marker: Arc<Marker>,
    ) -> Result<Self, Vec<Problem>> {
        let all: Vec<&Registry> = std::iter::once(&registry).chain(guide).collect();
        let tools = all.iter().flat_map(|registry| &registry.tools);
        let loaded = tools.map(|tool| (tool.id.clone(), OnceLock::new())).collect();
        let shelves: Vec<_> = all.into_iter().map(toolbox::Shelf::own).collect();
        let stock = Stock::new(&shelves)?;
        Ok(Self {
            version: registry.version.as_str().into(),
            registry: Arc::new(registry),
            stock,
            own: None,
            loaded,
            index: OnceLock::new(),
            marker,
        })
    }

    /// What everybody has, with what one tenant brings along.
    pub(crate) fn beside(common: &Arc<Self>, tools: Registry, tenant: &str) -> Self {
        Self {
            version: version_beside(&common.version, &tools),
            registry: common.registry.clone(),
            stock: common.stock.beside(&tools, tenant),
            loaded: tools.tools.iter().map(|tool| (tool.id.clone(), OnceLock::new())).collect(),
            index: OnceLock::new(),
            marker: common.marker.clone(),
            own: Some(Own { tools, common: common.clone() }),
        }
    }

    /// What a tenant brings along, where this is one's.
    pub(crate) fn own(&self) -> Option<&Registry> {
        self.own.as_ref().map(|own| &own.tools)
    }

    /// Whether it was put together on this very shelf.
    pub(crate) fn stands_on(&self, common: &Arc<Self>) -> bool {
        self.own.as_ref().is_some_and(|own| Arc::ptr_eq(&own.common, common))
    }

    /// A tool by its id, or by a short name where that is unambiguous.
    pub(crate) fn find(&self, name: &str) -> Option<&Tool> {
        let own = self.own().and_then(|own| own.find(name));
        own.or_else(|| self.registry.find(name))
    }

    /// The best tools for some words that may be shown.
    pub(crate) fn search(
        &self,
        words: &str,
        most: usize,
        shown: impl Fn(&Tool) -> bool,
    ) -> Vec<&Arc<Tool>> {
        let common = self.own.as_ref().map_or(self, |own| &*own.common);
        let nothing = Index::default();
        let more = if self.own.is_some() { self.index() } else { &nothing };
        let at = |place: Place| match place {
            Place::Here(at) => common.stock.tools().get(at).map(|one| &one.tool),
            // By its id: the tool stands among all others there.
            Place::More(at) => {
                let tool = self.own()?.tools.get(at)?;
                self.stock.get(&tool.id).map(|one| &one.tool)
            }
        };
        let is_shown = |place: Place| at(place).is_some_and(|tool| shown(tool));
        let found = common.index().search_both(more, words, most, is_shown);
        found.into_iter().filter_map(at).collect()
    }

    /// The tools that are nowhere else by the words that they are found by: all of them, or those
    /// that a tenant brings along.
    fn index(&self) -> &Index {
        self.index.get_or_init(|| match &self.own {
            None => {
                let tools = self.stock.tools().iter();
                let documents: Vec<_> = tools.map(|one| guide::document(&one.tool)).collect();
                Index::new(&documents)
            }
            Some(own) => {
                let documents: Vec<_> = own.tools.tools.iter().map(guide::document).collect();
                own.common.index().more(&documents)
            }
        })
    }

    /// What a tool compiles to.
    pub(crate) fn loaded(&self, tool: &Tool) -> Result<Arc<Loaded>, String> {
        match (self.loaded.get(&tool.id), &self.own) {
            (Some(place), _) => place.get_or_init(|| Loaded::compile(tool, &self.marker)).clone(),
            (None, Some(own)) => own.common.loaded(tool),
            (None, None) => Err(format!("`{}` is not in registry {}", tool.id, self.version)),
        }
    }
}

/// The version of a registry with a tenant's tools beside it.
pub(crate) fn version_beside(common: &str, tools: &Registry) -> Arc<str> {
    format!("{common}{BESIDE}{}", tools.version).into()
}

/// The version of the registry that a shelf's version speaks of.
pub(crate) fn version_of_registry(version: &str) -> &str {
    version.split_once(BESIDE).map_or(version, |(registry, _)| registry)
}

/// As semantic versions have it: what comes after says more, and no other order.
const BESIDE: char = '+';

impl Loaded {
    fn compile(tool: &Tool, marker: &Arc<Marker>) -> Result<Arc<Self>, String> {
        let redaction = &tool.contract.redaction;
        Ok(Arc::new(Self {
            id: tool.id.as_str().into(),
            version: tool.contract.version.to_string().into(),
            reader: Reader::compile(tool)?,
            output: tool.contract.output.as_ref().map(validator::compile).transpose()?,
            view: View::compile(&redaction.allow),
            arguments: View::compile(&redaction.allow_args),
            own: redact::declared(&tool.contract.parameters),
            marker: marker.clone(),
        }))
    }

    /// What UI, events and telemetry see of an error's words, where that is not all of them.
    pub(crate) fn seen_words(&self, text: &str, arguments: &Value) -> Option<String> {
        self.arguments.words(text, arguments, &self.own)
    }

    /// As [`seen_words`](Self::seen_words), where these are hidden as well.
    pub(crate) fn seen_words_without(
        &self,
        text: &str,
        arguments: &Value,
        more: &[&str],
    ) -> Option<String> {
        self.arguments.words_without(text, arguments, &self.own, more)
    }

    /// Whatever of some arguments UI, events and telemetry do not see, as words.
    pub(crate) fn hidden_words(&self, arguments: &Value) -> Vec<String> {
        self.arguments.hidden_words(arguments, &self.own)
    }

    /// The arguments as UI, events and telemetry see them. Nothing where they cannot be made safe.
    pub(crate) fn seen_arguments(&self, arguments: &Value, secrets: &Scrubber) -> Option<Written> {
        let seen = self.arguments.seen_arguments(arguments, &self.marker);
        if secrets.is_empty() {
            return Written::of(&seen).ok();
        }
        let mut seen = serde_json::to_value(seen).ok()?;
        secrets.value(&mut seen).ok()?;
        Some(seen.into())
    }
}
