//! `arguments`: reads what the model wrote, repairs what may be repaired, and refuses the rest.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use haft_core::call::RawArguments;
use haft_core::contract::SideEffectPolicy;
use haft_core::port::{Ask, Standing};
use haft_core::record::{Stage, Written};
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
) -> Result<Prepared, Refusal> {
    let rules = admitted.tool.arguments;
    let read = admitted.loaded.reader.read_under(&admitted.call.arguments, admitted.mode, rules);
    match read {
        Ok(Arguments { effective, warnings, clamps, came }) => {
            trip.warnings = warnings;
            trip.clamps = clamps;
            let effective = Arc::new(effective);
            trip.arguments = seen(inner, &admitted, &effective);
            Ok(Prepared { admitted, effective, came })
        }
        Err(invalid) => {
            trip.warnings.clone_from(&invalid.warnings);
            Err(Refusal::at(Stage::Arguments, invalid.into()))
        }
    }
}

/// What is larger is not kept to be looked at later.
const KEPT_BYTES: u64 = 4 << 10;

/// The arguments as others may see them. Of a call without effects few ever look, so what they are
/// made from is kept until somebody does: the text that came where there is one, which is smaller
/// than what was read from it.
fn seen(inner: &Inner, call: &Admitted, effective: &Arc<Value>) -> Option<Written> {
    let small = match &call.call.arguments {
        RawArguments::Text(came) => came.len() as u64 <= KEPT_BYTES,
        RawArguments::Value(_) => check::at_most(effective) <= 6 * KEPT_BYTES,
    };
    if call.class() != SideEffectPolicy::Pure || !small {
        return call.loaded.seen_arguments(effective, &inner.secrets_of(&call.call.caller.tenant));
    }
    let (loaded, secrets) = (call.loaded.clone(), inner.secrets_of(&call.call.caller.tenant));
    let RawArguments::Text(_) = &call.call.arguments else {
        let effective = effective.clone();
        return Some(Written::later(move || loaded.seen_arguments(&effective, &secrets)));
    };
    let (came, mode, rules) = (call.call.arguments.clone(), call.mode, call.tool.arguments);
    Some(Written::later(move || {
        let read = loaded.reader.read_under(&came, mode, rules).ok()?;
        loaded.seen_arguments(&read.effective, &secrets)
    }))
}
