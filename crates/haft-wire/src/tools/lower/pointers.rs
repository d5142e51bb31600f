//! References in schemas whose members have other names now, or whose root has less in it.

use serde_json::Value;

use super::{Step, join, stop};
use crate::names::Names;

/// A reference by the names that members have now.
pub(super) fn moved(target: &str, names: &Names) -> String {
    let mut steps = target.split('/').peekable();
    let mut moved = steps.next().unwrap_or_default().to_owned();
    while let Some(keyword) = steps.next() {
        moved = format!("{moved}/{keyword}");
        let named = matches!(keyword, "properties" | "dependentSchemas");
        let listed = matches!(
            keyword,
            "$defs" | "patternProperties" | "anyOf" | "oneOf" | "allOf" | "prefixItems"
        );
        if let Some(step) = steps.next_if(|_| named || listed) {
            let name = step.replace("~1", "/").replace("~0", "~");
            let name = if named { names.wire(&name) } else { &name };
            moved = join(&moved, name);
        }
    }
    moved
}

/// Refuses references to what was moved or described away.
pub(super) fn dangling(schema: &Value, root: &Value, at: &str) -> Step<()> {
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                match (keyword.as_str(), value) {
                    ("$ref", Value::String(target)) => {
                        let pointer = target.strip_prefix('#');
                        if pointer.and_then(|pointer| root.pointer(pointer)).is_none() {
                            let why = format!(
                                "the reference `{target}` leads into alternatives of the root, \
                                 which may not be shown; move that schema to `$defs`"
                            );
                            return Err(stop(at, &why));
                        }
                    }
                    ("enum" | "const" | "default" | "examples" | "required", _) => {}
                    (
                        "properties" | "$defs" | "patternProperties" | "dependentSchemas",
                        Value::Object(named),
                    ) => {
                        for inner in named.values() {
                            dangling(inner, root, at)?;
                        }
                    }
                    (_, inner) => dangling(inner, root, at)?,
                }
            }
        }
        Value::Array(list) => {
            for inner in list {
                dangling(inner, root, at)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}
