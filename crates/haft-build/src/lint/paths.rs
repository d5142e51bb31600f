//! Paths into a schema, as contracts write them: `filters.tags`, `results[].id`.

use serde_json::Value;

/// Where a path leads.
#[derive(Debug, PartialEq)]
pub(crate) enum Found<'a> {
    /// To this schema.
    Schema(&'a Value),
    /// Into an object or list that takes anything.
    Open,
    /// Nowhere; these names are known where it went astray.
    Nothing(Vec<&'a str>),
}

/// Follows a dotted path; `[]` after a name stands for the elements of a list.
pub(crate) fn find<'a>(schema: &'a Value, path: &str) -> Found<'a> {
    let mut here = follow(schema, schema);
    for step in path.split('.') {
        let name = step.trim_end_matches("[]");
        here = match member(here, name) {
            Found::Schema(inner) => follow(schema, inner),
            astray @ (Found::Open | Found::Nothing(_)) => return astray,
        };
        for _ in 0..(step.len() - name.len()) / 2 {
            here = match here.get("items") {
                Some(items) if items.is_object() => follow(schema, items),
                _ if is(here, "array") => return Found::Open,
                _ => return Found::Nothing(Vec::new()),
            };
        }
    }
    Found::Schema(here)
}

/// Follows a JSON pointer into values of the schema: `/event/id`.
pub(crate) fn find_pointer<'a>(schema: &'a Value, pointer: &str) -> Found<'a> {
    let mut here = follow(schema, schema);
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let next = match (name.parse::<usize>(), here.get("items")) {
            (Ok(_), Some(items)) if items.is_object() => Found::Schema(items),
            (Ok(_), None) if is(here, "array") => return Found::Open,
            _ => member(here, &name),
        };
        here = match next {
            Found::Schema(inner) => follow(schema, inner),
            astray @ (Found::Open | Found::Nothing(_)) => return astray,
        };
    }
    Found::Schema(here)
}

/// Whether a value that a pointer leads to can be absent from what the schema takes. `filled`:
/// defaults are filled in, so a member that has one is there.
pub(crate) fn may_be_missing(schema: &Value, pointer: &str, filled: bool) -> bool {
    let mut here = follow(schema, schema);
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        if let (Ok(index), Some(items)) = (name.parse::<u64>(), here.get("items")) {
            if here.get("minItems").and_then(Value::as_u64).unwrap_or(0) <= index {
                return true;
            }
            here = follow(schema, items);
            continue;
        }
        let Found::Schema(inner) = member(here, &name) else { return false };
        let required = here.get("required").and_then(Value::as_array);
        let required = required.is_some_and(|names| names.iter().any(|other| *other == name));
        let there = required || (filled && inner.get("default").is_some());
        if !there {
            return true;
        }
        here = follow(schema, inner);
    }
    false
}

fn member<'a>(schema: &'a Value, name: &str) -> Found<'a> {
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(found) = properties.and_then(|map| map.get(name)) {
        return Found::Schema(found);
    }
    match schema.get("additionalProperties") {
        Some(values @ Value::Object(_)) => Found::Schema(values),
        Some(Value::Bool(true)) => Found::Open,
        None if properties.is_none() && (is(schema, "object") || schema.get("type").is_none()) => {
            Found::Open
        }
        _ => Found::Nothing(properties.into_iter().flatten().map(|(n, _)| n.as_str()).collect()),
    }
}

/// A subschema with the definitions that its references lead to, to be judged by itself.
pub(crate) fn standing(root: &Value, schema: &Value) -> Value {
    let mut alone = schema.clone();
    if let (Some(defs), Some(map)) = (root.get("$defs"), alone.as_object_mut()) {
        map.insert("$defs".into(), defs.clone());
    }
    alone
}

/// Whether a schema's type is, or may be, this one.
pub(crate) fn is(schema: &Value, type_name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == type_name,
        Some(Value::Array(names)) => names.iter().any(|name| name == type_name),
        _ => false,
    }
}

fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    // A bound instead of a search for circles: no honest chain of references is this long.
    (0..16).fold(schema, |schema, _| {
        let target = schema.get("$ref").and_then(Value::as_str);
        target.and_then(|t| root.pointer(t.strip_prefix('#')?)).unwrap_or(schema)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_where_they_say() {
        let schema = json!({
            "type": "object",
            "properties": {
                "results": {"type": "array", "items": {"$ref": "#/$defs/hit"}},
                "meta": {"type": "object"},
                "by_name": {"type": "object", "additionalProperties": {"type": "integer"}}
            },
            "$defs": {"hit": {"type": "object", "properties": {"id": {"type": "string"}}}}
        });
        let string = json!({"type": "string"});
        for (path, expected) in [
            ("results[].id", Found::Schema(&string)),
            ("results.id", Found::Nothing(vec![])),
            ("results[].di", Found::Nothing(vec!["id"])),
            ("meta.anything", Found::Open),
            ("by_name.x", Found::Schema(&json!({"type": "integer"}))),
            ("gone", Found::Nothing(vec!["results", "meta", "by_name"])),
        ] {
            assert_eq!(find(&schema, path), expected, "{path}");
        }
        assert_eq!(find_pointer(&schema, "/results/0/id"), Found::Schema(&string));
    }
}
