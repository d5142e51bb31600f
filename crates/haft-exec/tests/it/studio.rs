//! The handlers of the bundled toolset, with the stubs of their own tests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_core::contract::Mode;
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Ended, Execute as _, Job, Scope};
use haft_core::validator;
use haft_exec::Js;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::rig::{Stubs, js, pool, scope, tool_with};

fn read(path: &Path) -> Option<Value> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Fills in what arguments leave out, as the path does before a handler runs.
fn fill(schema: &Value, value: &mut Value) {
    let (Some(properties), Some(fields)) =
        (schema["properties"].as_object(), value.as_object_mut())
    else {
        return;
    };
    for (name, schema) in properties {
        if let Some(default) = schema.get("default") {
            fields.entry(name.as_str()).or_insert_with(|| default.clone());
        }
        if let Some(field) = fields.get_mut(name) {
            fill(schema, field);
        }
    }
}

/// Whether everything that is expected is there; more may be.
fn holds(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => expected
            .iter()
            .all(|(name, value)| found.get(name).is_some_and(|found| holds(value, found))),
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len()
                && expected.iter().zip(found).all(|(expected, found)| holds(expected, found))
        }
        (expected, found) => expected == found,
    }
}

fn stubs(test: &Value) -> Stubs {
    let mut host = Stubs::default();
    let none = serde_json::Map::new();
    for (name, answer) in test["stubs"].as_object().unwrap_or(&none) {
        let steps: Vec<Value> = match answer.get("sequence") {
            Some(steps) => steps.as_array().unwrap().clone(),
            None => vec![answer.clone()],
        };
        let left = Mutex::new(steps.into_iter());
        let last: Mutex<Option<Value>> = Mutex::new(None);
        host = host.on(name, move |_| {
            let step = left.lock().next().or_else(|| last.lock().clone()).unwrap();
            *last.lock() = Some(step.clone());
            match step.get("throws") {
                None => Ok(step["returns"].clone()),
                Some(thrown) => Err(ToolError::new(
                    ErrorKind::parse(thrown["kind"].as_str().unwrap()).unwrap(),
                    thrown["message"].as_str().unwrap_or("failed"),
                )),
            }
        });
    }
    host
}

fn envelope(ended: Ended) -> Value {
    match ended {
        Ended::Returned { data, intents } => json!({"ok": true, "data": data, "intents": intents}),
        // What failed halfway is in doubt: that is what the path makes of it.
        Ended::Failed(mut error) if error.partial_side_effects => {
            error.kind = ErrorKind::UnknownOutcome;
            json!({"ok": false, "error": error, "source": error.source})
        }
        Ended::Failed(error)
        | Ended::NotBegun(error)
        | Ended::Lost(error)
        | Ended::Unusable(error) => {
            json!({"ok": false, "error": error, "source": error.source})
        }
    }
}

/// Runs one test; the clamps of a mode are the path's and are skipped.
async fn check(sandbox: &Js, folder: &Path, schema: &Value, test: &Value) -> Option<()> {
    let name = format!("{}: {}", folder.display(), test["name"]);
    let mut arguments = test["args"].clone();
    fill(&schema["parameters"], &mut arguments);
    let compiled = validator::compile(&schema["parameters"]).unwrap();
    let mode = test["mode"].as_str().unwrap_or("text");
    if !validator::errors(&compiled, &arguments).is_empty() || !schema["modes"][mode].is_null() {
        return None;
    }
    let source = fs::read_to_string(folder.join("handler.js")).unwrap();
    let mut tool = tool_with(js(&source), &schema["capabilities"]);
    tool.id = format!("studio__{}", schema["toolId"].as_str().unwrap());
    let mut session = scope("c").session.clone();
    session.active = test["session"]["active"].as_bool().unwrap_or(false);
    let mode = if mode == "voice" { Mode::Voice } else { Mode::Text };
    let scope = Arc::new(Scope { mode, session, ..(*scope("call_1")).clone() });
    let host = Arc::new(stubs(test));
    let deadline = Duration::from_secs(20);
    let job = Job::new(Arc::new(tool), arguments, scope, host.clone(), deadline, None);
    let found = envelope(sandbox.execute(job).await);
    assert!(holds(&test["expect"], &found), "{name}: expected {}, found {found}", test["expect"]);
    if let Some(calls) = test["expectCalls"].as_array() {
        let asked = host.asked.lock().clone();
        assert_eq!(calls.len(), asked.len(), "{name}: {asked:?}");
        for (call, (method, arguments)) in calls.iter().zip(&asked) {
            assert_eq!(call["capability"], *method, "{name}");
            let expected = call.get("args").unwrap_or(&Value::Null);
            assert!(expected.is_null() || holds(expected, arguments), "{name}: {arguments}");
        }
    }
    Some(())
}

#[tokio::test]
async fn the_bundled_handlers_pass_their_own_tests() {
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../toolsets/studio/tools");
    let sandbox = pool(1);
    let mut ran: HashMap<String, usize> = HashMap::new();
    for entry in fs::read_dir(tools).unwrap().flatten() {
        let folder = entry.path();
        if !folder.join("handler.js").exists() {
            continue;
        }
        let schema = read(&folder.join("schema.json")).unwrap();
        let tests = read(&folder.join("tests.json")).unwrap();
        for test in tests["tests"].as_array().unwrap() {
            let count = ran.entry(entry.file_name().to_str().unwrap().to_owned()).or_default();
            *count += usize::from(check(&sandbox, &folder, &schema, test).await.is_some());
        }
    }
    assert_eq!(ran.len(), 13, "{ran:?}");
    assert!(ran.values().all(|count| *count > 0), "{ran:?}");
}
