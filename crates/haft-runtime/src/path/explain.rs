//! A dry run: every decision, and nothing done.

use std::sync::Arc;

use haft_core::contract::Confirmation as Rule;
use haft_core::ledger::{EffectRecord, State};
use haft_core::{Call, Envelope};
use serde_json::{Map, Value, json};

use super::confirm::{self, Approved};
use super::{Refusal, Trip, execute, foresee};
use crate::preview;
use crate::runtime::Inner;

/// What would happen now.
pub(crate) async fn plan(inner: &Arc<Inner>, trip: Box<Trip>, call: &Approved) -> Envelope {
    let tool = &call.tool.tool;
    let earlier = match &call.key {
        Some(key) => key.entry(inner).await.ok().flatten(),
        None => None,
    };
    let needs_approval = confirm::is_needed(inner, call);
    let approved = needs_approval && confirm::is_approved(inner, call).await;
    let refusal = foresee::refusal(inner, call, earlier.as_ref()).await;
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
            "approved": approved,
            "because": because(call, needs_approval),
            "preview": needs_approval.then(|| preview::render(&tool.contract, call.effective()).text),
        },
        "key": earlier.as_ref().map(|record| &record.key).or(call.key.as_ref().map(|key| &key.digest)),
        "earlier": earlier.as_ref().map(|record| json!({
            "call": record.effect.call,
            "state": record.state,
            "sameArguments": record.effect.arguments == **call.effective(),
        })),
        "refusal": refusal.as_ref().map(|refusal| told(call.call(), refusal)),
        "wouldRun": (approved || !needs_approval)
            && refusal.is_none()
            && earlier.as_ref().is_none_or(is_begun_again),
    });
    Envelope { result: Ok(plan), intents: Vec::new(), meta: trip.meta(false) }
}

/// Whether what is on record is followed by another attempt, where nothing refuses that.
fn is_begun_again(earlier: &EffectRecord) -> bool {
    earlier.state.frees_its_key() || earlier.state == State::Unknown
}

/// What the call would be told instead of being run.
fn told(call: &Call, refusal: &Refusal) -> Value {
    let mut error = json!(refusal.error);
    if let Some(error) = error.as_object_mut() {
        error.insert("stage".to_owned(), json!(refusal.stage));
        error.extend(call.sees_rules.then(|| ("rule".to_owned(), json!(refusal.rule))));
    }
    error
}

/// Adds to a refusal which rule made it, at which stage, and why, for those who may know. Whoever
/// only asks learns the stage of any refusal.
pub(crate) fn reasons(call: &Call, mut refusal: Refusal) -> Refusal {
    if !call.sees_rules || (refusal.rule.is_none() && !call.dry_run) {
        return refusal;
    }
    let error = &mut refusal.error;
    let why = error.source.as_ref().unwrap_or(&error.message);
    let decision = json!({ "stage": refusal.stage, "rule": refusal.rule, "why": why });
    let details = error.details.get_or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(details) = details {
        details.insert("decision".to_owned(), decision);
    }
    refusal
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
        Rule::Always(true)
            if call.tool.tool.contract.requires_confirmation == Rule::Always(true) =>
        {
            json!("the contract")
        }
        _ if !call.call().sees_rules => json!("policy"),
        Rule::Always(true) => {
            json!("the override `requires_confirmation` of the agent's activation")
        }
        Rule::When { when } if call.decision.verdict == haft_core::port::Verdict::Allow => {
            json!(when)
        }
        Rule::When { .. } | Rule::Always(false) => json!(call.decision.rule),
    }
}
