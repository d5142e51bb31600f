//! Tools that call tools: through the same path, with a key of their own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use haft_core::call::{Keyed, RawArguments, Within};
use haft_core::contract::SideEffectPolicy;
use haft_core::{Call, Digest, Envelope, ErrorKind, ToolError};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Bound, did_nothing};
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
        let place = self.key.as_ref().map(|parent| self.nested.take(act(parent, tool, &arguments)));
        let mut call = Call::new(scope.caller.clone(), tool, arguments);
        call.mode = scope.mode;
        call.session.clone_from(&scope.session.id);
        call.connection.clone_from(&scope.connection);
        call.connections = scope.connection.iter().cloned().collect();
        call.through.clone_from(&scope.through);
        let turn = scope.session.turn;
        call.within = Some(Within { call: scope.call.clone(), key: self.key.clone(), turn });
        call.only.clone_from(&scope.only);
        (call.key, call.keyed) = (place.as_ref().map(Place::key), Keyed::Own);
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
        if let Some(place) = place.filter(|_| did_nothing(&envelope.result)) {
            self.nested.leave(&place);
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
}

/// What a nested call does: the same for the same call of the same handler, in whatever order its branches run.
fn act(parent: &Digest, tool: &str, arguments: &Value) -> Digest {
    Digest::of_json(&json!([path::by_key(parent), tool, arguments]))
}

/// Which of several equal calls of one handler a call is. Keys are made of it, so that a handler that is run again
/// repeats nothing.
pub(super) struct Place {
    act: Digest,
    nth: u32,
}

impl Place {
    fn key(&self) -> String {
        format!("nested-{}-{}", self.act.hex(), self.nth)
    }
}

/// The places that are taken. A call that did nothing leaves its own to the next one that is equal: a handler that
/// tries until it succeeds has done it once, in the same place each time it is run.
#[derive(Default)]
pub(super) struct Places(Mutex<HashMap<Digest, BTreeSet<u32>>>);

impl Places {
    fn take(&self, act: Digest) -> Place {
        let mut all = self.0.lock();
        let taken = all.entry(act.clone()).or_default();
        let nth = (1..).find(|nth| !taken.contains(nth)).unwrap_or(u32::MAX);
        taken.insert(nth);
        Place { act, nth }
    }

    fn leave(&self, place: &Place) {
        if let Some(taken) = self.0.lock().get_mut(&place.act) {
            taken.remove(&place.nth);
        }
    }
}
