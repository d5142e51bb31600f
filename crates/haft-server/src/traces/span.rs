//! A call as spans of OTLP's JSON.

use std::time::Duration;

use haft_core::digest::hex;
use haft_core::port::Finished;
use serde_json::{Value, json};

/// A span inside of this process.
const INTERNAL: u8 = 1;
const ERROR: u8 = 2;

/// What all spans of this process have in common.
pub(super) fn resource(service: &str) -> Value {
    json!({ "attributes": [
        text("service.name", service),
        text("service.version", env!("CARGO_PKG_VERSION")),
    ] })
}

/// A number from 0 to 1, not to be guessed; 1 where there is no randomness.
pub(super) fn fraction() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

/// The span of a call, and one for each of its stages. Nothing without randomness.
pub(super) fn of(call: &Finished<'_>) -> Option<Vec<Value>> {
    let mut random = [0; 16 + 8 * 16];
    getrandom::fill(&mut random).ok()?;
    let (fresh, mut ids) = random.split_at(16);
    let mut id = || {
        let (first, rest) = ids.split_at_checked(8)?;
        ids = rest;
        Some(hex(first))
    };
    let trace = call.trace.map_or_else(|| hex(fresh), |trace| hex(&trace.id));
    let parent = call.trace.map(|trace| hex(&trace.parent));
    let own = id()?;
    let begin = u128::try_from(call.began_ms).unwrap_or_default() * 1_000_000;
    let at = |after: Duration| (begin + after.as_nanos()).to_string();
    let mut spans = vec![json!({
        "traceId": trace,
        "spanId": own,
        "parentSpanId": parent.unwrap_or_default(),
        "name": format!("execute_tool {}", call.tool.unwrap_or("unknown")),
        "kind": INTERNAL,
        "startTimeUnixNano": at(Duration::ZERO),
        "endTimeUnixNano": at(call.took),
        "attributes": attributes(call),
        "status": status(call),
    })];
    let ends = call.stages.iter().skip(1).map(|(_, begin)| *begin).chain([call.took]);
    for ((stage, begin), end) in call.stages.iter().zip(ends) {
        spans.push(json!({
            "traceId": trace,
            "spanId": id()?,
            "parentSpanId": own,
            "name": stage.as_str(),
            "kind": INTERNAL,
            "startTimeUnixNano": at(*begin),
            "endTimeUnixNano": at(end),
        }));
    }
    Some(spans)
}

/// Names and figures; never arguments or results.
fn attributes(call: &Finished<'_>) -> Vec<Value> {
    let mut all = vec![
        text("gen_ai.operation.name", "execute_tool"),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.agent.id", call.agent),
        text("gen_ai.tool.call.id", call.model_call.unwrap_or(call.call)),
        text("haft.call.id", call.call),
        text("haft.tenant.id", call.tenant),
        text("haft.status", call.status()),
        text("haft.stage", call.stage.as_str()),
        json!({ "key": "haft.cached", "value": { "boolValue": call.cached } }),
        json!({ "key": "haft.attempts", "value": { "intValue": call.attempts.to_string() } }),
    ];
    all.extend(call.tool.map(|tool| text("gen_ai.tool.name", tool)));
    all.extend(call.session.map(|session| text("gen_ai.conversation.id", session)));
    all.extend(call.error.map(|error| text("error.type", error.as_str())));
    all.extend(call.class.map(|class| text("haft.side_effect_policy", class.as_str())));
    all.extend(call.gateway.map(|gateway| text("haft.gateway", gateway)));
    all
}

fn status(call: &Finished<'_>) -> Value {
    match call.error {
        None => json!({}),
        Some(error) => json!({ "code": ERROR, "message": error.as_str() }),
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}
