//! Nesting, for values that were built in Rust and so passed no reader's limit.

use serde_json::Value;

use crate::path::Path;

/// The first array or object that lies more than `allowed` levels deep.
///
/// The search goes no deeper than `allowed`, hence cannot exhaust the stack.
pub(crate) fn first_below(value: &Value, path: &Path<'_>, allowed: usize) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        Value::Array(_) | Value::Object(_) if allowed == 0 => Some(path.pointer()),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(index, item)| first_below(item, &path.index(index), allowed - 1)),
        Value::Object(map) => {
            map.iter().find_map(|(key, item)| first_below(item, &path.key(key), allowed - 1))
        }
    }
}

/// Drops a value level by level: the drop that comes with it would use a stack frame per level.
pub(crate) fn dismantle(value: Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::Array(list) => pending.extend(list),
            Value::Object(map) => pending.extend(map.into_iter().map(|(_, value)| value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]))
    }

    #[test]
    fn the_first_level_too_many_is_named() {
        assert_eq!(first_below(&nested(3), &Path::Root, 3), None);
        assert_eq!(first_below(&nested(4), &Path::Root, 3), Some("/0/0/0".to_owned()));
    }

    #[test]
    fn very_many_levels_are_refused_and_dropped() {
        let value = nested(100_000);
        assert!(first_below(&value, &Path::Root, 127).is_some());
        dismantle(value);
    }
}
