//! `enum` and `const`, `pattern` and `format`: which values, which texts.

use serde_json::Value;

use super::pair::Pair;
use super::{Shift, Side, Walk};
use crate::diff::change::shown;
use crate::diff::number;

/// The values that a schema lists; nothing where it lists none.
pub(super) fn allowed(schema: &Value) -> Option<Vec<&Value>> {
    let listed = schema.get("enum").and_then(Value::as_array);
    match (listed, schema.get("const")) {
        (None, None) => None,
        (Some(listed), None) => Some(listed.iter().collect()),
        (None, Some(only)) => Some(vec![only]),
        (Some(listed), Some(only)) => {
            Some(listed.iter().filter(|value| number::same(value, only)).collect())
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn values(&mut self, pair: &Pair<'a>) {
        self.listed(pair);
        self.text(pair, "pattern");
        self.text(pair, "format");
    }

    fn listed(&mut self, pair: &Pair<'a>) {
        let keyword = if pair.has_either(&["enum"]) { "enum" } else { "const" };
        let verb = self.side.verb();
        match (allowed(pair.old.schema), allowed(pair.new.schema)) {
            (None, None) => {}
            (None, Some(new)) => {
                let what = format!("now {verb} only {}", values(&new));
                self.tell(pair, keyword, Shift::Narrower, &what);
            }
            (Some(old), None) => {
                let what = format!("no longer {verb} only {}", values(&old));
                self.tell(pair, keyword, Shift::Wider, &what);
            }
            (Some(old), Some(new)) => {
                let lost = missing_from(&new, &old);
                if !lost.is_empty() {
                    let what = format!("no longer {verb} {}", values(&lost));
                    self.tell(pair, keyword, Shift::Narrower, &what);
                }
                let added = missing_from(&old, &new);
                if !added.is_empty() {
                    let why = match self.side {
                        Side::Results => ", which readers may not know",
                        Side::Arguments { .. } => "",
                    };
                    let what = format!("now also {verb} {}{why}", values(&added));
                    self.tell(pair, keyword, Shift::Wider, &what);
                }
            }
        }
    }

    /// Which of two patterns or formats accepts more cannot be read off them.
    fn text(&mut self, pair: &Pair<'a>, keyword: &str) {
        let (shift, what) = match pair.keyword(keyword) {
            (None, None) => return,
            (None, Some(new)) => (Shift::Narrower, format!("{keyword} {} added", shown(new))),
            (Some(old), None) => (Shift::Wider, format!("{keyword} {} removed", shown(old))),
            (Some(old), Some(new)) if old == new => return,
            (Some(old), Some(new)) => {
                (Shift::Other, format!("{keyword} changed from {} to {}", shown(old), shown(new)))
            }
        };
        self.tell(pair, keyword, shift, &what);
    }
}

fn missing_from<'v>(list: &[&Value], values: &[&'v Value]) -> Vec<&'v Value> {
    let known = |value: &Value| list.iter().any(|listed| number::same(listed, value));
    values.iter().copied().filter(|value| !known(value)).collect()
}

fn values(list: &[&Value]) -> String {
    list.iter().map(|value| shown(value)).collect::<Vec<_>>().join(", ")
}
