//! Reading a source's text: strictly, and within bounds.

use haft_adm::strict::{self, Limits};
use serde_json::Value;

use super::ImportError;

/// Far above any list of definitions, and far below what would hurt.
pub(super) const MOST_BYTES: usize = 64 << 20;

const MOST_VALUES: usize = 4_000_000;

pub(super) fn check_size(text: &str) -> Result<(), ImportError> {
    match text.len() {
        bytes if bytes > MOST_BYTES => Err(ImportError::TooLarge { bytes }),
        _ => Ok(()),
    }
}

/// One JSON document: no key twice, no number that would be rounded.
pub(super) fn json(text: &str) -> Result<Value, String> {
    let limits = Limits::default().with_bytes(MOST_BYTES).with_values(MOST_VALUES);
    strict::parse(text, limits).map_err(|errors| {
        let first = errors.iter().next().and_then(|error| error.position);
        match first.and_then(|place| crate::diagnostic::json_hint(text, place.offset)) {
            Some(hint) => format!("{errors}; {hint}"),
            None => errors.to_string(),
        }
    })
}

/// The definitions of a text that is one JSON document, or JSON Lines. A line that cannot be read
/// takes nothing but itself out.
pub(super) fn definitions(text: &str) -> Result<Vec<Result<Value, String>>, ImportError> {
    check_size(text)?;
    match json(text) {
        Ok(document) => spread(document),
        Err(why) => match lines(text) {
            Some(lines) => Ok(lines),
            None => Err(ImportError::Unreadable { format: "JSON or JSON Lines", why }),
        },
    }
}

/// The definitions inside of a document: itself, its elements, or those under `tools` as MCP's
/// `tools/list` and requests to models have them.
fn spread(document: Value) -> Result<Vec<Result<Value, String>>, ImportError> {
    match document {
        Value::Array(list) => Ok(list.into_iter().map(Ok).collect()),
        Value::Object(mut members) => {
            let is_definition = members.contains_key("name") || members.contains_key("function");
            for list in ["tools", "functions"] {
                if !is_definition && members.get(list).is_some_and(Value::is_array) {
                    return spread(members.remove(list).unwrap_or_default());
                }
            }
            Ok(vec![Ok(Value::Object(members))])
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Err(ImportError::NotDefinitions { expected: "a function definition or a list of them" })
        }
    }
}

/// JSON Lines, if the first line is an object by itself.
fn lines(text: &str) -> Option<Vec<Result<Value, String>>> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).map(json);
    let first = lines.next()?.ok().filter(Value::is_object)?;
    Some(std::iter::once(Ok(first)).chain(lines).collect())
}
