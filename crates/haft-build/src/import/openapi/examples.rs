//! Calls that the document shows, as far as its own schemas accept them.

use serde_json::{Map, Value};

use super::super::log::Log;
use super::super::report::Severity;
use super::Source;
use super::arguments::{Arguments, example_of};
use crate::lint::text::has_secret;
use haft_core::validator;

/// Arguments of a call, put together from the examples of parameters and body.
pub(super) fn gather(
    source: &Source<'_>,
    arguments: &Arguments,
    content: Option<&Value>,
    parameters: &Value,
    log: &mut Log,
) -> Vec<Value> {
    let mut call: Map<String, Value> = arguments.shown.clone();
    match (content.and_then(|content| example_of(source, content)), &arguments.body_from) {
        (Some(shown), Some(name)) => {
            call.insert(name.clone(), shown.clone());
        }
        (Some(Value::Object(shown)), None) => call.extend(shown.clone()),
        _ => {}
    }
    if call.is_empty() {
        return Vec::new();
    }
    let call = Value::Object(call);
    // Made up or not, it looks like one: no file holds it, and the report does not repeat it.
    if has_secret(&call.to_string()) {
        let what = "the example that the document gives holds what looks like a secret, so it is not shown";
        log.note(Severity::Dropped, "", what);
        return Vec::new();
    }
    if validator::compile(parameters).is_ok_and(|compiled| compiled.is_valid(&call)) {
        return vec![call];
    }
    let what = "the examples that the document gives make no whole call, so none is shown";
    log.record(Severity::Dropped, "", what, (Some(call), None));
    Vec::new()
}
