//! The allowlist view: what is listed stays, everything else goes.

use std::collections::{BTreeMap, BTreeSet};

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::mark::Marker;
use super::quoted::{self, Hidden};
use crate::arguments::dotted::{self, Step};

/// The paths that may be seen, as a tree.
///
/// ```
/// use haft_runtime::redact::View;
/// use serde_json::json;
///
/// let view = View::compile(&["results[].id".into(), "total".into()]);
/// let seen = view.of(&json!({"results": [{"id": 7, "text": "private"}], "token": "private"}));
/// assert_eq!(seen, json!({"results": [{"id": 7}]}));
/// ```
#[derive(Clone, Debug, Default)]
pub struct View {
    root: Tree,
}

#[derive(Clone, Debug, Default)]
struct Tree {
    /// Everything here may be seen.
    whole: bool,
    members: BTreeMap<String, Tree>,
    elements: Option<Box<Tree>>,
}

impl View {
    /// Paths as contracts write them: `filters.type`, `results[].id`. A path that ends at an object
    /// or a list shows all of it.
    #[must_use]
    pub fn compile(allow: &[String]) -> Self {
        let mut root = Tree::default();
        for path in allow {
            let mut here = &mut root;
            for step in dotted::parse(path) {
                here = match step {
                    Step::Name(name) => here.members.entry(name).or_default(),
                    Step::Each => here.elements.get_or_insert_default(),
                };
            }
            here.whole = true;
        }
        Self { root }
    }

    /// Only what is listed.
    #[must_use]
    pub fn of(&self, value: &Value) -> Value {
        read(self.seen(value))
    }

    /// The arguments of a call: what is listed as it is, of everything else the shape and a mark.
    ///
    /// Names of members are shown: they are the contract's, once the arguments have been validated.
    #[must_use]
    pub fn arguments_view(&self, arguments: &Value, marker: &Marker) -> Value {
        read(self.seen_arguments(arguments, marker))
    }

    /// What may be seen of an error's words: whatever of these arguments is not listed goes, names too that
    /// are not among the contract's own. Nothing where all of it may be.
    #[must_use]
    pub fn words(&self, text: &str, arguments: &Value, own: &BTreeSet<String>) -> Option<String> {
        self.words_without(text, arguments, own, &[])
    }

    /// As [`words`](Self::words), where these may not be seen either.
    pub(crate) fn words_without(
        &self,
        text: &str,
        arguments: &Value,
        own: &BTreeSet<String>,
        more: &[&str],
    ) -> Option<String> {
        let mut hidden = Hidden::default();
        self.root.hidden(arguments, own, &mut hidden);
        hidden.names.extend(more);
        quoted::without(text, &hidden)
    }

    /// Whatever of these arguments may not be seen, as words.
    pub(crate) fn hidden_words(&self, arguments: &Value, own: &BTreeSet<String>) -> Vec<String> {
        let mut hidden = Hidden::default();
        self.root.hidden(arguments, own, &mut hidden);
        let word = |value: &&Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        let names = hidden.names.iter().map(ToString::to_string);
        hidden.values.iter().filter_map(word).chain(names).collect()
    }

    /// As [`of`](Self::of), to be written straight away: every call has such a view, and a tree of
    /// values in between would cost more than all of the text.
    pub(crate) fn seen<'a>(&'a self, value: &'a Value) -> impl Serialize + 'a {
        Seen { tree: &self.root, value }
    }

    /// As [`arguments_view`](Self::arguments_view), to be written straight away.
    pub(crate) fn seen_arguments<'a>(
        &'a self,
        arguments: &'a Value,
        marker: &'a Marker,
    ) -> impl Serialize + 'a {
        Argument { tree: Some(&self.root), value: arguments, path: Path::Root, marker }
    }
}

/// Every name of a member that a schema declares, wherever: those are the contract's, and everybody knows them.
pub(crate) fn declared(schema: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut left = vec![schema];
    while let Some(schema) = left.pop() {
        match schema {
            Value::Object(map) => {
                let properties = map.get("properties").and_then(Value::as_object);
                names.extend(properties.into_iter().flat_map(|all| all.keys().cloned()));
                left.extend(map.values());
            }
            Value::Array(list) => left.extend(list),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    names
}

/// A view holds what JSON holds; were it not to, nothing is shown.
fn read(seen: impl Serialize) -> Value {
    serde_json::to_value(seen).unwrap_or_default()
}

impl Tree {
    /// Every single value and name that may not be seen.
    fn hidden<'v>(&self, value: &'v Value, own: &BTreeSet<String>, all: &mut Hidden<'v>) {
        const NONE: &Tree = &Tree { whole: false, members: BTreeMap::new(), elements: None };
        match value {
            _ if self.whole => {}
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                if !own.contains(name) {
                    all.names.push(name);
                }
                self.members.get(name).unwrap_or(NONE).hidden(value, own, all);
            }),
            Value::Array(list) => {
                let elements = self.elements.as_deref().unwrap_or(NONE);
                list.iter().for_each(|value| elements.hidden(value, own, all));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                all.values.push(value);
            }
        }
    }

    /// Whether something of a value may be seen.
    fn shows(&self, value: &Value) -> bool {
        match value {
            _ if self.whole => true,
            Value::Object(_) => !self.members.is_empty(),
            Value::Array(_) => self.elements.is_some(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
}

/// What may be seen of a value.
struct Seen<'a> {
    tree: &'a Tree,
    value: &'a Value,
}

impl Serialize for Seen<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (self.value, &self.tree.elements) {
            (value, _) if self.tree.whole => value.serialize(to),
            (Value::Array(list), Some(elements)) => {
                let mut seen = to.serialize_seq(None)?;
                for value in list.iter().filter(|value| elements.shows(value)) {
                    seen.serialize_element(&Seen { tree: elements, value })?;
                }
                seen.end()
            }
            (Value::Object(map), _) => {
                let mut seen = to.serialize_map(None)?;
                for (name, value) in map {
                    if let Some(tree) = self.tree.members.get(name).filter(|one| one.shows(value)) {
                        seen.serialize_entry(name, &Seen { tree, value })?;
                    }
                }
                seen.end()
            }
            // Nothing: at the root that is an object without members.
            _ => to.serialize_map(Some(0))?.end(),
        }
    }
}

/// What may be seen of an argument.
struct Argument<'a> {
    /// None where nothing below is listed.
    tree: Option<&'a Tree>,
    value: &'a Value,
    path: Path<'a>,
    marker: &'a Marker,
}

impl Serialize for Argument<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let listed = self.tree.is_some_and(|tree| !tree.members.is_empty());
        let elements = self.tree.and_then(|tree| tree.elements.as_deref());
        let is_root = matches!(self.path, Path::Root);
        let within = |tree, value, path| Argument { tree, value, path, marker: self.marker };
        match (self.value, elements) {
            (value, _) if self.tree.is_some_and(|tree| tree.whole) => value.serialize(to),
            // The root is always opened, so that each argument is told apart.
            (Value::Object(map), _) if is_root || listed => {
                let mut seen = to.serialize_map(Some(map.len()))?;
                for (name, value) in map {
                    let tree = self.tree.and_then(|tree| tree.members.get(name));
                    let path = Path::Name(&self.path, name);
                    seen.serialize_entry(name, &within(tree, value, path))?;
                }
                seen.end()
            }
            (Value::Array(list), Some(elements)) => {
                let mut seen = to.serialize_seq(Some(list.len()))?;
                for value in list {
                    let path = Path::Each(&self.path);
                    seen.serialize_element(&within(Some(elements), value, path))?;
                }
                seen.end()
            }
            (value, _) => self.marker.mark(&self.path.text(), value).serialize(to),
        }
    }
}

/// Where an argument stands; only what is marked needs it as text.
enum Path<'a> {
    Root,
    Name(&'a Path<'a>, &'a str),
    Each(&'a Path<'a>),
}

impl Path<'_> {
    fn text(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Name(above, name) => above.text() + "/" + name,
            Self::Each(above) => above.text() + "[]",
        }
    }
}
