//! References: kept where the dialect has them, else replaced by what they lead to. Where a schema
//! contains itself and the dialect has no way to say that, the inner one is said as JSON text.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::allof::{Merged, merge};
use super::annotate::{bare, is_annotation};
use super::{Node, Step, Walk, join, object_of, of_kind, stop};
use crate::loss::Fate;
use crate::tools::plan::Plan;
use crate::tools::profile::Refs;

/// References inside of one another; the walk's own stack grows with them.
const MAX_OPEN: usize = 64;

/// A definition that is referred to.
pub(super) struct Definition {
    target: String,
    name: String,
    /// Nothing while it is being lowered.
    done: Option<(Value, Plan)>,
}

impl<'a> Walk<'a> {
    pub(super) fn reference(
        &mut self,
        target: &str,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let found = self.found(target, at)?;
        if self.open.len() >= MAX_OPEN {
            return Err(stop(at, "its references follow one another too far"));
        }
        let siblings: Map<String, Value> = map
            .iter()
            .filter(|(keyword, _)| !matches!(keyword.as_str(), "$ref" | "$defs"))
            .map(|(keyword, value)| (keyword.clone(), value.clone()))
            .collect();
        let is_open = self.open.iter().any(|open| open == target);
        let kept = match self.profile.refs {
            Refs::Said | Refs::Alone | Refs::Flat => !self.is_root(at),
            Refs::Inlined => false,
        };
        let may_recur = match self.profile.refs {
            Refs::Said | Refs::Alone => true,
            Refs::Flat | Refs::Inlined => false,
        };
        match (is_open, may_recur && kept) {
            (true, false) => Ok(Some(self.recursive(target, &siblings, at))),
            (true, true) => {
                for keyword in siblings.keys() {
                    let note = "nothing may stand beside a reference";
                    self.lose(join(at, keyword), keyword, Fate::Dropped, note);
                }
                // It may be open because it stands in place somewhere above.
                self.define(target, found, depth)?;
                Ok(Some(self.refer(target, found)))
            }
            (false, _) if kept && siblings.is_empty() => {
                self.define(target, found, depth)?;
                let never = self.definition(target).is_none();
                Ok((!never).then(|| self.refer(target, found)))
            }
            (false, _) => self.inline(target, found, siblings, at, depth),
        }
    }

    fn found(&self, target: &str, at: &str) -> Step<&'a Value> {
        let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        found.ok_or_else(|| stop(at, &format!("the reference `{target}` leads nowhere")))
    }

    /// What the reference leads to, in its place.
    fn inline(
        &mut self,
        target: &str,
        found: &Value,
        siblings: Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        if siblings.is_empty() || siblings.keys().all(|keyword| is_annotation(keyword)) {
            self.lose(
                join(at, "$ref"),
                "$ref",
                Fate::Changed,
                "what it leads to stands in its place",
            );
        }
        let merged = match found.as_object().filter(|_| !siblings.is_empty()) {
            None => Cow::Borrowed(found),
            Some(found) => match merge(&siblings, found) {
                Merged::One(merged) => Cow::Owned(Value::Object(merged)),
                Merged::Never => Cow::Owned(Value::Bool(false)),
                Merged::Apart => {
                    let note = "what stands beside a reference is said with it, as JSON text";
                    let both = json!([bare(found), bare(&siblings)]);
                    let both = Map::from_iter([("allOf".to_owned(), both)]);
                    let node = self.text(&both, at, "$ref", note);
                    return Ok(Some(self.annotated(node, &siblings, at)));
                }
            },
        };
        self.open.push(target.to_owned());
        let node = self.schema(&merged, at, depth);
        self.open.pop();
        node
    }

    /// A schema inside of itself, as JSON text.
    fn recursive(&mut self, target: &str, siblings: &Map<String, Value>, at: &str) -> Node {
        let name = target.rsplit('/').next().filter(|name| !name.is_empty() && *name != "#");
        let words = match name {
            Some(name) => format!("JSON text of a further `{name}`, of the same shape"),
            None => "JSON text of the same shape as the whole".to_owned(),
        };
        let note = "a schema inside of itself is said as JSON text";
        self.lose(at.to_owned(), "$ref", Fate::Changed, note);
        let node = Node { words: vec![words], ..Node::of(of_kind("string"), Plan::Text) };
        self.annotated(node, siblings, at)
    }

    fn refer(&mut self, target: &str, found: &Value) -> Node {
        let number = self.definitions.iter().position(|known| known.target == target);
        let name = number.and_then(|n| self.definitions.get(n)).map(|known| known.name.clone());
        let (Some(number), Some(name)) = (number, name) else { return Node::default() };
        let plan = match self.definition(target) {
            Some((_, Plan::Keep)) => Plan::Keep,
            _ => Plan::Definition(number),
        };
        let target = Value::String(format!("#/$defs/{name}"));
        let mut node = Node::of(object_of([("$ref", target)]), plan);
        node.null = allows_null(found, self.root, 0);
        node
    }

    /// Lowers what a reference leads to, once.
    fn define(&mut self, target: &str, found: &Value, depth: usize) -> Step<()> {
        if self.definitions.iter().any(|known| known.target == target) {
            return Ok(());
        }
        let place = self.definitions.len();
        let name = self.name_for(target, place);
        self.definitions.push(Definition { target: target.to_owned(), name, done: None });
        self.open.push(target.to_owned());
        let at = format!("{}{}", self.at, target.trim_start_matches('#'));
        let node = self.schema(found, &at, depth);
        self.open.pop();
        let Some(node) = node? else { return Ok(()) };
        let done = self.place(node, &at);
        if let Some(definition) = self.definitions.get_mut(place) {
            definition.done = Some(done);
        }
        Ok(())
    }

    fn name_for(&self, target: &str, place: usize) -> String {
        let simple = |name: &&str| {
            !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        let own = target.strip_prefix("#/$defs/").filter(simple);
        let taken = |name: &str| self.definitions.iter().any(|known| known.name == name);
        match own.filter(|name| !taken(name)) {
            Some(name) => name.to_owned(),
            None => (place + 1..)
                .map(|number| format!("definition_{number}"))
                .find(|name| !taken(name))
                .unwrap_or_default(),
        }
    }

    fn definition(&self, target: &str) -> Option<&(Value, Plan)> {
        self.definitions.iter().find(|known| known.target == target)?.done.as_ref()
    }

    /// The plans and schemas of all definitions, finished or not.
    pub(super) fn definitions_so_far(&self) -> (Vec<Plan>, Map<String, Value>) {
        let plan = |known: &Definition| known.done.as_ref().map_or(Plan::Keep, |(_, p)| p.clone());
        let plans = self.definitions.iter().map(plan).collect();
        let schemas = self
            .definitions
            .iter()
            .filter_map(|known| Some((known.name.clone(), known.done.as_ref()?.0.clone())))
            .collect();
        (plans, schemas)
    }

    /// Whether some definition that a schema refers to is not finished.
    pub(super) fn refers_to_unfinished(&self, schema: &Value) -> bool {
        let text = schema.to_string();
        self.definitions.iter().any(|known| {
            known.done.is_none() && text.contains(&format!("\"#/$defs/{}\"", known.name))
        })
    }
}

/// A schema with the definitions that it refers to, and those that they refer to.
pub(super) fn with_definitions(mut schema: Map<String, Value>, root: &Value) -> Map<String, Value> {
    let mut found = Vec::new();
    referred(&Value::Object(schema.clone()), &mut found);
    let mut definitions = Map::new();
    while let Some(name) = found.pop() {
        let pointer = format!("/$defs/{name}");
        let Some(definition) = root.pointer(&pointer) else { continue };
        let name = haft_core::pointer::unescape(&name);
        if !definitions.contains_key(&name) {
            referred(definition, &mut found);
            definitions.insert(name, definition.clone());
        }
    }
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

/// The definitions that a schema names, as they stand in pointers.
fn referred(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            let target = map.get("$ref").and_then(Value::as_str);
            let name = target.and_then(|target| target.strip_prefix("#/$defs/"));
            found.extend(name.and_then(|name| name.split('/').next()).map(str::to_owned));
            map.values().for_each(|inner| referred(inner, found));
        }
        Value::Array(list) => list.iter().for_each(|inner| referred(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a schema of the contract takes null, as far as its types, values and alternatives say.
fn allows_null(schema: &Value, root: &Value, depth: usize) -> bool {
    let Some(map) = schema.as_object().filter(|_| depth < 16) else { return false };
    let values = map.get("enum").and_then(Value::as_array);
    if values.is_some_and(|values| !values.contains(&Value::Null)) {
        return false;
    }
    let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|word| map.get(word)?.as_array());
    if alternatives.flatten().any(|branch| allows_null(branch, root, depth + 1)) {
        return true;
    }
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return found.is_some_and(|found| allows_null(found, root, depth + 1));
    }
    match map.get("type") {
        Some(Value::String(name)) => name == "null",
        Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
        _ => values.is_some() || map.get("const") == Some(&Value::Null),
    }
}
