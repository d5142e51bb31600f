//! How large a schema may be, with its references counted as often as they would be followed, and that
//! they arrive somewhere.

use std::collections::HashMap;

use serde_json::Value;

use super::{Refused, children, refuse};
use crate::lint::schema::circles;

/// Schemas inside of a schema, as they are written.
const WRITTEN: usize = 2_000;

/// The same with every reference followed: a kilobyte of references to references can stand for
/// millions of schemas.
const FOLLOWED: usize = 20_000;

pub(super) fn check(schema: &Value) -> Result<(), Refused> {
    if count(schema) > WRITTEN {
        return Err(refuse(
            "",
            format!("it has more than {WRITTEN} schemas inside; split the tool"),
        ));
    }
    let mut sizes = Sizes { root: schema, known: HashMap::new() };
    if sizes.of(schema) > FOLLOWED {
        let what = format!("its references stand for more than {FOLLOWED} schemas; split the tool");
        return Err(refuse("", what));
    }
    match circles::circles(schema).into_iter().next() {
        Some(circle) => Err(refuse(&circle.at, format!("{}; {}", circle.message, circles::HELP))),
        None => Ok(()),
    }
}

fn count(schema: &Value) -> usize {
    children(schema).into_iter().fold(1, |sum, child| sum + count(child))
}

struct Sizes<'a> {
    root: &'a Value,
    known: HashMap<&'a str, usize>,
}

impl<'a> Sizes<'a> {
    fn of(&mut self, schema: &'a Value) -> usize {
        let below = children(schema)
            .into_iter()
            .fold(1_usize, |sum, child| sum.saturating_add(self.of(child)));
        let target = schema.get("$ref").and_then(Value::as_str);
        below.saturating_add(target.map_or(0, |target| self.behind(target)))
    }

    fn behind(&mut self, target: &'a str) -> usize {
        if let Some(size) = self.known.get(target) {
            return *size;
        }
        // While it is being counted it counts for nothing: a schema inside itself ends somewhere.
        self.known.insert(target, 0);
        let pointer = target.strip_prefix('#').unwrap_or_default();
        let size = self.root.pointer(pointer).map_or(0, |found| self.of(found));
        self.known.insert(target, size);
        size
    }
}
