//! `authorize`: the rules, over what will really be used.

use std::ops::Deref;
use std::sync::Arc;

use haft_core::port::{Decision, Standing, Verdict};
use haft_core::record::Stage;

use super::prepare::Prepared;
use super::{Refusal, Trip, confirm, gate};
use crate::policy::decision;
use crate::runtime::Inner;

/// A call that policy allows, perhaps once a person has approved.
pub(crate) struct Authorized {
    prepared: Prepared,
    pub(crate) decision: Arc<Decision>,
}

impl Deref for Authorized {
    type Target = Prepared;

    fn deref(&self) -> &Prepared {
        &self.prepared
    }
}

pub(crate) fn decide(
    inner: &Inner,
    trip: &mut Trip,
    mut prepared: Prepared,
) -> Result<Authorized, Refusal> {
    // What does not depend on the arguments was decided at the gate.
    let decision = match prepared.take_standing() {
        Standing::Settled(decision) => decision,
        Standing::Open => inner.policy().decide(&prepared.ask_fully()),
    };
    if decision.verdict == Verdict::Deny {
        return Err(gate::denied(Stage::Authorize, &decision));
    }
    trip.rule = Some(decision.rule.clone());
    Ok(Authorized { prepared, decision })
}

/// What the rules say now, where others have come into force since the call was decided.
pub(crate) fn anew(inner: &Inner, call: &Authorized) -> Option<Arc<Decision>> {
    let policy = inner.policy();
    if policy.number == call.rulebook {
        return None;
    }
    let Some(tool) = inner.tool_now(call) else {
        return Some(decision::deny(
            "activation:changed",
            "the tool was turned off while the call was being decided",
            "an administrator has to enable the tool for this agent",
        ));
    };
    let decision = policy.decide(&call.ask_fully());
    let asks_now = tool.requires_confirmation != call.tool.requires_confirmation
        && confirm::asks(inner, &tool, call);
    Some(match decision.verdict {
        Verdict::Allow if asks_now => decision::approve(
            "activation:changed",
            "since the call was decided a person has to approve it",
        ),
        Verdict::Allow | Verdict::RequireApproval | Verdict::Deny => decision,
    })
}
