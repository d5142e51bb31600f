//! `$ref`: local references are followed on each side.

use serde_json::Value;

use super::pair::{Pair, Spot};
use super::{Walk, notes};

/// Chains of references are short; the bound only keeps a circle of them from turning.
const LONGEST_CHAIN: usize = 16;

impl<'a> Walk<'a> {
    /// Both sides, with references that stand alone replaced by what they name.
    pub(super) fn followed(&self, pair: &Pair<'a>) -> Pair<'a> {
        Pair {
            old: follow(self.old_root, &pair.old, self.side.pointer()),
            new: follow(self.new_root, &pair.new, self.side.pointer()),
            name: pair.name.clone(),
        }
    }

    /// References that other keywords stand beside, or that lead nowhere. Reference and
    /// neighbours must all hold, so each is compared with its counterpart. Tells whether there is
    /// none, so that the neighbours alone say nothing.
    pub(super) fn dangling(&mut self, pair: &Pair<'a>) -> bool {
        let (old, new) = pair.keyword("$ref");
        if old.is_none() && new.is_none() {
            return false;
        }
        let targets = (
            target(self.old_root, pair.old.schema, self.side.pointer()),
            target(self.new_root, pair.new.schema, self.side.pointer()),
        );
        match targets {
            (Some(old), Some(new)) => self.compare(Pair { old, new, name: pair.name.clone() }),
            // The same document elsewhere is the same schema.
            (None, None) if old == new && old.and_then(Value::as_str).is_some_and(foreign) => {}
            _ => {
                self.tell_opaque(pair, "$ref");
                return true;
            }
        }
        false
    }
}

/// Whether a reference leads out of the contract.
pub(super) fn foreign(reference: &str) -> bool {
    !reference.starts_with('#')
}

fn follow<'a>(root: &'a Value, spot: &Spot<'a>, at: &str) -> Spot<'a> {
    (0..LONGEST_CHAIN).fold(spot.clone(), |spot, _| {
        if stands_alone(spot.schema) { target(root, spot.schema, at).unwrap_or(spot) } else { spot }
    })
}

/// Whether a schema says nothing but what it refers to.
fn stands_alone(schema: &Value) -> bool {
    schema.as_object().is_some_and(|keywords| {
        keywords.keys().all(|keyword| keyword == "$ref" || notes::is_note(keyword))
    })
}

fn target<'a>(root: &'a Value, schema: &'a Value, at: &str) -> Option<Spot<'a>> {
    let reference = schema.get("$ref")?.as_str()?;
    let pointer = reference.strip_prefix('#')?;
    Some(Spot { schema: resolve(root, reference)?, pointer: format!("{at}{pointer}") })
}

/// What a local reference names.
pub(super) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    // An escaped pointer would have to be read as a URI first; nobody writes one by hand.
    let pointer = reference.strip_prefix('#').filter(|pointer| !pointer.contains('%'))?;
    root.pointer(pointer)
}
