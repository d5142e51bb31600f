//! The registries that are loaded, and what each tool compiles to.

use std::sync::{Arc, OnceLock};

use haft_core::record::Written;
use haft_core::validator::{self, Validator};
use haft_core::{Registry, Tool};
use serde_json::Value;

use crate::arguments::Reader;
use crate::guide::{self, Index};
use crate::policy::Problem;
use crate::redact::{Marker, Scrubber, View};
use crate::toolbox::{self, Stock};

/// One registry.
pub(crate) struct Shelf {
    pub(crate) version: Arc<str>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) stock: Stock,
    /// Compiled when first used: a registry of ten thousand tools loads at once.
    loaded: foldhash::HashMap<String, OnceLock<Result<Arc<Loaded>, String>>>,
    /// For searching the stock; made when first used.
    index: OnceLock<Index>,
    marker: Arc<Marker>,
}

/// A tool, ready to be called.
pub(crate) struct Loaded {
    pub(crate) id: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) reader: Reader,
    pub(crate) output: Option<Validator>,
    pub(crate) view: View,
    arguments: View,
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
            loaded,
            index: OnceLock::new(),
            marker,
        })
    }

    /// All tools of the stock by the words that they are found by, in the stock's order.
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let documents: Vec<_> =
                self.stock.tools().iter().map(|one| guide::document(&one.tool)).collect();
            Index::new(&documents)
        })
    }

    /// What a tool compiles to.
    pub(crate) fn loaded(&self, tool: &Tool) -> Result<Arc<Loaded>, String> {
        match self.loaded.get(&tool.id) {
            Some(place) => place.get_or_init(|| Loaded::compile(tool, &self.marker)).clone(),
            None => Err(format!("`{}` is not in registry {}", tool.id, self.version)),
        }
    }
}

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
            marker: marker.clone(),
        }))
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
