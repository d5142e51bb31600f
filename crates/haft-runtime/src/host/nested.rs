//! Tools that call tools: through the same path, with a key of their own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_core::contract::SideEffectPolicy;
use haft_core::{Call, ErrorKind, ToolError};
use serde_json::Value;

use super::Bound;
use crate::path;
use crate::runtime::Inner;

impl Bound {
    pub(super) async fn call_tool(
        &self,
        inner: &Arc<Inner>,
        tool: &str,
        arguments: Value,
    ) -> Result<Value, ToolError> {
        let number = self.nested.fetch_add(1, Ordering::SeqCst) + 1;
        let scope = &self.scope;
        let mut call = Call::new(scope.caller.clone(), tool, arguments);
        call.mode = scope.mode;
        call.session.clone_from(&scope.session.id);
        call.connection.clone_from(&scope.connection);
        call.connections = scope.connection.iter().cloned().collect();
        call.through.clone_from(&scope.through);
        // The same call of the same handler has the same place, so a handler that is run again
        // repeats nothing.
        call.key = self.key.as_ref().map(|key| format!("{key}.{number}"));
        if inner.would_write(&call, &scope.session.registry_version) {
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
        envelope.result
    }
}
