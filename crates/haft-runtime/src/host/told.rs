//! What goes between a handler and what it reaches, without secrets.

use haft_core::{ErrorKind, ToolError};
use serde_json::Value;

use super::Bound;
use crate::runtime::Inner;

impl Bound {
    /// What the handler says to others, without secrets.
    pub(super) fn scrubbed(&self, inner: &Inner, mut said: Value) -> Result<Value, ToolError> {
        let leased = self.auth.as_ref().map(|(_, leased)| &**leased);
        match inner.sieve(&self.scope.caller.tenant, leased).value(&mut said) {
            Ok(_) => Ok(said),
            Err(why) => {
                let message = "what the handler said could not be made safe to pass on";
                Err(ToolError::new(ErrorKind::RedactionFailed, message).caused_by(why))
            }
        }
    }

    /// What the handler is told, without secrets: a service may repeat what it was sent, and a handler
    /// that has read a secret can spell it so that nobody recognises it any more.
    pub(super) fn told(
        &self,
        inner: &Inner,
        answer: Result<Value, ToolError>,
    ) -> Result<Value, ToolError> {
        let leased = self.auth.as_ref().map(|(_, leased)| &**leased);
        let sieve = inner.sieve(&self.scope.caller.tenant, leased);
        if sieve.is_empty() {
            return answer;
        }
        let unsafe_to_tell = |why| {
            let message = "what was answered could not be made safe to pass on";
            ToolError::new(ErrorKind::RedactionFailed, message).caused_by(why)
        };
        match answer {
            Ok(mut value) => sieve.value(&mut value).map(|_| value).map_err(unsafe_to_tell),
            Err(mut error) => match sieve.error(&mut error) {
                Ok(()) => Err(error),
                Err(why) => {
                    let partly = error.partial_side_effects;
                    let mut error = unsafe_to_tell(why);
                    error.partial_side_effects = partly;
                    Err(error)
                }
            },
        }
    }
}
