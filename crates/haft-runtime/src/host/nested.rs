//! Tools that call tools: through the same path, with a key of their own.

use std::sync::Arc;

use haft_core::call::{Keyed, RawArguments, Within};
use haft_core::contract::SideEffectPolicy;
use haft_core::{Call, Digest, Envelope, ErrorKind, ToolError};
use serde_json::{Value, json};

use super::Bound;
use crate::path::{self, UNDONE};
use crate::runtime::Inner;
use crate::shelf::Loaded;

/// Whether the answer is that of something which does not stand any more.
fn is_undone(envelope: &Envelope) -> bool {
    envelope.result.is_ok() && envelope.meta.warnings.iter().any(|one| one.code == UNDONE)
}

/// A handler goes on from what it is told, so it is not told that what was taken back is done.
fn undone(tool: &str) -> ToolError {
    let message = format!(
        "`{}` was done before in this call, and has been undone since; it is not done again",
        path::shown(tool)
    );
    ToolError::new(ErrorKind::Conflict, message)
        .suggest("make the whole call again under a new key, if it is still wanted")
}

impl Bound {
    pub(super) async fn call_tool(
        &self,
        inner: &Arc<Inner>,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        let scope = &self.scope;
        let key = self.key.as_ref().map(|parent| self.place(parent, tool, &arguments));
        let mut call = Call::new(scope.caller.clone(), tool, arguments);
        call.mode = scope.mode;
        call.session.clone_from(&scope.session.id);
        call.connection.clone_from(&scope.connection);
        call.connections = scope.connection.iter().cloned().collect();
        call.through.clone_from(&scope.through);
        let turn = scope.session.turn;
        call.within = Some(Within { call: scope.call.clone(), key: self.key.clone(), turn });
        call.only.clone_from(&scope.only);
        (call.key, call.keyed) = (key, Keyed::Own);
        call.purpose = self.purpose;
        let named = inner.named(&call, &scope.session.registry_version);
        let writes = named.as_ref().is_some_and(|tool| tool.writes);
        self.confide(named.and_then(|tool| tool.loaded), &call.arguments);
        if writes {
            if self.class == SideEffectPolicy::Pure {
                return Err(ToolError::new(
                    ErrorKind::Denied,
                    format!(
                        "a tool that only reads cannot call `{}`, which writes",
                        path::shown(tool)
                    ),
                ));
            }
            self.writing();
        }
        let envelope = Box::pin(path::take(inner, call)).await;
        if writes {
            self.written(&envelope.result);
        }
        if is_undone(&envelope) {
            return Err(undone(tool));
        }
        envelope.result
    }

    /// What the handler calls a tool with and that tool hides, the handler's own words do not tell others.
    fn confide(&self, tool: Option<Arc<Loaded>>, arguments: &RawArguments) {
        if let (Some(confided), Some(tool)) = (&self.confided, tool)
            && let RawArguments::Value(arguments) = arguments
        {
            confided.words(tool.hidden_words(arguments));
        }
    }

    /// The key of a nested call: the same for the same call of the same handler, in whatever order
    /// its branches run, so a handler that is run again repeats nothing.
    fn place(&self, parent: &Digest, tool: &str, arguments: &Value) -> String {
        let act = Digest::of_json(&json!([path::by_key(parent), tool, arguments]));
        let mut made = self.nested.lock();
        let times = made.entry(act.clone()).or_default();
        *times += 1;
        format!("nested-{}-{times}", act.hex())
    }
}
