//! `unevaluatedProperties` and `unevaluatedItems`.
//!
//! What is left over for them depends on how everything beside them is written, down to an `items`
//! that accepts everything. Two schemas that accept the same values are not good enough here; only
//! the same text is.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pair::Pair;
use super::reference::{foreign, resolve};
use super::{Walk, notes};
use crate::diff::number;

const KEYWORDS: [&str; 2] = ["unevaluatedProperties", "unevaluatedItems"];

impl<'a> Walk<'a> {
    /// Whether something is said about what is left over; then all has been told.
    pub(super) fn left_over(&mut self, pair: &Pair<'a>) -> bool {
        if !pair.has_either(&KEYWORDS) {
            return false;
        }
        let mut keywords = pair.keywords().filter(|keyword| !notes::is_note(keyword));
        let same = keywords.all(|keyword| match pair.keyword(keyword) {
            (Some(old), Some(new)) => number::same(old, new) && self.all_the_same(references(old)),
            (Some(_) | None, None) | (None, Some(_)) => false,
        });
        // A reference of its own is looked up with those of its keywords.
        let leads = [pair.old.schema, pair.new.schema].into_iter().flat_map(own_reference);
        if !same || !self.all_the_same(leads.collect()) {
            self.tell_opaque(pair, "");
        }
        true
    }

    /// Whether all that a text refers to, directly or not, is the same text in both contracts.
    fn all_the_same(&self, mut left: Vec<&'a str>) -> bool {
        let mut seen = BTreeSet::new();
        while let Some(reference) = left.pop() {
            if !seen.insert(reference) {
                continue;
            }
            match (resolve(self.old_root, reference), resolve(self.new_root, reference)) {
                (Some(old), Some(new)) if number::same(old, new) => left.extend(references(old)),
                (None, None) if foreign(reference) => {}
                _ => return false,
            }
        }
        true
    }
}

fn own_reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(list) => list.iter().flat_map(references).collect(),
        Value::Object(map) => {
            own_reference(value).into_iter().chain(map.values().flat_map(references)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
