//! Whether what fits a schema is no list and no object, or one of a few.

use serde_json::{Map, Value};

use super::keyword;

/// Who refers so far means something else.
const DEEPEST: usize = 32;

/// Looks into schemas, and through their references and branches, so often and no more: what is not
/// known to be plain by then is not plain.
pub(super) struct Looks<'a> {
    pub(super) root: &'a Value,
    pub(super) left: u64,
}

impl<'a> Looks<'a> {
    pub(super) fn is_plain(&mut self, schema: &'a Value) -> bool {
        self.at(schema, 0)
    }

    fn at(&mut self, schema: &'a Value, depth: usize) -> bool {
        if self.left == 0 || depth > DEEPEST {
            return false;
        }
        self.left -= 1;
        let Some(map) = schema.as_object() else { return schema == &Value::Bool(false) };
        // Each of these must fit, so that one of them is enough.
        says_so(map) || self.reference(map, depth) || self.branches(map, depth)
    }

    fn reference(&mut self, map: &'a Map<String, Value>, depth: usize) -> bool {
        let target = map.get("$ref").and_then(Value::as_str);
        let target = target.and_then(|target| self.root.pointer(target.strip_prefix('#')?));
        target.is_some_and(|target| self.at(target, depth + 1))
    }

    fn branches(&mut self, map: &'a Map<String, Value>, depth: usize) -> bool {
        let list = |keyword| map.get(keyword).and_then(Value::as_array);
        let mut plain = |one: &'a Value| self.at(one, depth + 1);
        list("allOf").is_some_and(|all| all.iter().any(&mut plain))
            || list("anyOf").is_some_and(|any| any.iter().all(&mut plain))
            || list("oneOf").is_some_and(|one| one.iter().all(&mut plain))
    }
}

fn says_so(map: &Map<String, Value>) -> bool {
    let plain = |types: Vec<&str>| !types.iter().any(|one| matches!(*one, "array" | "object"));
    map.contains_key("enum")
        || map.contains_key("const")
        || keyword::types_of(map).is_some_and(plain)
}
