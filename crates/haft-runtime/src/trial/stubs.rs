//! Capabilities that answer what the test says, and remember what they were asked.

use std::collections::HashMap;

use haft_core::contract::Capability;
use haft_core::port::{Boxed, Provide, Scope};
use haft_core::{ErrorKind, ToolError};
use parking_lot::Mutex;
use serde_json::{Map, Value};

/// Every stub of a test.
pub(super) struct Stubs {
    answers: HashMap<String, Answers>,
    calls: Mutex<Vec<(String, Value)>>,
}

struct Answers {
    all: Vec<Result<Value, ToolError>>,
    next: Mutex<usize>,
    in_turn: bool,
}

impl Stubs {
    pub(super) fn read(stubs: &Map<String, Value>) -> Result<Self, String> {
        let mut answers = HashMap::new();
        for (name, stub) in stubs {
            let sequence = stub.get("sequence").and_then(Value::as_array);
            let all = match sequence {
                Some(sequence) => sequence.iter().map(answer).collect::<Result<Vec<_>, _>>(),
                None => answer(stub).map(|one| vec![one]),
            }
            .map_err(|why| format!("the stub of `{name}`: {why}"))?;
            let in_turn = sequence.is_some();
            answers.insert(canonical(name), Answers { all, next: Mutex::new(0), in_turn });
        }
        Ok(Self { answers, calls: Mutex::default() })
    }

    /// What was asked, in order.
    pub(super) fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().clone()
    }

    fn answer(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        self.calls.lock().push((name.to_owned(), arguments));
        let Some(answers) = self.answers.get(name) else {
            return Err(ToolError::new(
                ErrorKind::Internal,
                format!("the handler used `{name}`, and the test has no stub for it"),
            ));
        };
        let mut next = answers.next.lock();
        let at = if answers.in_turn { *next } else { 0 };
        *next += 1;
        answers.all.get(at).cloned().unwrap_or_else(|| {
            Err(ToolError::new(
                ErrorKind::Internal,
                format!(
                    "`{name}` was used {} times, and its sequence has {}",
                    at + 1,
                    answers.all.len()
                ),
            ))
        })
    }
}

/// `call_tool.helper` and `callTool.helper` are one.
pub(super) fn canonical(name: &str) -> String {
    let (prefix, method) = name.split_once('.').map_or((name, None), |(p, m)| (p, Some(m)));
    let known =
        Capability::ALL.into_iter().find(|one| one.as_str() == prefix || one.in_js() == prefix);
    let prefix: &str = known.map_or(prefix, |known| known.in_js());
    match method {
        Some(method) if prefix != Capability::CallTool.in_js() => format!("{prefix}.{method}"),
        Some(_) | None => prefix.to_owned(),
    }
}

fn answer(stub: &Value) -> Result<Result<Value, ToolError>, String> {
    if let Some(value) = stub.get("returns") {
        return Ok(Ok(value.clone()));
    }
    let Some(error) = stub.get("throws") else {
        return Err("it has neither `returns` nor `throws`".to_owned());
    };
    let word = error.get("kind").and_then(Value::as_str).unwrap_or_default();
    let kind = ErrorKind::parse(word).ok_or_else(|| format!("`{word}` is not an error kind"))?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or(word);
    Ok(Err(ToolError::new(kind, message)))
}

/// One capability of a test.
pub(super) struct Stub {
    pub(super) capability: Capability,
    pub(super) stubs: std::sync::Arc<Stubs>,
}

impl Provide for Stub {
    fn provide<'a>(
        &'a self,
        _: &'a Scope,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        let name = canonical(&format!("{}.{method}", self.capability.in_js()));
        Box::pin(async move { self.stubs.answer(&name, arguments) })
    }

    fn reads_connection(&self) -> bool {
        false
    }

    /// What is named after looking something up changes nothing; of the rest nobody knows what the
    /// real one would have done, so a handler that says that a part may have been done is believed.
    fn writes(&self, method: &str) -> bool {
        const LOOKS: [&str; 7] = ["find", "free", "get", "head", "is", "list", "search"];
        let reads = matches!(self.capability, Capability::Kb | Capability::Clock);
        !reads && !LOOKS.iter().any(|look| method.starts_with(look))
    }

    /// What only looks like it is not refused.
    fn changes(&self, method: &str) -> bool {
        self.capability.changes(method)
    }
}
