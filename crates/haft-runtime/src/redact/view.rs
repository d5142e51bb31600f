//! The allowlist view: what is listed stays, everything else goes.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::mark::Marker;
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
    members: HashMap<String, Tree>,
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
        self.root.of(value).unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// The arguments of a call: what is listed as it is, of everything else the shape and a mark.
    ///
    /// Names of members are shown: they are the contract's, once the arguments have been validated.
    #[must_use]
    pub fn arguments_view(&self, arguments: &Value, marker: &Marker) -> Value {
        self.root.arguments(arguments, "", marker)
    }
}

impl Tree {
    fn of(&self, value: &Value) -> Option<Value> {
        if self.whole {
            return Some(value.clone());
        }
        match value {
            Value::Object(map) if !self.members.is_empty() => {
                let seen = |(name, value): (&String, &Value)| {
                    Some((name.clone(), self.members.get(name)?.of(value)?))
                };
                Some(Value::Object(map.iter().filter_map(seen).collect()))
            }
            Value::Array(list) => {
                let elements = self.elements.as_ref()?;
                Some(list.iter().filter_map(|value| elements.of(value)).collect())
            }
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => None,
        }
    }

    /// The root is always opened, so that each argument is told apart.
    fn arguments(&self, value: &Value, path: &str, marker: &Marker) -> Value {
        match value {
            _ if self.whole => value.clone(),
            Value::Object(map) if path.is_empty() || !self.members.is_empty() => {
                let hidden = Tree::default();
                let seen = |(name, value): (&String, &Value)| {
                    let seen = match self.members.get(name) {
                        Some(inside) if inside.whole => value.clone(),
                        inside => {
                            let path = format!("{path}/{name}");
                            inside.unwrap_or(&hidden).arguments(value, &path, marker)
                        }
                    };
                    (name.clone(), seen)
                };
                Value::Object(map.iter().map(seen).collect())
            }
            Value::Array(list) if self.elements.is_some() => {
                let elements = self.elements.as_deref();
                let seen = |value| {
                    elements.map(|tree| tree.arguments(value, &format!("{path}[]"), marker))
                };
                list.iter().filter_map(seen).collect()
            }
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => marker.mark(path, value),
        }
    }
}
