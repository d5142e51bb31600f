//! Keywords that can only be the same or not.

use serde_json::Value;

use super::pair::{Pair, step};
use super::{Shift, Walk, notes};
use crate::diff::number;

/// Keywords that are compared in the other files.
const ELSEWHERE: [&str; 25] = [
    "$ref",
    "type",
    "enum",
    "const",
    "pattern",
    "format",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
    "uniqueItems",
    "properties",
    "required",
    "additionalProperties",
    "prefixItems",
    "items",
    "anyOf",
    "allOf",
];

/// Keywords that mean something only together, by the one that the others need.
const GROUPS: [&[&str]; 2] = [&["if", "then", "else"], &["contains", "minContains", "maxContains"]];

/// Keywords that stand for themselves: without them, a schema accepts no less.
const INDEPENDENT: [&str; 5] =
    ["oneOf", "not", "dependentRequired", "dependentSchemas", "propertyNames"];

/// Keywords that make references mean something that is not followed here.
const REBASING: [&str; 3] = ["$dynamicRef", "$dynamicAnchor", "$id"];

impl<'a> Walk<'a> {
    pub(super) fn opaque(&mut self, pair: &Pair<'a>) {
        for group in GROUPS {
            self.group(pair, group);
        }
        for keyword in INDEPENDENT {
            self.group(pair, &[keyword]);
        }
        for keyword in pair.keywords().filter(|keyword| !is_known(keyword)) {
            // An unknown keyword may change how others are read, so its coming and going is not
            // decided either. The root's `$id` only names the whole.
            let rebases = REBASING.contains(&keyword) && self.depth > 1;
            if rebases || !self.same_keyword(pair, keyword) {
                self.tell_opaque(pair, keyword);
            }
        }
    }

    fn group(&mut self, pair: &Pair<'a>, group: &[&str]) {
        let Some(keyword) = group.first() else { return };
        match pair.keyword(keyword) {
            (None, None) => {}
            (None, Some(_)) => {
                self.tell(pair, keyword, Shift::Narrower, &format!("`{keyword}` added"));
            }
            (Some(_), None) => {
                self.tell(pair, keyword, Shift::Wider, &format!("`{keyword}` removed"));
            }
            (Some(_), Some(_)) => {
                if !group.iter().all(|keyword| self.same_keyword(pair, keyword)) {
                    self.tell_opaque(pair, keyword);
                }
            }
        }
    }

    /// Equal text is not enough: a reference inside may lead to something else on each side.
    fn same_keyword(&mut self, pair: &Pair<'a>, keyword: &str) -> bool {
        let (old, new) = match pair.keyword(keyword) {
            (None, None) => return true,
            (None, Some(_)) | (Some(_), None) => return false,
            (Some(old), Some(new)) => (old, new),
        };
        let name = format!("{}({keyword})", pair.name);
        match keyword {
            "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "contentSchema"
            | "unevaluatedProperties"
            | "unevaluatedItems" => self.same(&pair.below(keyword, name)),
            "oneOf" | "dependentSchemas" | "patternProperties" => {
                self.same_parts(pair, keyword, old, new)
            }
            _ => number::same(old, new),
        }
    }

    fn same_parts(
        &mut self,
        pair: &Pair<'a>,
        keyword: &str,
        old: &'a Value,
        new: &'a Value,
    ) -> bool {
        let (old, new) = (parts(old), parts(new));
        old.len() == new.len()
            && old.into_iter().all(|(name, old)| {
                let found = new.iter().find(|(other, _)| *other == name);
                found.is_some_and(|(_, new)| {
                    let path = format!("/{keyword}/{}", step(&name));
                    self.same(&Pair {
                        old: pair.old.below(Some(old), &path),
                        new: pair.new.below(Some(new), &path),
                        name: format!("{}({keyword} {name})", pair.name),
                    })
                })
            })
    }
}

/// The schemas inside of a keyword, by name or position.
fn parts(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, schema)| (at.to_string(), schema)).collect()
        }
        Value::Object(map) => map.iter().map(|(name, schema)| (name.clone(), schema)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

fn is_known(keyword: &str) -> bool {
    ELSEWHERE.contains(&keyword)
        || INDEPENDENT.contains(&keyword)
        || GROUPS.iter().any(|group| group.contains(&keyword))
        || notes::is_note(keyword)
}
