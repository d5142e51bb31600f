//! `prefixItems` and `items`.

use serde_json::Value;

use super::Walk;
use super::pair::{Pair, Spot};

impl<'a> Walk<'a> {
    /// Position by position as far as either side names them, then the rest.
    pub(super) fn array(&mut self, pair: &Pair<'a>) {
        let named = prefix(pair.old.schema).len().max(prefix(pair.new.schema).len());
        for index in 0..named {
            self.compare(Pair {
                old: element(&pair.old, index),
                new: element(&pair.new, index),
                name: format!("{}[{index}]", pair.name),
            });
        }
        if pair.has_either(&["items"]) {
            self.compare(pair.below("items", format!("{}[]", pair.name)));
        }
    }
}

fn prefix(schema: &Value) -> &[Value] {
    schema.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The schema of one position: its own, or that of the rest.
fn element<'a>(spot: &Spot<'a>, index: usize) -> Spot<'a> {
    match prefix(spot.schema).get(index) {
        Some(schema) => spot.below(Some(schema), &format!("/prefixItems/{index}")),
        None => spot.below(spot.schema.get("items"), "/items"),
    }
}
