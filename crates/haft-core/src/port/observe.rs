//! Counting what happens to calls.

use std::time::Duration;

use crate::contract::SideEffectPolicy;
use crate::error::ErrorKind;
use crate::ledger::State;
use crate::record::Stage;
use crate::trace::Trace;

/// A call that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Started<'a> {
    /// The call.
    pub call: &'a str,
    /// Whose.
    pub tenant: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The tool's canonical id.
    pub tool: &'a str,
    /// Its class.
    pub class: SideEffectPolicy,
}

/// A call that ended. There is one for every record of a call, so that what is counted and what is
/// on record are the same.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// The call.
    pub call: &'a str,
    /// Whose.
    pub tenant: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The tool's canonical id; absent where the name stands for none, since anybody can make
    /// names up.
    pub tool: Option<&'a str>,
    /// What runs the tool; absent where it was not run.
    pub gateway: Option<&'static str>,
    /// Its class; absent where it was not run.
    pub class: Option<SideEffectPolicy>,
    /// The stage that ended it.
    pub stage: Stage,
    /// The kind of its error.
    pub error: Option<ErrorKind>,
    /// What was behind it, for whoever looks after tools: where in the handler, what the service did. Without known
    /// secrets and without arguments that redaction hides.
    pub cause: Option<&'a str>,
    /// Whether it was answered from memory.
    pub cached: bool,
    /// How often the handler was run.
    pub attempts: u32,
    /// How long it took.
    pub took: Duration,
    /// When it began, in milliseconds of the Unix epoch.
    pub began_ms: i64,
    /// The model's id for it.
    pub model_call: Option<&'a str>,
    /// The session.
    pub session: Option<&'a str>,
    /// The trace that it is part of.
    pub trace: Option<Trace>,
    /// When each stage was begun, counted from the call's beginning. Empty unless somebody
    /// [wants](Observe::wants_stages) them.
    pub stages: &'a [(Stage, Duration)],
}

impl Finished<'_> {
    /// How it ended, in one word: `success`, `cached`, `error`, or `refused` where nothing was run.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self.error {
            None if self.cached => "cached",
            None => "success",
            Some(_) if self.attempts == 0 => "refused",
            Some(_) => "error",
        }
    }
}

/// A side effect of which something else is known than before.
#[derive(Clone, Copy, Debug)]
pub struct EffectChanged<'a> {
    /// The call that asked for it.
    pub call: &'a str,
    /// Whose.
    pub tenant: &'a str,
    /// The agent.
    pub agent: &'a str,
    /// The tool's canonical id.
    pub tool: &'a str,
    /// Where it stands now.
    pub state: State,
    /// Who says so, where somebody does.
    pub by: Option<&'a str>,
}

/// Watches every call. It is on the way of all of them, so it must cost next to nothing and never
/// wait.
pub trait Observe: Send + Sync {
    /// Whether it looks at [`Finished::stages`]: taking the times costs a little.
    fn wants_stages(&self, _trace: Option<&Trace>) -> bool {
        false
    }

    /// A call is about to run.
    fn started(&self, _started: &Started<'_>) {}

    /// A call ended.
    fn finished(&self, finished: &Finished<'_>);

    /// Nobody knows what became of an effect, somebody found out, or it was undone or could not be.
    fn effect_changed(&self, _changed: &EffectChanged<'_>) {}

    /// A tenant was removed. Whoever is called so later must not find what was counted for it.
    fn tenant_removed(&self, _tenant: &str) {}
}
