//! What changed between two registries, whom it breaks, and which version bump each tool owes.
//!
//! Callers are models, people with stored calls, policies and forms. A change *breaks* them when a
//! call that was accepted may now be refused or mean something else, when a reader of results may
//! meet what it could not meet before, or when trust that was given no longer fits. What cannot be
//! proved harmless is said to break.

mod bump;
mod change;
mod contract;
mod number;
mod schema;
mod text;
mod tool;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use haft_core::contract::Effect;
use haft_core::registry::{Registry, Tool};
use serde::Serialize;

pub use bump::{Bump, Made};
pub use change::{Change, Impact};
pub use tool::ToolDiff;

/// Everything that differs between two registries.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff {
    /// The version of the old registry.
    pub old: String,
    /// The version of the new registry.
    pub new: String,
    /// What changed outside of the tools: the namespace, the prompts.
    pub changes: Vec<Change>,
    /// Tools that only the new registry has, by id.
    pub added: Vec<Listed>,
    /// Tools that only the old registry has, by id.
    pub removed: Vec<Listed>,
    /// Tools that both have and that differ, by id.
    pub changed: Vec<ToolDiff>,
}

/// A tool that only one of the registries has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// `<namespace>__<toolId>`.
    pub id: String,
    /// Its version.
    pub version: String,
    /// How far its effect reaches.
    pub effect: Effect,
}

impl From<&Tool> for Listed {
    fn from(tool: &Tool) -> Self {
        Self {
            id: tool.id.clone(),
            version: tool.contract.version.to_string(),
            effect: tool.contract.effect,
        }
    }
}

/// Compares two registries.
///
/// ```
/// use haft_build::diff::compare;
/// use haft_core::registry::{Build, Registry};
/// use haft_core::{Digest, names::Namespace};
///
/// let old = Registry {
///     version: "1.0.00000000".into(),
///     digest: Digest::of_bytes(b""),
///     namespace: Namespace::parse("core").unwrap(),
///     prompts: [("core".into(), "Be brief.".into())].into(),
///     tools: Vec::new(),
///     build: Build { at: "2026-01-01T00:00:00Z".into(), by: "haft".into(), commit: None },
/// };
/// let mut new = old.clone();
/// assert!(compare(&old, &new).is_empty());
///
/// new.namespace = Namespace::parse("desk").unwrap();
/// assert!(compare(&old, &new).is_breaking());
/// ```
#[must_use]
pub fn compare(old: &Registry, new: &Registry) -> Diff {
    let key = if old.namespace == new.namespace { Key::Canonical } else { Key::Own };
    let (before, after) = (key.index(old), key.index(new));
    let only_in = |here: &Index<'_>, there: &Index<'_>| {
        let alone = here.iter().filter(|(key, _)| !there.contains_key(*key));
        alone.map(|(_, tool)| Listed::from(*tool)).collect()
    };
    let both = after.iter().filter_map(|(key, new)| Some((before.get(key)?, new)));
    Diff {
        old: old.version.clone(),
        new: new.version.clone(),
        changes: around_the_tools(old, new),
        added: only_in(&after, &before),
        removed: only_in(&before, &after),
        changed: both.filter_map(|(old, new)| tool::compare(old, new)).collect(),
    }
}

type Index<'a> = BTreeMap<&'a str, &'a Tool>;

/// What the tools of two registries find each other by.
#[derive(Clone, Copy)]
enum Key {
    /// The canonical id.
    Canonical,
    /// The tool's own id. After a change of namespace no canonical id is left in common, and a
    /// list of everything as removed and added would hide what else changed.
    Own,
}

impl Key {
    fn index(self, registry: &Registry) -> Index<'_> {
        let keyed = registry.tools.iter().map(|tool| match self {
            Self::Canonical => (tool.id.as_str(), tool),
            Self::Own => (tool.contract.tool_id.as_str(), tool),
        });
        keyed.collect()
    }
}

fn around_the_tools(old: &Registry, new: &Registry) -> Vec<Change> {
    let mut changes = Vec::new();
    if old.namespace != new.namespace {
        let what = format!(
            "namespace changed from `{}` to `{}`: stored calls and policies name the old ids",
            old.namespace, new.namespace
        );
        let change = Change::new(Impact::Breaking, "/namespace", what);
        changes.push(change.values(old.namespace.as_str(), new.namespace.as_str()));
    }
    let names: BTreeSet<_> = old.prompts.keys().chain(new.prompts.keys()).collect();
    for name in names {
        let text = |registry: &Registry| registry.prompts.get(name).cloned();
        let (before, after) = (text(old), text(new));
        let how = match (&before, &after) {
            (None, Some(_)) => "added",
            (Some(_), None) => "removed",
            (before, after) if before != after => "changed",
            _ => continue,
        };
        let pointer = format!("/prompts/{}", schema::step(name));
        let change = Change::new(Impact::Wording, pointer, format!("prompt `{name}` {how}"));
        changes.push(change.optional_values(before, after));
    }
    changes
}

impl Diff {
    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
    }

    /// Whether some caller may break.
    #[must_use]
    pub fn is_breaking(&self) -> bool {
        !self.removed.is_empty() || self.all_changes().any(Change::is_breaking)
    }

    /// Whether a tool's version rose by less than its changes ask for, or fell.
    #[must_use]
    pub fn has_unpaid_bumps(&self) -> bool {
        self.changed.iter().any(|tool| !tool.paid)
    }

    /// The report for people: by tool, breaking changes first, one line of summary at the end.
    #[must_use]
    pub fn render_text(&self) -> String {
        text::render(self)
    }

    fn all_changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().chain(self.changed.iter().flat_map(|tool| &tool.changes))
    }
}
