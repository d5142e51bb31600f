//! A program of its own that runs a tool through the one path.

use std::sync::Arc;

use haft_core::port::Invoke as _;
use haft_core::{Call, Caller, Registry, ToolError};
use haft_exec::native::{Context, Native};
use haft_runtime::Runtime;
use haft_runtime::policy::{Policy, Rules, Source};
use haft_store::Memory;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Greet {
    name: String,
}

async fn greet(args: Greet, _: Context) -> Result<Value, ToolError> {
    Ok(json!({ "text": format!("hello {}", args.name) }))
}

#[expect(clippy::print_stdout, reason = "an example shows what it did")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::load(include_str!("embed/registry.json"), &Default::default())?;
    let rules = Rules { allow: vec!["demo__*".into()], ..Rules::default() };
    let source = Source { rules: rules.clone(), ..Source::default() };
    let policy = Policy::load(&source, &[&registry]).map_err(|problems| format!("{problems:?}"))?;
    let native = Native::new().tool("demo__greet", greet);
    let runtime = Runtime::builder(registry, Arc::new(Memory::new()), Arc::new(native))
        .policy(Arc::new(policy))
        // The policy says who may call what; budgets and rates are kept by the runtime itself.
        .rules(rules)
        .build()?;
    let call = Call::new(Caller::agent("default", "default"), "greet", r#"{"name": "mara"}"#);
    println!("{}", serde_json::to_string_pretty(&runtime.invoke(call).await)?);
    Ok(())
}
