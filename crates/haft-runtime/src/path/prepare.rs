//! `arguments`: reads what the model wrote, repairs what may be repaired, and refuses the rest.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use haft_core::port::{Ask, Standing};
use haft_core::record::Stage;
use serde_json::Value;

use super::gate::Admitted;
use super::{Refusal, Trip};
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
            trip.arguments = admitted.loaded.seen_arguments(&effective, &inner.secrets());
            Ok(Prepared { admitted, effective: Arc::new(effective), came })
        }
        Err(invalid) => {
            trip.warnings.clone_from(&invalid.warnings);
            Err(Refusal::at(Stage::Arguments, invalid.into()))
        }
    }
}
