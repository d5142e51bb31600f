//! A tool, a host of stubs and a pool of real children.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haft_core::Caller;
use haft_core::Digest;
use haft_core::contract::{Capability, Mode};
use haft_core::error::{ErrorKind, ToolError};
use haft_core::port::{Boxed, Ended, Execute, Host, Job, Scope, SessionView};
use haft_core::registry::{Implementation, Tool};
use haft_exec::Js;
use haft_exec::js::Settings;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// What a capability answers.
pub(crate) type Answer = Arc<dyn Fn(&Value) -> Result<Value, ToolError> + Send + Sync>;

/// Stubbed capabilities, and what was asked of them.
#[derive(Default)]
pub(crate) struct Stubs {
    answers: HashMap<String, Answer>,
    pub(crate) asked: Mutex<Vec<(String, Value)>>,
    /// Gates: a method waits until its gate opens.
    gates: HashMap<String, Arc<tokio::sync::Semaphore>>,
}

impl Stubs {
    pub(crate) fn on(
        mut self,
        method: &str,
        answer: impl Fn(&Value) -> Result<Value, ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.answers.insert(method.to_owned(), Arc::new(answer));
        self
    }

    pub(crate) fn gated(mut self, method: &str, gate: Arc<tokio::sync::Semaphore>) -> Self {
        self.gates.insert(method.to_owned(), gate);
        self
    }
}

impl Host for Stubs {
    fn call<'a>(
        &'a self,
        capability: Capability,
        method: &'a str,
        arguments: Value,
    ) -> Boxed<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let name = format!("{}.{method}", capability.in_js());
            self.asked.lock().push((name.clone(), arguments.clone()));
            if let Some(gate) = self.gates.get(&name) {
                gate.acquire().await.unwrap().forget();
            }
            match self.answers.get(&name) {
                Some(answer) => answer(&arguments),
                None => Err(ToolError::new(ErrorKind::Internal, format!("no stub for {name}"))),
            }
        })
    }
}

pub(crate) fn tool_with(handler: Implementation, capabilities: &Value) -> Tool {
    let contract = json!({
        "toolId": "probe", "version": "1.2.3", "description": "a tool for tests",
        "category": "utility", "sideEffects": "none", "effect": "read_only",
        "sideEffectPolicy": "pure", "idempotent": true, "requiresConfirmation": false,
        "allowedModes": ["text", "voice"], "latencyBudgetMs": 1000,
        "parameters": { "type": "object" }, "redaction": { "allow": [] },
        "arguments": { "mode": "strict", "fraction": "refuse" },
        "capabilities": capabilities, "limits": {},
    });
    Tool {
        id: "core__probe".into(),
        digest: Digest::of_bytes(b"probe"),
        contract: serde_json::from_value(contract).unwrap(),
        parameters: Vec::new(),
        summary: String::new(),
        doc: String::new(),
        handler,
    }
}

pub(crate) fn js(source: &str) -> Implementation {
    Implementation::Js { digest: Digest::of_bytes(source.as_bytes()), source: source.into() }
}

pub(crate) fn tool(source: &str, capabilities: &Value) -> Arc<Tool> {
    Arc::new(tool_with(js(source), capabilities))
}

pub(crate) fn scope(call: &str) -> Arc<Scope> {
    Arc::new(Scope {
        call: call.into(),
        caller: Caller::agent("studio", "assistant"),
        mode: Mode::Text,
        session: SessionView { active: true, turn: 3, ..SessionView::default() },
        connection: None,
        only: None,
        through: vec!["core__probe".into()],
    })
}

/// A job with nothing out of the ordinary.
pub(crate) fn job(tool: Arc<Tool>, arguments: Value, host: Arc<dyn Host>) -> Job {
    Job::new(tool, arguments, scope("call_1"), host, Duration::from_secs(20), None)
}

/// A pool of real children.
pub(crate) fn pool(children: usize) -> Js {
    Js::new(settings(children))
}

pub(crate) fn settings(children: usize) -> Settings {
    Settings {
        program: Some(env!("CARGO_BIN_EXE_haft-sandbox").into()),
        warm: children,
        most: children,
        ..Settings::default()
    }
}

/// Runs a handler that needs nothing.
pub(crate) async fn run(js: &Js, source: &str, arguments: Value) -> Ended {
    js.execute(job(tool(source, &json!([])), arguments, Arc::new(Stubs::default()))).await
}

/// Runs the body of a handler with every capability.
pub(crate) async fn body(js: &Js, body: &str, host: &Arc<Stubs>) -> Ended {
    let source = format!("export async function execute({{ args, context }}) {{ {body} }}");
    let all: Vec<&str> = Capability::ALL.iter().map(|capability| capability.as_str()).collect();
    js.execute(job(tool(&source, &json!(all)), json!({}), host.clone())).await
}

pub(crate) fn returned(data: Value) -> Ended {
    Ended::Returned { data, intents: Vec::new() }
}

/// The answer's data.
#[track_caller]
pub(crate) fn data(ended: Ended) -> Value {
    match ended {
        Ended::Returned { data, .. } => data,
        Ended::Failed(error)
        | Ended::NotBegun(error)
        | Ended::Lost(error)
        | Ended::Unusable(error) => {
            panic!("expected an answer, got {error:?}")
        }
    }
}

/// The error and the way it came.
#[track_caller]
pub(crate) fn error(ended: Ended) -> (&'static str, ToolError) {
    match ended {
        Ended::Failed(error) => ("failed", error),
        Ended::NotBegun(error) => ("not begun", error),
        Ended::Lost(error) => ("lost", error),
        Ended::Unusable(error) => ("unusable", error),
        Ended::Returned { data, .. } => panic!("expected an error, got {data}"),
    }
}
