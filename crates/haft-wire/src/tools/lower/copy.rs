//! Schemas for dialects that take JSON Schema: as they are, save for the root, for the names of
//! members, and for arrays that do not say what is in them.

use serde_json::{Map, Value};

use super::allof::{Merged, merge};
use super::{Lowered, Step, annotate, join, pointers, stop, word, words};
use crate::loss::{Fate, Loss};
use crate::names::Names;
use crate::tools::plan::{Plan, Plans};
use crate::tools::profile::Profile;

/// Deeper nesting than any reader of JSON takes.
const DEEP: usize = 127;

pub(super) fn copy(profile: &Profile, root: &Value, at: &str) -> Step<Lowered> {
    let Some(map) = root.as_object() else { return Err(stop(at, "this is no schema")) };
    let types = super::types_of(map);
    if !types.0.is_empty() && types.0 != ["object"] {
        return Err(stop(at, "arguments are an object, and this schema describes none"));
    }
    let mut found = Names::default();
    if let Some(rule) = profile.names {
        let mut names = Vec::new();
        each_name(root, &mut names, DEEP);
        found = Names::new(rule, names.iter().copied());
    }
    let mut copy = Copy { root, names: found, losses: Vec::new(), renamed: Vec::new() };
    let mut schema = copy.map(map, at, DEEP)?;
    if schema.get("type").is_none_or(|name| name != "object") {
        if !schema.contains_key("type") {
            copy.lose(at, "type", Fate::Approximated, "arguments are always an object");
        }
        let rest = std::mem::take(&mut schema);
        schema.insert("type".to_owned(), word("object"));
        schema.extend(rest.into_iter().filter(|(keyword, _)| keyword != "type"));
    }
    if !profile.root_unions {
        schema = copy.plain_root(schema, at);
    }
    let whole = Value::Object(schema);
    pointers::dangling(&whole, &whole, at)?;
    let Value::Object(schema) = whole else { return Err(stop(at, "this is no schema")) };
    let root = match copy.renamed.is_empty() {
        true => Plan::Keep,
        false => Plan::Renamed(copy.renamed),
    };
    let plans = Plans { root, ..Plans::default() };
    Ok(Lowered { schema, plans, losses: copy.losses })
}

struct Copy<'a> {
    root: &'a Value,
    names: Names,
    losses: Vec<Loss>,
    /// What is said, and what is meant.
    renamed: Vec<(String, String)>,
}

impl Copy<'_> {
    fn lose(&mut self, pointer: &str, keyword: &str, fate: Fate, note: impl Into<String>) {
        let (tool, keyword, note) = (String::new(), keyword.to_owned(), note.into());
        self.losses.push(Loss { tool, pointer: pointer.to_owned(), keyword, fate, note });
    }

    fn schema(&mut self, schema: &Value, at: &str, left: usize) -> Step<Value> {
        match schema.as_object() {
            Some(map) => Ok(Value::Object(self.map(map, at, left)?)),
            None => Ok(schema.clone()),
        }
    }

    fn map(&mut self, map: &Map<String, Value>, at: &str, left: usize) -> Step<Map<String, Value>> {
        let left = left.checked_sub(1).ok_or_else(|| stop(at, "it nests too deep"))?;
        if let Some(target) = map.get("$ref").and_then(Value::as_str)
            && target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)).is_none()
        {
            return Err(stop(at, &format!("the reference `{target}` leads nowhere")));
        }
        let mut copied = Map::with_capacity(map.len() + 1);
        for (keyword, value) in map {
            copied.insert(keyword.clone(), self.keyword(keyword, value, at, left)?);
        }
        // Providers refuse an array that does not say what is in it; `{}` is anything.
        let is_array = match map.get("type") {
            Some(Value::Array(names)) => names.iter().any(|name| name == "array"),
            name => name.is_some_and(|name| name == "array"),
        };
        if is_array && !map.contains_key("items") && !map.contains_key("prefixItems") {
            copied.insert("items".to_owned(), Value::Object(Map::new()));
        }
        Ok(copied)
    }

    fn keyword(&mut self, keyword: &str, value: &Value, at: &str, left: usize) -> Step<Value> {
        Ok(match (keyword, value) {
            ("properties" | "dependentSchemas", Value::Object(members)) => {
                Value::Object(self.members(members, &join(at, keyword), left)?)
            }
            ("$defs" | "patternProperties", Value::Object(named)) => {
                let place = join(at, keyword);
                let mut all = Map::with_capacity(named.len());
                for (name, schema) in named {
                    all.insert(name.clone(), self.schema(schema, &join(&place, name), left)?);
                }
                Value::Object(all)
            }
            ("$ref", Value::String(target)) => Value::String(pointers::moved(target, &self.names)),
            ("required", Value::Array(names)) => self.required(names),
            ("dependentRequired", Value::Object(needs)) => self.needs(needs),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                let mut all = Vec::with_capacity(list.len());
                for (number, schema) in list.iter().enumerate() {
                    all.push(self.schema(schema, &format!("{at}/{keyword}/{number}"), left)?);
                }
                Value::Array(all)
            }
            (keyword, schema) if holds_schema(keyword) => {
                self.schema(schema, &join(at, keyword), left)?
            }
            (_, value) => value.clone(),
        })
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        at: &str,
        left: usize,
    ) -> Step<Map<String, Value>> {
        let mut copied = Map::with_capacity(members.len());
        for (name, schema) in members {
            let place = join(at, name);
            let wire = self.names.wire(name).to_owned();
            if wire != *name {
                self.lose(&place, "properties", Fate::Changed, format!("said as `{wire}`"));
                let pair = (wire.clone(), name.clone());
                if !self.renamed.contains(&pair) {
                    self.renamed.push(pair);
                }
            }
            let schema = self.schema(schema, &place, left)?;
            copied.insert(wire, schema);
        }
        Ok(copied)
    }

    fn required(&self, names: &[Value]) -> Value {
        let wire = |name: &Value| {
            name.as_str().map_or_else(|| name.clone(), |name| word(self.names.wire(name)))
        };
        names.iter().map(wire).collect()
    }

    fn needs(&self, needs: &Map<String, Value>) -> Value {
        let need = |(name, needed): (&String, &Value)| {
            let needed = needed.as_array().map_or(Value::Null, |list| self.required(list));
            (self.names.wire(name).to_owned(), needed)
        };
        needs.iter().map(need).collect()
    }

    /// The root without alternatives, conditions and values of the whole.
    fn plain_root(&mut self, mut schema: Map<String, Value>, at: &str) -> Map<String, Value> {
        let mut said = Vec::new();
        if let Some(Value::Array(parts)) = schema.shift_remove("allOf") {
            let mut left = Vec::new();
            for part in parts {
                match part.as_object().map(|part| merge(&schema, part)) {
                    Some(Merged::One(merged)) => schema = merged,
                    _ => left.push(part),
                }
            }
            self.root_words("allOf", left.iter().map(words::like).collect(), at, &mut said);
        }
        if schema.contains_key("anyOf") || schema.contains_key("oneOf") {
            let whole = Value::Object(schema.clone());
            schema = super::named::with_named(&schema, &["anyOf", "oneOf"], &whole).into_owned();
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = schema.shift_remove(keyword) {
                let words = super::union::in_words(keyword, &branches).map(|words| vec![words]);
                self.root_words(keyword, words, at, &mut said);
            }
        }
        for keyword in ["not", "enum", "const"] {
            if let Some(value) = schema.shift_remove(keyword) {
                let words = match keyword {
                    "not" => words::like(&value).map(|like| vec![format!("not {like}")]),
                    _ => words::like(&value).map(|like| vec![like.replacen("like", "one of", 1)]),
                };
                self.root_words(keyword, words, at, &mut said);
            }
        }
        words::describe(&mut schema, &said);
        schema
    }

    fn root_words(
        &mut self,
        keyword: &str,
        words: Option<Vec<String>>,
        at: &str,
        said: &mut Vec<String>,
    ) {
        let (fate, note) = match &words {
            Some(none) if none.is_empty() => {
                (Fate::Changed, "schemas that hold together are said as one".to_owned())
            }
            Some(words) => (Fate::Described, format!("the description says: {}", words.join("; "))),
            None => (
                Fate::Dropped,
                "it may not stand at the root, and is too long to describe".to_owned(),
            ),
        };
        self.lose(&join(at, keyword), keyword, fate, note);
        said.extend(words.unwrap_or_default());
    }
}

/// Keywords whose value is one schema.
fn holds_schema(keyword: &str) -> bool {
    matches!(
        keyword,
        "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties"
    )
}

/// The names of all members, wherever they stand.
fn each_name<'s>(schema: &'s Value, names: &mut Vec<&'s str>, left: usize) {
    let Some(left) = left.checked_sub(1) else { return };
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                if keyword == "properties"
                    && let Value::Object(members) = value
                {
                    names.extend(members.keys().map(String::as_str));
                    members.values().for_each(|schema| each_name(schema, names, left));
                } else if !annotate::is_annotation(keyword) || keyword == "$defs" {
                    each_name(value, names, left);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|schema| each_name(schema, names, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
