//! What comes back: the schema of the first success, and what is said about failures.

use serde_json::Value;

use super::super::log::Log;
use super::super::report::Severity;
use super::arguments::other_media;
use super::{Operation, json_content};

/// The schema of the result as it came, and a line per failure.
pub(super) fn read<'a>(
    operation: &Operation<'a>,
    log: &mut Log,
) -> Result<(Option<&'a Value>, Vec<String>), String> {
    let (mut output, mut failures) = (None, Vec::new());
    let responses = operation.members.get("responses").and_then(Value::as_object);
    for (status, response) in responses.into_iter().flatten() {
        let at = format!("/responses/{status}");
        let response = operation.source.follow(response)?;
        for field in ["links", "headers"] {
            if response.get(field).is_some() {
                log.note(Severity::Dropped, &at, format!("`{field}` are not carried over"));
            }
        }
        if !status.starts_with('2') {
            let text = response.get("description").and_then(Value::as_str).unwrap_or_default();
            failures.push(format!("{status}: {}", text.trim()));
            if response.get("content").is_some() {
                let what = format!("the body of {status} is not described by a contract");
                log.note(Severity::Dropped, &at, what);
            }
            continue;
        }
        let schema = json_content(response).0.and_then(|content| content.get("schema"));
        match (schema, output) {
            (Some(schema), None) => {
                other_media(response, &at, log);
                output = Some(schema);
            }
            (Some(_), Some(_)) => {
                let what = format!("only one result is described, and {status} is another");
                log.note(Severity::Dropped, &at, what);
            }
            (None, _) => other_media(response, &at, log),
        }
    }
    Ok((output, failures))
}
