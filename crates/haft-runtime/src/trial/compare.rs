//! What was expected beside what came.

use std::fmt;

use haft_core::Envelope;
use haft_core::pointer::escape;
use serde_json::{Value, json};

use super::ExpectedCall;
use super::stubs::canonical;

/// One place where the two are not the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where: a JSON pointer into the answer, or the number of a capability call.
    pub at: String,
    /// What was expected; absent where nothing was.
    pub expected: Option<Value>,
    /// What came; absent where nothing did.
    pub found: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text =
            |value: &Option<Value>| value.as_ref().map_or("nothing".into(), Value::to_string);
        write!(f, "{}: expected {}, found {}", self.at, text(&self.expected), text(&self.found))
    }
}

/// What is expected of an answer must be there; what is not mentioned may be anything.
pub(super) fn answer(expected: &Value, envelope: &Envelope) -> Vec<Difference> {
    let intents: Vec<_> = envelope.intents.iter().map(|applied| json!(applied.intent)).collect();
    let found = match &envelope.result {
        Ok(data) => json!({ "ok": true, "data": data, "intents": intents }),
        Err(error) => json!({ "ok": false, "error": error }),
    };
    let mut differences = Vec::new();
    part(expected, &found, String::new(), &mut differences);
    // Whoever expected none wants to know which, and what the log would say.
    if let (Err(error), Some(Value::Bool(true))) = (&envelope.result, expected.get("ok")) {
        let mut told = json!({ "kind": error.kind, "message": error.message });
        if let (Some(told), Some(source)) = (told.as_object_mut(), &error.source) {
            told.insert("because".to_owned(), json!(source));
        }
        differences.push(Difference { at: "/error".to_owned(), expected: None, found: Some(told) });
    }
    differences
}

fn part(expected: &Value, found: &Value, at: String, out: &mut Vec<Difference>) {
    match (expected, found) {
        (Value::Object(wanted), Value::Object(there)) => {
            for (name, wanted) in wanted {
                let at = format!("{at}/{}", escape(name));
                match there.get(name) {
                    Some(there) => part(wanted, there, at, out),
                    None => {
                        out.push(Difference { at, expected: Some(wanted.clone()), found: None })
                    }
                }
            }
        }
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => {
            for (index, (wanted, there)) in wanted.iter().zip(there).enumerate() {
                part(wanted, there, format!("{at}/{index}"), out);
            }
        }
        _ if same(expected, found) => {}
        _ => out.push(Difference {
            at,
            expected: Some(expected.clone()),
            found: Some(found.clone()),
        }),
    }
}

/// 1 and 1.0 are one number.
fn same(one: &Value, other: &Value) -> bool {
    one == other || matches!((one.as_f64(), other.as_f64()), (Some(a), Some(b)) if a == b)
}

/// The capability calls must be exactly these, in this order.
pub(super) fn calls(expected: &[ExpectedCall], found: &[(String, Value)]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for index in 0..expected.len().max(found.len()) {
        let at = format!("capability call {}", index + 1);
        match (expected.get(index), found.get(index)) {
            (Some(wanted), Some((name, arguments))) => {
                let wanted_name = canonical(&wanted.capability);
                if wanted_name != *name {
                    let (expected, found) = (Some(json!(wanted_name)), Some(json!(name)));
                    differences.push(Difference { at, expected, found });
                } else if let Some(wanted) = &wanted.args {
                    part(wanted, arguments, format!("{at}: {name}"), &mut differences);
                }
            }
            (Some(wanted), None) => {
                let expected = Some(json!(wanted.capability));
                differences.push(Difference { at, expected, found: None });
            }
            (None, Some((name, _))) => {
                differences.push(Difference { at, expected: None, found: Some(json!(name)) });
            }
            (None, None) => {}
        }
    }
    differences
}
