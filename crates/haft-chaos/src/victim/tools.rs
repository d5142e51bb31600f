//! The tools: each asks the sink, and says what it knows.

use std::sync::Arc;

use haft_core::{ErrorKind, ToolError};
use haft_exec::Native;
use haft_exec::native::Context;
use serde_json::{Value, json};

use super::provider::{Came, Provider};

/// What is broken on purpose, to see that the checker notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sabotage {
    /// The database is lost with the process.
    Forget,
    /// A lost answer is called a failure.
    Lie,
    /// A success is reported without asking the sink.
    Boast,
}

impl Sabotage {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Forget => "forget",
            Self::Lie => "lie",
            Self::Boast => "boast",
        }
    }
}

pub(super) fn native(provider: &Arc<Provider>, sabotage: Option<Sabotage>) -> Native {
    let mut native = Native::new();
    for tool in ["look", "put", "book", "unbook", "order", "gift"] {
        let provider = provider.clone();
        native = native.raw(format!("chaos__{tool}"), move |arguments, context| {
            let provider = provider.clone();
            async move { act(&provider, tool, &arguments, &context, sabotage).await }
        });
    }
    let provider = provider.clone();
    native.raw("chaos__done", move |arguments, _| {
        let provider = provider.clone();
        async move {
            let done = provider.probe(text(&arguments, "tool"), text(&arguments, "item")).await?;
            Ok(json!({ "done": done }))
        }
    })
}

fn text<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

async fn act(
    provider: &Provider,
    tool: &str,
    arguments: &Value,
    context: &Context,
    sabotage: Option<Sabotage>,
) -> Result<Value, ToolError> {
    let item = text(arguments, "item");
    if sabotage == Some(Sabotage::Boast) {
        return Ok(json!({ "receipt": 1 }));
    }
    let key = context.provider_key().unwrap_or("-");
    match provider.act(tool, item, context.call_id(), key).await {
        Came::Done(receipt) => Ok(json!({ "receipt": receipt })),
        Came::NotDone(why) => Err(ToolError::new(ErrorKind::Transient, why)),
        Came::Lost(why) => {
            let mut error = ToolError::new(ErrorKind::Transient, why);
            error.partial_side_effects = sabotage != Some(Sabotage::Lie);
            Err(error)
        }
    }
}
