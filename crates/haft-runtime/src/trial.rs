//! A tool's own tests: calls with stubbed capabilities, taken through the one path.
//!
//! Capabilities are stubs, so a sandboxed handler reaches nothing real; a native function and a program
//! reach what they reach, so whoever tries one that writes has to mean it. Nothing is skipped for a test.
//! Where a person must approve, the trial approves as a person would; where a session has ended, it has ended.

mod compare;
mod stubs;

use std::sync::Arc;

use haft_core::contract::{Capability, Mode};
use haft_core::port::{Ask, Decide, Decision, Execute, Invoke as _, Standing, Store, Verdict};
use haft_core::{Call, Caller, Digest, Envelope, Principal, Registry, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use compare::Difference;
use stubs::{Stub, Stubs};

use crate::policy::Grant;
use crate::runtime::{Runtime, asked};
use crate::toolbox::Records;

/// The connection of every test.
const CONNECTION: &str = "trial";

/// `tests.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestFile {
    /// The tests.
    pub tests: Vec<Test>,
}

/// One call and what must come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Test {
    /// What it shows.
    pub name: String,
    /// How model and user talk.
    #[serde(default = "text")]
    mode: Mode,
    args: Value,
    #[serde(default)]
    stubs: Map<String, Value>,
    #[serde(default)]
    session: Map<String, Value>,
    expect: Value,
    #[serde(default)]
    expect_calls: Option<Vec<ExpectedCall>>,
}

fn text() -> Mode {
    Mode::Text
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedCall {
    capability: String,
    #[serde(default)]
    args: Option<Value>,
}

/// What a test came to.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// Where the answer or the calls are not as expected; empty when all is well.
    pub differences: Vec<Difference>,
    /// What came.
    pub envelope: Envelope,
}

/// Runs one test of one tool.
///
/// # Errors
///
/// The test itself cannot be run: a stub is malformed, or the store failed.
pub async fn run(
    registry: &Registry,
    tool: &str,
    test: &Test,
    store: Arc<dyn Store>,
    executors: Arc<dyn Execute>,
) -> Result<Verdicts, String> {
    let stubs = Arc::new(Stubs::read(&test.stubs)?);
    let mut builder = Runtime::builder(registry.clone(), store, executors)
        .policy(Arc::new(Anything))
        .records(records(registry, tool));
    for capability in Capability::ALL {
        builder = builder.provide(capability, Arc::new(Stub { capability, stubs: stubs.clone() }));
    }
    let runtime = builder.build().map_err(|error| error.to_string())?;
    let envelope = make(&runtime, tool, test).await.map_err(|error| error.to_string())?;
    let mut differences = compare::answer(&test.expect, &envelope);
    if let Some(expected) = &test.expect_calls {
        differences.extend(compare::calls(expected, &stubs.calls()));
    }
    Ok(Verdicts { differences, envelope })
}

/// One tenant with one agent, and the connection that the tool needs.
fn records(registry: &Registry, tool: &str) -> Records {
    let needed = registry.find(tool).and_then(|tool| tool.contract.connection.as_ref());
    let grants = needed.map(|needed| Grant {
        connection: CONNECTION.to_owned(),
        provider: needed.provider.clone(),
        tenant: "default".to_owned(),
        principals: vec!["*".to_owned()],
        tools: vec!["*".to_owned()],
    });
    Records { grants: grants.into_iter().collect(), ..Records::of_one("default", "default") }
}

async fn make(runtime: &Runtime, tool: &str, test: &Test) -> Result<Envelope, ToolError> {
    let mut caller = Caller::agent("default", "default");
    caller.subject = Some(Principal::user("trial"));
    let session = runtime.open(&caller, test.mode).await?;
    if test.session.get("active") == Some(&json!(false)) {
        runtime.close(&caller, &session.id).await?;
    }
    let mut call = Call::new(caller, tool, test.args.clone());
    call.mode = test.mode;
    call.session = Some(session.id);
    call.connection = Some(CONNECTION.to_owned());
    call.connections = vec![CONNECTION.to_owned()];
    let envelope = runtime.invoke(call.clone()).await;
    match asked(&envelope) {
        Some(id) => {
            let approver = Principal::user("approver");
            call.confirmation = runtime.confirm("default", id, true, &approver).await?.token;
            Ok(runtime.invoke(call).await)
        }
        None => Ok(envelope),
    }
}

/// Allows everything: a test is about the tool, not about who may use it.
struct Anything;

impl Decide for Anything {
    fn version(&self) -> Digest {
        Digest::of_bytes(b"anything")
    }

    fn standing(&self, ask: &Ask<'_>) -> Standing {
        Standing::Settled(self.decide(ask))
    }

    fn decide(&self, _: &Ask<'_>) -> Arc<Decision> {
        Arc::new(Decision {
            verdict: Verdict::Allow,
            rule: "trial".into(),
            why: "a test may do anything".into(),
            enable: None,
        })
    }

    fn holds(&self, _: &str, _: &Ask<'_>) -> Result<bool, String> {
        Ok(true)
    }
}
