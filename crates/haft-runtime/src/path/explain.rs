//! A dry run: every decision, and nothing done.

use std::sync::Arc;

use haft_core::Envelope;
use haft_core::contract::Confirmation as Rule;
use serde_json::{Value, json};

use super::confirm::{self, Approved};
use super::{Trip, execute};
use crate::preview;
use crate::runtime::Inner;

/// What would happen now.
pub(crate) async fn plan(inner: &Arc<Inner>, trip: Trip, call: &Approved) -> Envelope {
    let tool = &call.tool.tool;
    let earlier = match &call.key {
        Some(key) => key.entry(inner).await.ok().flatten(),
        None => None,
    };
    let needs_approval = confirm::is_needed(inner, call);
    let plan = json!({
        "dryRun": true,
        "tool": tool.id,
        "mode": call.mode,
        "arguments": call.effective(),
        "decision": decision(call),
        "class": call.class(),
        "handler": tool.handler.as_str(),
        "deadlineMs": execute::deadline(inner, call).as_millis() as u64,
        "confirmation": {
            "required": needs_approval,
            "because": because(call, needs_approval),
            "preview": needs_approval.then(|| preview::render(&tool.contract, call.effective()).text),
        },
        "key": earlier.as_ref().map(|record| &record.key).or(call.key.as_ref().map(|key| &key.digest)),
        "earlier": earlier.as_ref().map(|record| json!({
            "call": record.effect.call,
            "state": record.state,
            "sameArguments": call.key.as_ref().is_some_and(|key| key.fits(record)),
        })),
        "wouldRun": !needs_approval
            && earlier.as_ref().is_none_or(|record| record.state.frees_its_key()),
    });
    Envelope { result: Ok(plan), intents: Vec::new(), meta: trip.meta(false) }
}

/// Which rule decides, and why, is for operators.
fn decision(call: &Approved) -> Value {
    match call.call().sees_rules {
        true => json!(call.decision),
        false => json!({ "verdict": call.decision.verdict }),
    }
}

fn because(call: &Approved, needed: bool) -> Value {
    match &call.tool.requires_confirmation {
        _ if !needed => Value::Null,
        Rule::Always(true) => json!("the contract"),
        _ if !call.call().sees_rules => json!("policy"),
        Rule::When { when } if call.decision.verdict == haft_core::port::Verdict::Allow => {
            json!(when)
        }
        Rule::When { .. } | Rule::Always(false) => json!(call.decision.rule),
    }
}
