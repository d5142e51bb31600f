//! `arguments`: reads what the model wrote, repairs what may be repaired, and refuses the rest.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use haft_adm::strict;
use haft_core::ToolError;
use haft_core::call::RawArguments;
use haft_core::contract::SideEffectPolicy;
use haft_core::port::{Ask, Standing};
use haft_core::record::{Stage, Written};
use haft_core::registry::Implementation;
use serde_json::Value;

use super::gate::Admitted;
use super::{Refusal, Trip, check};
use crate::arguments::{Came, Prepared as Arguments};
use crate::runtime::Inner;

/// A call whose arguments fit the contract.
pub(crate) struct Prepared {
    admitted: Admitted,
    effective: Arc<Value>,
    came: Came,
    /// What the model wrote, where the ledger keeps it.
    raw: Option<Box<RawArguments>>,
}

impl Deref for Prepared {
    type Target = Admitted;

    fn deref(&self) -> &Admitted {
        &self.admitted
    }
}

impl Prepared {
    /// What will really be used.
    pub(crate) fn effective(&self) -> &Arc<Value> {
        &self.effective
    }

    /// What was asked for: repaired, but without defaults and clamps, so that a repetition is
    /// still the same when those have changed.
    pub(crate) fn accepted(&self) -> Cow<'_, Value> {
        self.came.accepted(&self.effective)
    }

    /// What the model wrote; a call without effects keeps nothing of it.
    pub(super) fn raw(&self) -> Option<&RawArguments> {
        self.raw.as_deref()
    }

    /// What policy said before the arguments were known, for whoever says it last.
    pub(super) fn take_standing(&mut self) -> Standing {
        std::mem::replace(&mut self.admitted.standing, Standing::Open)
    }

    /// The question to policy, with arguments.
    pub(crate) fn ask_fully(&self) -> Ask<'_> {
        Ask { arguments: Some(self.effective()), ..self.ask() }
    }
}

pub(crate) fn arguments(
    inner: &Inner,
    trip: &mut Trip,
    admitted: Admitted,
    raw: RawArguments,
) -> Result<Prepared, Refusal> {
    if let Some(why) = &admitted.call.unreadable {
        return Err(Refusal::at(Stage::Arguments, ToolError::clone(why)));
    }
    let (reader, rules) = (&admitted.loaded.reader, admitted.tool.arguments);
    let pure = admitted.class() == SideEffectPolicy::Pure;
    let (read, raw) = match raw {
        RawArguments::Value(value) if pure => {
            (reader.read_value(value, admitted.mode, rules), None)
        }
        RawArguments::Read(value, text) if pure => {
            let read = reader.read_from(value, &text, admitted.mode, rules);
            (read, Some(RawArguments::Text(text)))
        }
        raw @ (RawArguments::Value(_) | RawArguments::Read(..) | RawArguments::Text(_)) => {
            (reader.read_under(&raw, admitted.mode, rules), Some(raw))
        }
    };
    match read {
        Ok(Arguments { effective, warnings, clamps, came }) => {
            trip.warnings = warnings;
            trip.clamps = clamps;
            vet(inner, &admitted, &effective)?;
            let effective = Arc::new(effective);
            if pure {
                trip.arguments = seen_later(inner, &admitted, &effective, raw);
                return Ok(Prepared { admitted, effective, came, raw: None });
            }
            let secrets = inner.secrets_of(&admitted.call.caller.tenant);
            trip.arguments = admitted.loaded.seen_arguments(&effective, &secrets);
            Ok(Prepared { admitted, effective, came, raw: raw.map(Box::new) })
        }
        Err(invalid) => {
            trip.warnings.clone_from(&invalid.warnings);
            Err(Refusal::at(Stage::Arguments, invalid.into()))
        }
    }
}

/// What a schema cannot say: whether a request can be made of it. Handlers say so themselves when they
/// run.
fn vet(inner: &Inner, call: &Admitted, effective: &Value) -> Result<(), Refusal> {
    let tool = &call.tool.tool;
    match tool.handler {
        Implementation::Gateway => inner.executors.vet(tool, effective),
        Implementation::Native
        | Implementation::Js { .. }
        | Implementation::Wasm { .. }
        | Implementation::Process { .. }
        | Implementation::Unbound => Ok(()),
    }
    .map_err(|mut error| {
        error.shown = call.loaded.seen_words(&error.message, effective);
        Refusal::at(Stage::Arguments, error)
    })
}

/// The arguments as others may see them. Of a call without effects few ever look, so what they are
/// made from is kept until somebody does. As text: thousands of calls wait, and what was read from it
/// is ten times as large, so that every call would be put where nothing was for long.
fn seen_later(
    inner: &Inner,
    call: &Admitted,
    effective: &Value,
    raw: Option<RawArguments>,
) -> Option<Written> {
    // What is larger is not kept to be looked at later.
    let small = match &raw {
        Some(RawArguments::Text(came)) => came.len() <= RawArguments::KEPT_BYTES,
        Some(RawArguments::Value(_) | RawArguments::Read(..)) | None => {
            check::at_most(effective) <= 6 * RawArguments::KEPT_BYTES as u64
        }
    };
    let (loaded, secrets) = (call.loaded.clone(), inner.secrets_of(&call.call.caller.tenant));
    if !small {
        return loaded.seen_arguments(effective, &secrets);
    }
    let Some(RawArguments::Text(came)) = raw else {
        let used = Written::of(effective).ok()?;
        return Some(Written::later(move || {
            let used = strict::parse(used.text(), strict::Limits::default()).ok()?;
            loaded.seen_arguments(&used, &secrets)
        }));
    };
    let (mode, rules) = (call.mode, call.tool.arguments);
    Some(Written::later(move || {
        let read = loaded.reader.read_text(&came, mode, rules).ok()?;
        loaded.seen_arguments(&read.effective, &secrets)
    }))
}
