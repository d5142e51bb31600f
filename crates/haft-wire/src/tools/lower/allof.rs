//! Schemas that hold together, as one.

use serde_json::{Map, Value, json};

use super::annotate::is_annotation;
use super::{Node, Step, Walk, join};
use crate::loss::Fate;

/// What two schemas come to.
pub(super) enum Merged {
    /// One schema that says as much as both.
    One(Map<String, Value>),
    /// Nothing fits both.
    Never,
    /// No one schema says both.
    Apart,
}

impl Walk<'_> {
    /// `allOf` and what stands beside it, as one schema.
    pub(super) fn all_of(
        &mut self,
        map: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Step<Option<Node>> {
        let mut whole: Map<String, Value> = map.clone();
        let parts = whole.shift_remove("allOf");
        let parts = parts.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
        let mut left = Vec::new();
        let mut opened = Vec::new();
        for part in parts {
            let part = self.followed(part, &mut opened);
            match part {
                Value::Bool(true) => {}
                Value::Object(part) => match merge(&whole, &part) {
                    Merged::One(merged) => whole = merged,
                    Merged::Never => return Ok(None),
                    Merged::Apart => left.push(Value::Object(part)),
                },
                Value::Null
                | Value::Bool(false)
                | Value::Number(_)
                | Value::String(_)
                | Value::Array(_) => return Ok(None),
            }
        }
        if !left.is_empty() && !self.is_root(at) {
            let note = "schemas that hold together and cannot be said as one are said as JSON text";
            let node = self.text(map, at, "allOf", note);
            return Ok(Some(self.annotated(node, map, at)));
        }
        let note = "schemas that hold together are said as one";
        self.lose(join(at, "allOf"), "allOf", Fate::Changed, note);
        if !left.is_empty() {
            whole.insert("allOf".to_owned(), Value::Array(left.clone()));
            whole = super::named::with_named(&whole, &["allOf"], self.root).into_owned();
            whole.shift_remove("allOf");
        }
        let depth_of_open = self.open.len();
        self.open.extend(opened);
        let node = self.members(&whole, at, depth);
        self.open.truncate(depth_of_open);
        let mut node = node?;
        if let Some(node) = &mut node {
            for part in left {
                self.describe_part(node, &part, at);
            }
        }
        Ok(node)
    }

    fn describe_part(&mut self, node: &mut Node, part: &Value, at: &str) {
        let words = super::words::like(part);
        let (fate, note) = match &words {
            Some(words) => (Fate::Described, format!("the description says: {words}")),
            None => (Fate::Dropped, "there is no way to say all of it".to_owned()),
        };
        self.lose(join(at, "allOf"), "allOf", fate, note);
        node.words.extend(words);
    }

    /// What a reference leads to, unless that is being followed already.
    pub(super) fn followed(&self, schema: Value, opened: &mut Vec<String>) -> Value {
        let Some(target) = schema.get("$ref").and_then(Value::as_str).map(str::to_owned) else {
            return schema;
        };
        if self.open.contains(&target) || opened.contains(&target) {
            return schema;
        }
        let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let siblings: Map<String, Value> = schema
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(keyword, _)| *keyword != "$ref")
            .map(|(keyword, value)| (keyword.clone(), value.clone()))
            .collect();
        let merged = match found {
            Some(Value::Object(found)) => match merge(&siblings, found) {
                Merged::One(merged) => Value::Object(merged),
                Merged::Never => Value::Bool(false),
                Merged::Apart => return schema,
            },
            Some(other) if siblings.is_empty() => other.clone(),
            _ => return schema,
        };
        opened.push(target);
        self.followed(merged, opened)
    }
}

/// Both descriptions, the first one first.
fn both_said(ours: &str, theirs: &Value) -> Value {
    let theirs = theirs.as_str().unwrap_or_default().trim();
    let ours = ours.trim();
    if theirs.is_empty() || ours.contains(theirs) {
        return json!(ours);
    }
    let between = if ours.ends_with(['.', '!', '?', ';']) { " " } else { "; " };
    json!(format!("{ours}{between}{theirs}"))
}

/// Two schemas as one. What the first says about itself wins, save that both descriptions are kept.
pub(super) fn merge(one: &Map<String, Value>, other: &Map<String, Value>) -> Merged {
    let mut merged = one.clone();
    for (keyword, theirs) in other {
        let both = match one.get(keyword) {
            None => theirs.clone(),
            Some(ours) if ours == theirs => continue,
            Some(Value::String(ours)) if keyword == "description" => both_said(ours, theirs),
            Some(_) if is_annotation(keyword) => continue,
            Some(ours) => match together(keyword, ours, theirs) {
                Merged::One(mut value) => value.remove("value").unwrap_or(Value::Null),
                Merged::Never => return Merged::Never,
                Merged::Apart => return Merged::Apart,
            },
        };
        merged.insert(keyword.clone(), both);
    }
    shut(&mut merged, one, other);
    shut(&mut merged, other, one);
    Merged::One(merged)
}

/// A keyword that both have.
fn together(keyword: &str, ours: &Value, theirs: &Value) -> Merged {
    let value = |value: Value| Merged::One(Map::from_iter([("value".to_owned(), value)]));
    let pick = |ours_wins: bool| value(if ours_wins { ours.clone() } else { theirs.clone() });
    let (a, b) = (ours.as_f64(), theirs.as_f64());
    match keyword {
        "type" => types(ours, theirs).map_or(Merged::Never, value),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => pick(a >= b),
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => pick(a <= b),
        "uniqueItems" => pick(ours == &Value::Bool(true)),
        "required" => {
            let mut names = ours.as_array().cloned().unwrap_or_default();
            let theirs = theirs.as_array().into_iter().flatten();
            names.extend(
                theirs.filter(|name| !ours.as_array().is_some_and(|o| o.contains(name))).cloned(),
            );
            value(Value::Array(names))
        }
        "enum" => {
            let (Some(ours), Some(theirs)) = (ours.as_array(), theirs.as_array()) else {
                return Merged::Apart;
            };
            let shared: Vec<&Value> = ours.iter().filter(|value| theirs.contains(value)).collect();
            if shared.is_empty() { Merged::Never } else { value(json!(shared)) }
        }
        "const" => Merged::Never,
        "properties" => {
            let mut all = ours.as_object().cloned().unwrap_or_default();
            for (name, schema) in theirs.as_object().into_iter().flatten() {
                let schema = match all.get(name) {
                    Some(ours) if ours != schema => json!({"allOf": [ours, schema]}),
                    _ => schema.clone(),
                };
                all.insert(name.clone(), schema);
            }
            value(Value::Object(all))
        }
        "items" | "propertyNames" => value(json!({"allOf": [ours, theirs]})),
        "additionalProperties" => match (ours, theirs) {
            (Value::Bool(false), _) | (_, Value::Bool(false)) => value(Value::Bool(false)),
            (Value::Bool(true), _) => value(theirs.clone()),
            (_, Value::Bool(true)) => value(ours.clone()),
            _ => value(json!({"allOf": [ours, theirs]})),
        },
        _ => Merged::Apart,
    }
}

/// What the one says about members that only the other lists.
fn shut(merged: &mut Map<String, Value>, one: &Map<String, Value>, other: &Map<String, Value>) {
    let Some(further) = one.get("additionalProperties").filter(|f| **f != Value::Bool(true)) else {
        return;
    };
    let own = one.get("properties").and_then(Value::as_object);
    let patterns = one.contains_key("patternProperties");
    let theirs = other.get("properties").and_then(Value::as_object);
    let Some(Value::Object(all)) = merged.get_mut("properties") else { return };
    for (name, schema) in theirs.into_iter().flatten() {
        if own.is_some_and(|own| own.contains_key(name)) || patterns {
            continue;
        }
        let shut = if *further == Value::Bool(false) {
            Value::Bool(false)
        } else {
            json!({"allOf": [schema, further]})
        };
        all.insert(name.clone(), shut);
    }
}

/// The types that both allow; nothing where there are none.
fn types(ours: &Value, theirs: &Value) -> Option<Value> {
    let list = |value: &Value| -> Vec<String> {
        match value {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        }
    };
    let (ours, theirs) = (list(ours), list(theirs));
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    let mut shared: Vec<String> = Vec::new();
    for name in ours.iter().chain(&theirs) {
        let by = |names: &[String]| has(names, name) || (name == "integer" && has(names, "number"));
        if by(&ours) && by(&theirs) && !has(&shared, name) {
            shared.push(name.clone());
        }
    }
    match shared.as_slice() {
        [] => None,
        [one] => Some(json!(one)),
        many => Some(json!(many)),
    }
}
