//! What is known about a call so far, for its record and its envelope.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_core::call::MAX_ID;
use haft_core::contract::Mode;
use haft_core::outcome::{Clamped, Meta, Warning};
use haft_core::port::Auth;
use haft_core::record::{InvocationRecord, Stage, Written};
use haft_core::trace::Trace;
use haft_core::{Call, ErrorKind, ToolError};

use crate::identity;
use crate::redact::{Confided, Leased};
use crate::runtime::{Inner, Sieve};
use crate::trace;

/// One call on its way.
#[derive(Clone, Debug)]
pub(crate) struct Trip {
    pub(crate) id: Arc<str>,
    /// As it came.
    pub(crate) call: Arc<Call>,
    pub(crate) turn: u64,
    pub(crate) mode: Mode,
    /// Its canonical id; of a call that finds none, the name that was asked for.
    pub(crate) tool: Arc<str>,
    pub(crate) tool_version: Option<Arc<str>>,
    pub(crate) registry_version: Option<Arc<str>>,
    /// The arguments as others may see them.
    pub(crate) arguments: Option<Written>,
    pub(crate) rule: Option<Arc<str>>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) clamps: Vec<Clamped>,
    pub(crate) attempts: u32,
    pub(crate) started: Instant,
    /// How long it took, once it has ended.
    took: Option<Duration>,
    pub(crate) trace: Option<Trace>,
    /// When each stage was begun, where somebody wants to know.
    pub(crate) stages: Option<Vec<(Stage, Duration)>>,
    pub(crate) started_at_ms: i64,
    /// The credentials of the last attempt.
    pub(crate) auth: Option<Arc<Auth>>,
    /// What was leased with them.
    pub(crate) leased: Option<Arc<Leased>>,
    /// What the tools that it called hide, where it may call some.
    pub(crate) confided: Option<Arc<Confided>>,
    /// The effect whose kept answer this is.
    pub(crate) replays: Option<Box<Replayed>>,
    /// The call that carried out what is answered.
    pub(crate) replay_of: Option<Arc<str>>,
    /// What stands for the model's id where that holds a secret or is long.
    hidden_id: Option<Box<str>>,
    /// What stands for the session's id: callers write what they like there, too.
    hidden_session: Option<Box<str>>,
}

/// An effect that was done before.
#[derive(Clone, Debug)]
pub(crate) struct Replayed {
    pub(crate) call: String,
    pub(crate) turn_group: Option<String>,
}

impl Trip {
    /// Boxed: it goes through every stage, and would be copied at each.
    pub(crate) fn begin(inner: &Inner, call: &Arc<Call>) -> Box<Self> {
        let trace = trace::current();
        let wanted = inner.observe.iter().any(|one| one.wants_stages(trace.as_ref()));
        let mut trip = Box::new(Self {
            trace,
            stages: wanted.then(|| Vec::with_capacity(12)),
            id: identity::fresh_shared("call"),
            call: call.clone(),
            turn: 0,
            mode: call.mode,
            tool: Arc::default(),
            tool_version: None,
            registry_version: None,
            arguments: None,
            rule: None,
            warnings: Vec::new(),
            clamps: Vec::new(),
            attempts: 0,
            started: Instant::now(),
            took: None,
            started_at_ms: inner.store.now_ms(),
            auth: None,
            leased: None,
            confided: None,
            replays: None,
            replay_of: None,
            hidden_id: None,
            hidden_session: None,
        });
        trip.hide_words(inner);
        trip
    }

    /// What is looked for in everything that this call says.
    pub(crate) fn sieve<'a>(&'a self, inner: &Inner) -> Sieve<'a> {
        inner.sieve(&self.call.caller.tenant, self.leased.as_deref())
    }

    /// The ids that a call came with go into records that others read, and that are kept. Whoever
    /// called gets the model's own back as it was.
    pub(crate) fn hide_words(&mut self, inner: &Inner) {
        let sieve = self.sieve(inner);
        let hidden = |id: &Option<String>| id.as_deref().and_then(|id| hidden(&sieve, id));
        let (id, session) = (hidden(&self.call.id), hidden(&self.call.session));
        (self.hidden_id, self.hidden_session) = (id, session);
    }

    /// The name that the call came with goes into records, too, where it is no tool's.
    pub(crate) fn name_tool(&mut self, inner: &Inner) {
        if self.tool_version.is_some() {
            return;
        }
        let sieve = self.sieve(inner);
        let hidden = match sieve.is_empty() {
            true => Some(self.call.tool.clone()),
            false => sieve.text(&self.call.tool),
        };
        self.tool = shown(hidden.as_deref().unwrap_or("[withheld]")).into();
    }

    /// The model's own id, as others may see it.
    pub(crate) fn model_call(&self) -> Option<&str> {
        self.hidden_id.as_deref().or(self.call.id.as_deref())
    }

    /// The session, as others may see it.
    pub(crate) fn session(&self) -> Option<&str> {
        self.hidden_session.as_deref().or(self.call.session.as_deref())
    }

    /// A stage begins.
    pub(crate) fn at(&mut self, stage: Stage) {
        if let Some(stages) = &mut self.stages {
            stages.push((stage, self.started.elapsed()));
        }
    }

    /// It has taken so long, in its record, its envelope and its warnings alike.
    pub(crate) fn ends(&mut self) -> Duration {
        *self.took.get_or_insert_with(|| self.started.elapsed())
    }

    /// How long it has taken, or took.
    pub(crate) fn took(&self) -> Duration {
        self.took.unwrap_or_else(|| self.started.elapsed())
    }

    /// The meta of the envelope: the end of the trip.
    pub(crate) fn meta(self, cached: bool) -> Meta {
        Meta {
            duration_ms: self.took().as_secs_f64() * 1000.0,
            // The model's own id where it has one: the same from start to result.
            call_id: self.call.id.as_deref().map_or_else(|| self.id.clone(), Arc::from),
            record_id: self.id,
            replay_of: self.replay_of,
            tool: self.tool,
            tool_version: self.tool_version,
            registry_version: self.registry_version,
            cached,
            warnings: self.warnings,
            clamps: self.clamps,
            attempts: self.attempts,
        }
    }

    /// The record, as far as it is known before the end. There is one for each call, so the
    /// arguments go with it. (Boxed: it is large, and passes through many hands.)
    pub(crate) fn record(
        &mut self,
        stage: Stage,
        end: Result<Option<Written>, &ToolError>,
        cached: bool,
    ) -> Box<InvocationRecord> {
        let (result, error) = match end {
            Ok(view) => (view, None),
            Err(error) => (None, Some(error)),
        };
        let took = self.ends();
        let caller = &self.call.caller;
        Box::new(InvocationRecord {
            call: self.id.clone(),
            model_call: self.model_call().map(str::to_owned),
            tenant: caller.tenant.clone(),
            agent: caller.agent.clone(),
            actor: caller.actor.clone(),
            subject: caller.subject.clone(),
            session: self.session().map(str::to_owned),
            turn: self.turn,
            mode: self.mode,
            tool: self.tool.clone(),
            tool_version: self.tool_version.clone(),
            registry_version: self.registry_version.clone(),
            arguments: self.arguments.take(),
            result,
            error: error.map(|error| error.kind),
            message: error.map(|error| error.shown().to_owned()),
            stage,
            rule: self.rule.clone(),
            cached,
            attempts: self.attempts,
            warnings: self.warnings.iter().map(|warning| warning.code.clone()).collect(),
            started_at_ms: self.started_at_ms,
            duration_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        })
    }

    /// What a caller is told when the task that ran its effect is gone.
    pub(crate) fn cut_off(&self) -> ToolError {
        let mut error = ToolError::new(ErrorKind::UnknownOutcome, "the call was cut off")
            .with_details(serde_json::json!({ "call": *self.id }));
        error.partial_side_effects = true;
        error
    }
}

/// What stands for an id in records; none where it may stand there itself.
fn hidden(sieve: &Sieve<'_>, id: &str) -> Option<Box<str>> {
    const SHOWN: usize = 64;
    let safe = match sieve.is_empty() {
        true => None,
        false => Some(sieve.text(id).unwrap_or_else(|| "[withheld]".to_owned())),
    };
    let text = safe.as_deref().unwrap_or(id);
    if text.len() > MAX_ID {
        let begins = text.char_indices().take_while(|(at, _)| *at < SHOWN).map(|(_, one)| one);
        return Some(begins.chain(['…']).collect::<String>().into());
    }
    safe.filter(|safe| safe != id).map(Into::into)
}

/// A name that somebody made up, safe to repeat.
pub(crate) fn shown(name: &str) -> String {
    const MOST: usize = 128;
    if name.len() <= MOST && name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return name.to_owned();
    }
    let plain = |c: char| c.is_ascii_graphic();
    let kept: String = name.chars().take(MOST).map(|c| if plain(c) { c } else { '?' }).collect();
    if name.chars().count() > MOST { format!("{kept}…") } else { kept }
}
